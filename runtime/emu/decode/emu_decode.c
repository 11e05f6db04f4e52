/* emu_decode.c -- finds each instruction's decoder. Operands that need an instruction of their own
 * (special registers, addresses of local variables, negated predicates) are computed first. */
#include "emu_decode.h"

#include <stdio.h>
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"
#include "emu_module.h"
#include "emu_parse.h"
#include "emu_sreg.h"

/* ---- operands that need an instruction of their own first ---- */

static bool in_frame(const emu_parser *p, int symbol) {
  if (symbol < 0 || p->symbols[symbol].kind != SYMBOL_VAR) {
    return false;
  }
  emu_space space = p->m->vars[p->symbols[symbol].index].space;
  return space == SPACE_local || space == SPACE_frame;
}

static void note_sreg(emu_parser *p, int sreg) {
  p->m->has_grid_barrier |= sreg == SREG_envreg2;
  p->f->grid_barrier |= sreg == SREG_envreg2;
  p->m->has_reserved_smem |= sreg >= SREG_reserved_begin && sreg <= SREG_reserved_1;
}

static int from_sreg(emu_parser *p, emu_operand *o) {
  emu_insn *in;
  int bytes = emu_sreg_bytes((int)o->value);
  int32_t reg;
  TRY(emu_build_insn(p, KIND_sreg, &in));
  in->imm = (int64_t)o->value;
  in->dbytes = (uint8_t)bytes;
  in->pipe = EMU_PIPE_alu;
  in->flags |= INSN_HELPER;
  note_sreg(p, (int)o->value);
  TRY(emu_def_temp(p, 0, bytes, &reg));
  *o = (emu_operand){.kind = OPERAND_REG, .reg = reg, .second = EMU_NONE, .symbol = -1};
  return 0;
}

static int from_frame(emu_parser *p, emu_operand *o) {
  emu_insn *in;
  int32_t reg;
  TRY(emu_build_insn(p, KIND_frameaddr, &in));
  in->imm = (int64_t)p->m->vars[p->symbols[o->symbol].index].address;
  in->dbytes = 8;
  in->flags |= INSN_HELPER;
  if (o->kind == OPERAND_SYMBOL) {
    in->imm += (int64_t)o->value;
    o->value = 0;
    o->kind = OPERAND_REG;
  }
  TRY(emu_def_temp(p, 0, 8, &reg));
  o->reg = reg;
  o->symbol = -1;
  o->in_frame = true;
  return 0;
}

static int from_negation(emu_parser *p, emu_operand *o) {
  emu_insn *in;
  int32_t reg;
  TRY(emu_build_insn(p, KIND_plogic, &in));
  in->imm = PLOGIC_not;
  in->flags |= INSN_HELPER;
  TRY(emu_build_ref(p, 1, o->reg, false));
  TRY(emu_def_temp(p, 0, 0, &reg));
  o->reg = reg;
  o->negated = false;
  return 0;
}

static int prepare(emu_parser *p, emu_operand *o, bool is_call) {
  if (o->kind == OPERAND_SREG) {
    return from_sreg(p, o);
  }
  if ((o->kind == OPERAND_SYMBOL || o->kind == OPERAND_ADDRESS) && in_frame(p, o->symbol) &&
      !is_call) {
    return from_frame(p, o);
  }
  if (o->kind == OPERAND_REG && o->negated) {
    return p->reg_bytes[o->reg] ? emu_unsupported(p, "'!' needs a predicate") : from_negation(p, o);
  }
  return 0;
}

/* mov d, %tid.x: a single instruction where d is as wide as the special register */
static bool is_sreg_move(const emu_parser *p) {
  const emu_statement *s = &p->statement;
  return emu_mod_is(s, 0, "mov") && s->n == 2 && s->operands[1].kind == OPERAND_SREG &&
         s->operands[0].kind == OPERAND_REG && !s->operands[0].part &&
         p->reg_bytes[s->operands[0].reg] == emu_sreg_bytes((int)s->operands[1].value);
}

static int move_sreg(emu_parser *p) {
  const int sreg = (int)p->statement.operands[1].value;
  emu_insn *in;
  if (emu_mod_type(p) == T_none) {
    return emu_unsupported(p, "");
  }
  TRY(emu_begin(p, KIND_sreg, EMU_PIPE_alu, &in));
  in->imm = sreg;
  in->dbytes = (uint8_t)emu_sreg_bytes(sreg);
  note_sreg(p, sreg);
  return emu_def(p, 0, 0, in->dbytes);
}

static int prepare_all(emu_parser *p) {
  emu_statement *s = &p->statement;
  bool is_call = s->mods[0].n == 4 && !memcmp(s->mods[0].p, "call", 4);
  for (int i = 0; i < s->n; i++) {
    TRY(prepare(p, &s->operands[i], is_call));
  }
  for (int i = 0; i < s->n_list; i++) {
    TRY(prepare(p, &s->list[i], is_call));
  }
  return 0;
}

static const emu_decode_row *find(const emu_statement *s) {
  const emu_decode_row *const tables[] = {
      emu_decode_alu_rows,  emu_decode_move_rows,  emu_decode_mem_rows,
      emu_decode_flow_rows, emu_decode_mma_rows,   emu_decode_async_rows,
      emu_decode_bulk_rows, emu_decode_video_rows, emu_decode_texture_rows};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
    for (const emu_decode_row *row = tables[t]; row->name; row++) {
      if (row->name[0] == *s->mods[0].p && emu_mod_is(s, 0, row->name)) {
        return row;
      }
    }
  }
  return NULL;
}

static int decode(emu_parser *p) {
  emu_statement *s = &p->statement;
  if (!p->f) {
    return emu_fail(p, "an instruction stands outside a function");
  }
  const emu_decode_row *row = find(s);
  if (!row) {
    return emu_fail(p, "instruction '%.*s' is not emulated",
                    (int)(s->opcode_n < 100 ? s->opcode_n : 100), s->opcode);
  }
  const bool moves = is_sreg_move(p);
  TRY(moves ? 0 : prepare_all(p));
  p->op = row->op;
  p->arg = row->arg;
  TRY(moves ? move_sreg(p) : row->decode(p));
  for (int i = 1; i < s->n_mods; i++) {
    if (!(s->used >> i & 1)) {
      char why[80];
      snprintf(why, sizeof why, "modifier '.%.*s'", s->mods[i].n < 40 ? s->mods[i].n : 40,
               s->mods[i].p);
      return emu_unsupported(p, why);
    }
  }
  return 0;
}

int emu_module_parse(const char *text, size_t nbytes, emu_module **m, err *e) {
  TRY(emu_parse(text, nbytes, decode, m, e));
  int rc = emu_module_layout(*m, e);
  if (rc) {
    emu_module_free(*m);
    *m = NULL;
    return rc;
  }
  emu_read_ptxas_report(*m);
  return 0;
}
