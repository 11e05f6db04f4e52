/* emu_statement.c -- see emu_grammar.h. src: PTX ISA 9.0, chapters 4 and 6. */
#include <string.h>

#include "emu_grammar.h"
#include "emu_sreg.h"

enum { OPERANDS_MAX = 128 };

static int push_list(emu_parser *p, const emu_operand *o) {
  emu_statement *s = &p->statement;
  if (s->n_list == EMU_LIST_MAX) {
    return emu_fail(p, "the lists have more than %d operands", EMU_LIST_MAX);
  }
  s->list[s->n_list++] = *o;
  return 0;
}

static int parse_operand(emu_parser *p, emu_operand *o);

static int parse_list(emu_parser *p, emu_operand *o, char close) {
  emu_operand items[OPERANDS_MAX];
  int n = 0;
  if (++p->depth > 3) {
    return emu_fail(p, "operands are nested more than 3 deep");
  }
  while (!emu_accept(p, close)) {
    if (n == OPERANDS_MAX) {
      return emu_fail(p, "a list has more than %d operands", OPERANDS_MAX);
    }
    TRY(parse_operand(p, &items[n++]));
    if (!emu_accept(p, ',') && !emu_lex_is(&p->lex, close)) {
      return emu_unexpected(p, "','");
    }
  }
  *o = (emu_operand){.kind = OPERAND_LIST, .first = p->statement.n_list, .count = n};
  for (int i = 0; i < n; i++) {
    TRY(push_list(p, &items[i]));
  }
  p->depth--;
  return 0;
}

static int parse_addend(emu_parser *p, uint64_t *value) {
  if (emu_accept(p, '+')) {
    return emu_take_integer(p, value);
  }
  if (emu_lex_is(&p->lex, '-')) {
    return emu_take_integer(p, value);
  }
  return 0;
}

static int parse_word_operand(emu_parser *p, emu_operand *o) {
  emu_token t;
  TRY(emu_take_name(p, &t));
  int32_t reg = EMU_NONE;
  int symbol = emu_find(p, t.p, t.n, &reg);
  if (symbol >= 0 && p->symbols[symbol].kind == SYMBOL_REG) {
    *o = (emu_operand){.kind = OPERAND_REG, .reg = reg, .second = EMU_NONE, .symbol = -1};
    if (emu_accept(p, '|')) {
      emu_operand two;
      TRY(parse_word_operand(p, &two));
      o->second = two.kind == OPERAND_REG ? two.reg : EMU_NONE;
    }
    return 0;
  }
  if (emu_token_is(&t, "_")) {
    *o = (emu_operand){.kind = OPERAND_SINK, .reg = EMU_NONE, .second = EMU_NONE, .symbol = -1};
    if (emu_accept(p, '|')) {
      emu_operand two;
      TRY(parse_word_operand(p, &two));
      o->second = two.kind == OPERAND_REG ? two.reg : EMU_NONE;
    }
    return 0;
  }
  if (symbol >= 0) {
    *o = (emu_operand){.kind = OPERAND_SYMBOL, .symbol = symbol, .p = t.p, .n = t.n};
    return parse_addend(p, &o->value);
  }
  int sreg = *t.p == '%' ? emu_sreg_parse(t.p, t.n) : emu_token_is(&t, "WARP_SZ") ? -2 : -1;
  if (sreg == -2) {
    *o = (emu_operand){.kind = OPERAND_INT, .value = 32, .symbol = -1};
  } else if (sreg >= 0) {
    *o = (emu_operand){.kind = OPERAND_SREG, .value = (uint64_t)sreg, .symbol = -1};
  } else if (*t.p == '%') {
    return emu_fail(p, "register '%.*s' is not declared", (int)(t.n < 60 ? t.n : 60), t.p);
  } else {
    *o = (emu_operand){.kind = OPERAND_NAME, .p = t.p, .n = t.n, .symbol = -1};
  }
  return 0;
}

static int parse_address(emu_parser *p, emu_operand *o) {
  emu_operand base = {.kind = OPERAND_INT, .symbol = -1};
  if (p->lex.token.kind == TOKEN_WORD) {
    TRY(parse_word_operand(p, &base));
    if (base.kind != OPERAND_REG && base.kind != OPERAND_SYMBOL) {
      return emu_fail(p, "'%.*s' is not a variable", (int)base.n, base.p ? base.p : "");
    }
    if (base.kind == OPERAND_REG) {
      TRY(parse_addend(p, &base.value));
    }
  } else {
    TRY(emu_take_integer(p, &base.value));
  }
  if (emu_accept(p, ',')) { /* of a tensor map, texture or surface: coordinates follow */
    if (p->lex.token.kind == TOKEN_WORD) {
      return emu_fail(p, "separate samplers are not emulated: a texture object has its own");
    }
    TRY(emu_expect(p, '{'));
    TRY(parse_list(p, o, '}'));
  }
  if (!emu_lex_is(&p->lex, ']')) {
    return emu_fail(p, "unsupported form of address");
  }
  emu_lex_next(&p->lex);
  o->kind = OPERAND_ADDRESS;
  o->reg = base.kind == OPERAND_REG ? base.reg : EMU_NONE;
  o->symbol = base.kind == OPERAND_SYMBOL ? base.symbol : -1;
  o->value = base.value;
  return 0;
}

/* a part of a register, such as %r1.b0 or %r1.h10 */
static bool accept_part(emu_parser *p, emu_operand *o) {
  const emu_token t = p->lex.token;
  const char *dot = t.kind == TOKEN_WORD ? memchr(t.p, '.', t.n) : NULL;
  int32_t reg = EMU_NONE;
  const int symbol = dot ? emu_find(p, t.p, (size_t)(dot - t.p), &reg) : -1;
  if (symbol < 0 || p->symbols[symbol].kind != SYMBOL_REG) {
    return false;
  }
  *o = (emu_operand){.kind = OPERAND_REG, .reg = reg, .second = EMU_NONE, .symbol = -1};
  o->part = true;
  o->p = dot + 1;
  o->n = (size_t)(t.p + t.n - o->p);
  emu_lex_next(&p->lex);
  return true;
}

static int parse_number(emu_parser *p, emu_operand *o, bool minus) {
  const emu_token *t = &p->lex.token;
  o->kind = t->kind == TOKEN_F32 ? OPERAND_F32 : t->kind == TOKEN_F64 ? OPERAND_F64 : OPERAND_INT;
  if (t->kind != TOKEN_INTEGER && t->kind != TOKEN_F32 && t->kind != TOKEN_F64) {
    return emu_unexpected(p, "an operand");
  }
  o->value = !minus                     ? t->value
             : t->kind == TOKEN_INTEGER ? -t->value
             : t->kind == TOKEN_F32     ? t->value ^ 0x80000000u
                                        : t->value ^ UINT64_C(1) << 63;
  emu_lex_next(&p->lex);
  return 0;
}

static int parse_operand(emu_parser *p, emu_operand *o) {
  *o = (emu_operand){.reg = EMU_NONE, .second = EMU_NONE, .symbol = -1};
  if (emu_accept(p, '{')) {
    return parse_list(p, o, '}');
  }
  if (emu_accept(p, '(')) {
    return parse_list(p, o, ')');
  }
  if (emu_accept(p, '[')) {
    return parse_address(p, o);
  }
  if (emu_accept(p, '!')) {
    TRY(parse_word_operand(p, o));
    o->negated = true;
    return 0;
  }
  const bool minus = emu_accept(p, '-');
  if (p->lex.token.kind != TOKEN_WORD) {
    return parse_number(p, o, minus);
  }
  TRY(accept_part(p, o) ? 0 : parse_word_operand(p, o));
  o->minus = minus;
  return minus && o->kind != OPERAND_REG ? emu_fail(p, "'-' needs a register or a number") : 0;
}

static int split_opcode(emu_parser *p, const emu_token *t) {
  emu_statement *s = &p->statement;
  s->opcode = t->p;
  s->opcode_n = t->n;
  s->n_mods = 0;
  for (size_t at = 0; at <= t->n;) {
    size_t end = at;
    while (end < t->n && t->p[end] != '.') {
      end++;
    }
    if (s->n_mods == EMU_MODS) {
      return emu_fail(p, "too many modifiers in '%.*s'", (int)(t->n < 60 ? t->n : 60), t->p);
    }
    s->mods[s->n_mods].p = t->p + at;
    s->mods[s->n_mods++].n = (int)(end - at);
    at = end + 1;
  }
  s->used = 1;
  return 0;
}

int emu_statement_guard(emu_parser *p) {
  emu_statement *s = &p->statement;
  emu_operand o;
  s->guard_not = emu_accept(p, '!');
  TRY(parse_word_operand(p, &o));
  if (o.kind != OPERAND_REG || p->reg_bytes[o.reg] != 0) {
    return emu_fail(p, "the guard is not a predicate");
  }
  s->guard = o.reg;
  return 0;
}

int emu_statement_instruction(emu_parser *p, const emu_token *opcode) {
  emu_statement *s = &p->statement;
  s->line = opcode->line;
  s->n = s->n_list = 0;
  TRY(split_opcode(p, opcode));
  while (!emu_lex_is(&p->lex, ';')) {
    if (s->n == 12) {
      return emu_fail(p, "too many operands");
    }
    TRY(parse_operand(p, &s->operands[s->n++]));
    if (!emu_accept(p, ',') && !emu_lex_is(&p->lex, ';')) {
      return emu_unexpected(p, "',' or ';'");
    }
  }
  TRY(p->decode(p));
  emu_lex_next(&p->lex);
  return 0;
}
