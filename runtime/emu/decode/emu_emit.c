/* emu_emit.c -- see emu_emit.h. */
#include "emu_emit.h"

static emu_pipe pipe_of(emu_op op, emu_type t) {
  char kind = emu_type_kind(t);
  if (op == OP_mov) {
    return EMU_PIPE_none; /* ptxas renames registers instead */
  }
  if (t == T_f64) {
    return op == OP_abs || op == OP_neg ? EMU_PIPE_alu : EMU_PIPE_fp64;
  }
  if ((op >= OP_rcp && op <= OP_tanh) || op == OP_popc || op == OP_brev || op == OP_fns) {
    return EMU_PIPE_mufu;
  }
  if (t == T_f16x2 || t == T_bf16x2 || t == T_f16 || t == T_bf16) {
    return EMU_PIPE_half;
  }
  if (t == T_f32 && (op == OP_add || op == OP_sub || op == OP_mul || op == OP_fma)) {
    return EMU_PIPE_fma;
  }
  bool multiplies = op >= OP_mul && op <= OP_mad24hi;
  return kind != 'f' && (multiplies || op >= OP_dp4auu) && op <= OP_dp2ahss ? EMU_PIPE_imad
                                                                            : EMU_PIPE_alu;
}

/* instructions that the hardware issues for one of PTX: 64-bit integers, divisions */
static int weight_of(emu_op op, emu_type t) {
  bool wide = (t == T_u64 || t == T_s64);
  switch (op) {
  case OP_div: return t == T_f32 ? 8 : t == T_f64 ? 10 : wide ? 70 : 17;
  case OP_rem: return wide ? 75 : 20;
  case OP_rcp:
  case OP_sqrt:
  case OP_rsqrt: return t == T_f64 ? 8 : 1;
  case OP_mul:
  case OP_mad: return wide ? 3 : 1;
  case OP_mulhi:
  case OP_madhi: return wide ? 6 : 1;
  case OP_mulwide:
  case OP_madwide:
  case OP_mov:
  case OP_lop3: return 1;
  default: return wide ? 2 : 1;
  }
}

emu_options emu_take_options(emu_parser *p) {
  emu_options o = {emu_mod_round(p), emu_mod(p, "ftz"), emu_mod(p, "sat")};
  return o;
}

int emu_emit(emu_parser *p, emu_op op, emu_type t, emu_shape s, emu_options o) {
  emu_lane_fn fn = t < T_COUNT ? emu_lanes()[op][t] : NULL;
  if (o.round != ROUND_none && o.round != ROUND_rn) {
    fn = emu_rounded(op, t, o.round);
  }
  if (!fn || (o.ftz && !emu_flushes(t) && t != T_f64) || (o.sat && !emu_lanes()[OP_satf][t])) {
    return emu_unsupported(p, "");
  }
  int n = 0;
  while (n < 4 && s.s[n] != -2) {
    n++;
  }
  TRY(emu_arity(p, n + 1, n + 1));
  emu_insn *in;
  TRY(emu_begin(p, KIND_alu, pipe_of(op, t), &in));
  in->fn = fn;
  in->dbytes = (uint8_t)s.d;
  in->type = (uint8_t)t;
  in->weight = (uint8_t)weight_of(op, t);
  in->flags |= (uint8_t)((o.ftz && emu_flushes(t) ? INSN_FTZ : 0) | (o.sat ? INSN_SAT : 0));
  if (in->flags & (INSN_FTZ | INSN_SAT)) {
    in->sat = emu_lanes()[OP_satf][t];
  }
  in->kind = in->flags & (INSN_FTZ | INSN_SAT) ? KIND_wrapped : KIND_alu;
  for (int i = 0; i < n; i++) {
    TRY(emu_use(p, i + 1, i + 1, s.s[i], t));
  }
  return emu_def(p, 0, 0, s.d);
}

emu_shape emu_same_width(emu_type t, int n) {
  int b = emu_type_bytes(t);
  emu_shape s = {b, {b, n > 1 ? b : -2, n > 2 ? b : -2, n > 3 ? b : -2}};
  return s;
}
