/* emu_decode_alu.c -- decoders of arithmetic and logic. src: PTX ISA 9.0, 9.7.1 to 9.7.8. */
#include <string.h>

#include "emu_decoders.h"
#include "emu_emit.h"
#include "emu_modes.h"

static bool is_int(emu_type t) {
  char kind = emu_type_kind(t);
  return kind == 'u' || kind == 's' || kind == 'b' || t == T_u16x2 || t == T_s16x2;
}

static int carry(emu_parser *p, emu_op op, emu_type t, bool in_carry, bool out_carry, int part) {
  int b = emu_type_bytes(t);
  int n = op == OP_mad ? 3 : 2;
  TRY(emu_arity(p, n + 1, n + 1));
  if (b != 4 && b != 8) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_carry, op == OP_mad ? EMU_PIPE_imad : EMU_PIPE_alu, 0, &in));
  int modes[] = {(int)op, in_carry, out_carry, part, emu_type_kind(t) == 's', 0};
  memcpy(in->more->mode, modes, sizeof modes);
  in->dbytes = (uint8_t)b;
  for (int i = 0; i < n; i++) {
    TRY(emu_use(p, i + 1, i + 1, b, t));
  }
  return emu_def(p, 0, 0, b);
}

static int decode_add(emu_parser *p) {
  bool out_carry = emu_mod(p, "cc");
  emu_options o = emu_take_options(p);
  emu_type t = emu_mod_type(p);
  if (out_carry || p->arg) {
    return carry(p, (emu_op)p->op, t, p->arg, out_carry, 0);
  }
  if (is_int(t) && o.sat && t == T_s32) {
    o.sat = false;
    return emu_emit(p, p->op == OP_add ? OP_addsat : OP_subsat, t, emu_same_width(t, 2), o);
  }
  if (t == T_s16x2 && p->op == OP_add) {
    t = T_u16x2;
  }
  return emu_emit(p, (emu_op)p->op, emu_type_unsigned(t), emu_same_width(t, 2), o);
}

static int decode_mul(emu_parser *p) {
  static const char *const parts[] = {"lo", "hi", "wide", NULL};
  int part = emu_mod_choice(p, parts);
  bool out_carry = emu_mod(p, "cc");
  emu_options o = emu_take_options(p);
  emu_type t = emu_mod_type(p);
  int n = p->op == OP_mad ? 3 : 2;
  if (part < 0) {
    return emu_emit(p, p->op == OP_mad ? OP_fma : (emu_op)p->op, t, emu_same_width(t, n), o);
  }
  if (out_carry || p->arg) {
    return carry(p, OP_mad, t, p->arg, out_carry, part);
  }
  if (part == 0) {
    return emu_emit(p, (emu_op)p->op, emu_type_unsigned(t), emu_same_width(t, n), o);
  }
  if (part == 1) {
    emu_op high = p->op == OP_mul ? OP_mulhi : o.sat ? OP_madhisat : OP_madhi;
    o.sat = false;
    return emu_emit(p, high, t, emu_same_width(t, n), o);
  }
  int b = emu_type_bytes(t);
  emu_shape s = {2 * b, {b, b, n == 3 ? 2 * b : -2, -2}};
  return emu_emit(p, p->op == OP_mul ? OP_mulwide : OP_madwide, t, s, o);
}

static int decode_mul24(emu_parser *p) {
  static const char *const parts[] = {"lo", "hi", NULL};
  int part = emu_mod_choice(p, parts);
  bool sat = p->op == OP_mad24 && part == 1 && emu_mod(p, "sat");
  emu_type t = emu_mod_type(p);
  return emu_emit(p, sat ? OP_mad24hisat : (emu_op)(p->op + (part == 1)), t,
                  emu_same_width(t, p->arg), emu_plain);
}

static int decode_fma(emu_parser *p) {
  const bool relu = emu_mod(p, "relu"), oob = emu_mod(p, "oob");
  const emu_op op = oob ? (relu ? OP_fmaoobrelu : OP_fmaoob) : relu ? OP_fmarelu : (emu_op)p->op;
  emu_options o = emu_take_options(p);
  emu_type t = emu_mod_type(p);
  return emu_emit(p, op, t, emu_same_width(t, 3), o);
}

/* instructions without special modifiers. arg: number of operands, + 16: signedness does not matter
 */
static int decode_plain(emu_parser *p) {
  emu_options o = emu_take_options(p);
  emu_type t = emu_mod_type(p);
  emu_type of = p->arg & 16 ? emu_type_unsigned(t) : t;
  return emu_emit(p, (emu_op)p->op, of, emu_same_width(t, p->arg & 15), o);
}

static int decode_div(emu_parser *p) {
  static const char *const how[] = {"approx", "full", NULL};
  emu_mod_choice(p, how);
  emu_options o = emu_take_options(p);
  emu_type t = emu_mod_type(p);
  return emu_emit(p, (emu_op)p->op, t, emu_same_width(t, 2), o);
}

static int decode_min(emu_parser *p) {
  bool ftz = emu_mod(p, "ftz"), nan = emu_mod(p, "NaN"), xorsign = emu_mod(p, "xorsign");
  bool relu = emu_mod(p, "relu");
  emu_mod(p, "abs");
  emu_type t = emu_mod_type(p);
  bool is_min = p->op == OP_min;
  emu_op which = nan && xorsign ? (is_min ? OP_minnanxor : OP_maxnanxor)
                 : nan          ? (is_min ? OP_minnan : OP_maxnan)
                 : xorsign      ? (is_min ? OP_minxor : OP_maxxor)
                 : relu         ? (is_min ? OP_minrelu : OP_maxrelu)
                                : (emu_op)p->op;
  return emu_emit(p, which, t, emu_same_width(t, 2), (emu_options){ROUND_none, ftz, false});
}

/* rcp, sqrt, rsqrt, sin, cos, ex2, lg2, tanh */
static int decode_special(emu_parser *p) {
  bool approx = emu_mod(p, "approx");
  emu_options o = emu_take_options(p);
  emu_type t = emu_mod_type(p);
  if (!approx && o.round == ROUND_none) {
    return emu_unsupported(p, "");
  }
  if (p->op == OP_ex2 && (t == T_bf16 || t == T_bf16x2)) {
    o.ftz = false; /* the operation flushes */
  }
  return emu_emit(p, (emu_op)p->op, t, emu_same_width(t, 1), o);
}

static int predicate_logic(emu_parser *p, int which, int n) {
  TRY(emu_arity(p, n + 1, n + 1));
  emu_insn *in;
  TRY(emu_begin(p, KIND_plogic, EMU_PIPE_alu, &in));
  in->imm = which;
  for (int i = 1; i <= n; i++) {
    TRY(emu_use(p, i, i, 0, T_pred));
  }
  return emu_def(p, 0, 0, 0);
}

static int decode_logic(emu_parser *p) {
  emu_type t = emu_mod_type(p);
  if (t == T_pred) {
    int which = p->op == OP_not   ? PLOGIC_not
                : p->op == OP_and ? PLOGIC_and
                : p->op == OP_or  ? PLOGIC_or
                                  : PLOGIC_xor;
    return predicate_logic(p, which, p->arg);
  }
  return emu_emit(p, (emu_op)p->op, emu_type_unsigned(t), emu_same_width(t, p->arg), emu_plain);
}

static int decode_shift(emu_parser *p) {
  emu_type t = emu_mod_type(p),
           of = p->op == OP_shl || emu_type_kind(t) == 'b' ? emu_type_unsigned(t) : t;
  int b = emu_type_bytes(t);
  emu_shape s = {b, {b, 4, -2, -2}};
  return emu_emit(p, (emu_op)p->op, of, s, emu_plain);
}

static int decode_shf(emu_parser *p) {
  static const char *const sides[] = {"l", "r", NULL}, *const ends[] = {"wrap", "clamp", NULL};
  int side = emu_mod_choice(p, sides), end = emu_mod_choice(p, ends);
  static const emu_op ops[2][2] = {{OP_shflw, OP_shflc}, {OP_shfrw, OP_shfrc}};
  emu_type t = emu_mod_type(p);
  if (side < 0 || end < 0 || t != T_b32) {
    return emu_unsupported(p, "");
  }
  return emu_emit(p, ops[side][end], T_u32, emu_same_width(t, 3), emu_plain);
}

/* the predicate of lop3.or.b32 d|p, a, b, c, lut, q: p = d != 0 || q */
static int lop3_predicate(emu_parser *p, const emu_operand *d, const emu_operand *q, int boolean) {
  const emu_operand zero = {.kind = OPERAND_INT, .symbol = -1};
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_setp, EMU_PIPE_none, 0, &in));
  in->fn = emu_lanes()[OP_ne][T_u32];
  in->flags |= INSN_HELPER;
  in->more->from = T_u32;
  in->more->mode[0] = boolean;
  TRY(emu_use_operand(p, 2, d, 4, T_b32));
  TRY(emu_use_operand(p, 3, &zero, 4, T_b32));
  TRY(emu_use_operand(p, 4, q, 0, T_pred));
  return emu_build_ref(p, 0, d->second, true);
}

static int decode_lop3(emu_parser *p) {
  static const char *const names[] = {"and", "or", NULL};
  emu_operand *d = &p->statement.operands[0], q = p->statement.operands[5];
  int boolean = emu_mod_choice(p, names);
  emu_type t = emu_mod_type(p);
  if (boolean < 0) {
    return emu_emit(p, (emu_op)p->op, emu_type_unsigned(t), emu_same_width(t, 4), emu_plain);
  }
  TRY(emu_arity(p, 6, 6));
  if (t != T_b32 || d->second == EMU_NONE || p->reg_bytes[d->second]) {
    return emu_unsupported(p, "the second result must be a predicate");
  }
  if (d->kind == OPERAND_SINK) {
    d->kind = OPERAND_REG;
    TRY(emu_build_reg(p, 4, 1, &d->reg));
  }
  p->statement.n = 5;
  TRY(emu_emit(p, (emu_op)p->op, T_u32, emu_same_width(t, 4), emu_plain));
  return lop3_predicate(p, d, &q, boolean ? BOOL_or : BOOL_and);
}

static int decode_bfe(emu_parser *p) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  emu_shape s = {b, {b, 4, 4, -2}};
  return emu_emit(p, (emu_op)p->op, t, s, emu_plain);
}

static int decode_bfi(emu_parser *p) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  emu_shape s = {b, {b, b, 4, 4}};
  return emu_emit(p, (emu_op)p->op, emu_type_unsigned(t), s, emu_plain);
}

/* bfind, popc, clz: 32 bits whatever the operand's width */
static int decode_count(emu_parser *p) {
  bool shift = emu_mod(p, "shiftamt");
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  emu_shape s = {4, {b, -2, -2, -2}};
  return emu_emit(p, shift ? OP_bfindshift : (emu_op)p->op, p->arg ? t : emu_type_unsigned(t), s,
                  emu_plain);
}

static int decode_wrapclamp(emu_parser *p) {
  static const char *const ends[] = {"wrap", "clamp", NULL};
  int end = emu_mod_choice(p, ends);
  emu_type t = emu_mod_type(p);
  return emu_emit(p, (emu_op)(p->op + (end == 1)), t == T_b32 ? T_u32 : t, emu_same_width(t, 2),
                  emu_plain);
}

static int decode_prmt(emu_parser *p) {
  static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
  emu_type t = emu_mod_type(p);
  int mode = emu_mod_choice(p, modes);
  return emu_emit(p, (emu_op)(p->op + mode + 1), emu_type_unsigned(t), emu_same_width(t, 3),
                  emu_plain);
}

static int decode_dot(emu_parser *p) {
  bool high = emu_mod(p, "hi");
  emu_mod(p, "lo");
  emu_type a = emu_mod_type(p), b = emu_mod_type(p);
  int which = 2 * (a == T_s32) + (b == T_s32) + (high ? 4 : 0);
  return emu_emit(p, (emu_op)(p->op + which), T_u32, emu_same_width(T_u32, 3), emu_plain);
}

const emu_decode_row emu_decode_alu_rows[] = {
    {"add", decode_add, OP_add},
    {"sub", decode_add, OP_sub},
    {"addc", decode_add, OP_add, 1},
    {"subc", decode_add, OP_sub, 1},
    {"mul", decode_mul, OP_mul},
    {"mad", decode_mul, OP_mad},
    {"madc", decode_mul, OP_mad, 1},
    {"mul24", decode_mul24, OP_mul24, 2},
    {"mad24", decode_mul24, OP_mad24, 3},
    {"fma", decode_fma, OP_fma},
    {"sad", decode_plain, OP_sad, 3},
    {"div", decode_div, OP_div},
    {"rem", decode_plain, OP_rem, 2},
    {"abs", decode_plain, OP_abs, 1},
    {"neg", decode_plain, OP_neg, 17},
    {"min", decode_min, OP_min},
    {"max", decode_min, OP_max},
    {"and", decode_logic, OP_and, 2},
    {"or", decode_logic, OP_or, 2},
    {"xor", decode_logic, OP_xor, 2},
    {"not", decode_logic, OP_not, 1},
    {"cnot", decode_plain, OP_cnot, 17},
    {"shl", decode_shift, OP_shl},
    {"shr", decode_shift, OP_shr},
    {"shf", decode_shf},
    {"lop3", decode_lop3, OP_lop3},
    {"bfe", decode_bfe, OP_bfe},
    {"bfi", decode_bfi, OP_bfi},
    {"bfind", decode_count, OP_bfind, 1},
    {"popc", decode_count, OP_popc},
    {"clz", decode_count, OP_clz},
    {"brev", decode_plain, OP_brev, 17},
    {"fns", decode_plain, OP_fns, 19},
    {"szext", decode_wrapclamp, OP_szextwrap},
    {"bmsk", decode_wrapclamp, OP_bmskwrap},
    {"prmt", decode_prmt, OP_prmt},
    {"dp4a", decode_dot, OP_dp4auu},
    {"dp2a", decode_dot, OP_dp2aluu},
    {"rcp", decode_special, OP_rcp},
    {"sqrt", decode_special, OP_sqrt},
    {"rsqrt", decode_special, OP_rsqrt},
    {"sin", decode_special, OP_sin},
    {"cos", decode_special, OP_cos},
    {"ex2", decode_special, OP_ex2},
    {"lg2", decode_special, OP_lg2},
    {"tanh", decode_special, OP_tanh},
    {"copysign", decode_plain, OP_copysign, 2},
    {NULL},
};
