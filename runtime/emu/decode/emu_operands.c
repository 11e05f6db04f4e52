/* emu_operands.c -- see emu_operands.h. */
#include "emu_operands.h"

#include <string.h>

bool emu_mod_is(const emu_statement *s, int i, const char *name) {
  return (int)strlen(name) == s->mods[i].n && !memcmp(name, s->mods[i].p, (size_t)s->mods[i].n);
}

bool emu_mod(emu_parser *p, const char *name) {
  emu_statement *s = &p->statement;
  for (int i = 1; i < s->n_mods; i++) {
    if (!(s->used >> i & 1) && emu_mod_is(s, i, name)) {
      s->used |= 1u << i;
      return true;
    }
  }
  return false;
}

bool emu_mod_prefix(emu_parser *p, const char *prefix) {
  emu_statement *s = &p->statement;
  int n = (int)strlen(prefix);
  for (int i = 1; i < s->n_mods; i++) {
    if (!(s->used >> i & 1) && s->mods[i].n >= n && !memcmp(prefix, s->mods[i].p, (size_t)n)) {
      s->used |= 1u << i;
      return true;
    }
  }
  return false;
}

emu_type emu_mod_type(emu_parser *p) {
  emu_statement *s = &p->statement;
  for (int i = 1; i < s->n_mods; i++) {
    emu_type t = s->used >> i & 1 ? T_none : emu_type_parse(s->mods[i].p, s->mods[i].n);
    if (t != T_none) {
      s->used |= 1u << i;
      return t;
    }
  }
  return T_none;
}

int emu_mod_choice(emu_parser *p, const char *const *names) {
  for (int i = 0; names[i]; i++) {
    if (emu_mod(p, names[i])) {
      return i;
    }
  }
  return -1;
}

emu_round emu_mod_round(emu_parser *p) {
  static const char *const names[] = {"rn", "rz", "rm", "rp", "rna", NULL};
  int i = emu_mod_choice(p, names);
  return i < 0 ? ROUND_none : (emu_round)i;
}

int emu_unsupported(emu_parser *p, const char *why) {
  const emu_statement *s = &p->statement;
  return emu_fail(p, "unsupported instruction '%.*s'%s%s",
                  (int)(s->opcode_n < 100 ? s->opcode_n : 100), s->opcode, *why ? ": " : "", why);
}

int emu_arity(emu_parser *p, int least, int most) {
  int n = p->statement.n;
  return n < least || n > most ? emu_unsupported(p, "wrong number of operands") : 0;
}

int emu_begin(emu_parser *p, emu_kind kind, emu_pipe pipe, emu_insn **out) {
  emu_insn *in;
  TRY(emu_build_insn(p, kind, &in));
  in->pipe = (uint8_t)pipe;
  if (out) {
    *out = in;
  }
  if (p->statement.guard == EMU_NONE) {
    return 0;
  }
  in->flags = p->statement.guard_not ? INSN_GUARD_NOT : 0;
  return emu_build_ref(p, -1, p->statement.guard, false);
}

int emu_begin_more(emu_parser *p, emu_kind kind, emu_pipe pipe, int n_ops, emu_insn **in) {
  TRY(emu_begin(p, kind, pipe, in));
  return emu_build_more(p, *in, n_ops);
}

int emu_reg_bytes(const emu_parser *p, const emu_operand *o) {
  return o->kind == OPERAND_REG ? p->reg_bytes[o->reg] : -1;
}

/* only video instructions take parts of registers and their negation */
static int whole_register(emu_parser *p, const emu_operand *o) {
  return o->kind == OPERAND_REG && (o->part || o->minus)
             ? emu_unsupported(p, "an operand is a part of a register or has a sign")
             : 0;
}

int emu_def_operand(emu_parser *p, int slot, const emu_operand *o, int bytes) {
  TRY(whole_register(p, o));
  if (o->kind == OPERAND_SINK) {
    int32_t reg;
    return emu_def_temp(p, slot, bytes < 0 ? 4 : bytes, &reg);
  }
  if (o->kind != OPERAND_REG || o->negated) {
    return emu_unsupported(p, "the result is not a register");
  }
  int have = p->reg_bytes[o->reg];
  if (bytes >= 0 && have != bytes && !(bytes == 1 && have == 2)) {
    return emu_unsupported(p, "the result register has the wrong width");
  }
  return emu_build_ref(p, slot, o->reg, true);
}

/* The statement's operands beyond its number are those of an earlier statement. */
static int has_operand(emu_parser *p, int i) {
  return i < p->statement.n ? 0 : emu_unsupported(p, "wrong number of operands");
}

int emu_def(emu_parser *p, int slot, int i, int bytes) {
  TRY(has_operand(p, i));
  return emu_def_operand(p, slot, &p->statement.operands[i], bytes);
}

/* the bits of a literal in type t */
static int literal(emu_parser *p, const emu_operand *o, emu_type t, uint64_t *bits) {
  *bits = o->value;
  if (o->kind == OPERAND_F64 && t == T_f32) {
    *bits = emu_f32_bits((float)emu_f64(o->value));
  } else if (o->kind == OPERAND_F32 && t == T_f64) {
    *bits = emu_f64_bits((double)emu_f32((uint32_t)o->value));
  } else if (o->kind == OPERAND_INT && t == T_f64) {
    *bits = emu_f64_bits((double)(int64_t)o->value);
  } else if (o->kind == OPERAND_INT && t == T_f32) {
    *bits = emu_f32_bits((float)(int64_t)o->value);
  } else if (o->kind != OPERAND_INT && (t == T_f16 || t == T_bf16)) {
    return emu_unsupported(p, "16-bit types take no float literal");
  }
  return 0;
}

int emu_use_operand(emu_parser *p, int slot, const emu_operand *o, int bytes, emu_type t) {
  int32_t constant;
  uint64_t bits = 0;
  emu_insn *in = &p->f->code[p->f->n - 1];
  TRY(whole_register(p, o));
  if (o->kind == OPERAND_REG) {
    int have = p->reg_bytes[o->reg];
    if (bytes >= 0 && have != bytes && !(bytes == 1 && have == 2)) {
      return emu_unsupported(p, "an operand register has the wrong width");
    }
    return emu_build_ref(p, slot, o->reg, false);
  }
  if (o->kind == OPERAND_SYMBOL) {
    TRY(emu_build_constant(p, bytes < 0 ? 8 : bytes, o->value, o->symbol, &constant));
  } else if (o->kind == OPERAND_INT || o->kind == OPERAND_F32 || o->kind == OPERAND_F64) {
    TRY(literal(p, o, t, &bits));
    TRY(emu_build_constant(p, bytes < 0 ? 4 : bytes, bits, -1, &constant));
  } else if (o->kind == OPERAND_NAME) {
    return emu_fail(p, "'%.*s' is not a register or variable", (int)(o->n < 60 ? o->n : 60), o->p);
  } else {
    return emu_unsupported(p, "unsupported operand");
  }
  *(slot < 5 ? &in->o[slot] : &in->more->ops[slot - 5]) = constant;
  return 0;
}

int emu_use(emu_parser *p, int slot, int i, int bytes, emu_type t) {
  TRY(has_operand(p, i));
  return emu_use_operand(p, slot, &p->statement.operands[i], bytes, t);
}

int emu_address(emu_parser *p, int slot, int i, emu_insn *in) {
  const emu_operand *o = &p->statement.operands[i];
  emu_operand base = {.kind = OPERAND_INT, .symbol = -1};
  if (o->kind != OPERAND_ADDRESS) {
    return emu_unsupported(p, "expected an address in [ ]");
  }
  if (o->reg != EMU_NONE) {
    base.kind = OPERAND_REG;
    base.reg = o->reg;
    if (p->reg_bytes[o->reg] != 4 && p->reg_bytes[o->reg] != 8) {
      return emu_unsupported(p, "an address register must have 32 or 64 bits");
    }
  } else if (o->symbol >= 0) {
    base.kind = OPERAND_SYMBOL;
    base.symbol = o->symbol;
  }
  in->imm = (int64_t)o->value;
  in->more->mode[5] = o->reg != EMU_NONE ? p->reg_bytes[o->reg] : 8;
  return emu_use_operand(p, slot, &base, in->more->mode[5], T_b64);
}

int emu_def_temp(emu_parser *p, int slot, int bytes, int32_t *reg) {
  TRY(emu_build_reg(p, bytes, 1, reg));
  return emu_build_ref(p, slot, *reg, true);
}
