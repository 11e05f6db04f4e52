/* emu_decode_alu.c -- decoders of arithmetic, logic, comparison, selection, moves and conversions.
 * src: PTX ISA 9.0, 9.7.1 to 9.7.9. */
#include <string.h>

#include "emu_cvt.h"
#include "emu_decoders.h"
#include "emu_modes.h"

/* ---- from (operation, type) to an instruction ---- */

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

typedef struct shape { /* lane widths of the result and the operands; -2 ends */
  int d, s[4];
} shape;

static shape alike(emu_type t, int n) {
  int b = emu_type_bytes(t);
  shape s = {b, {b, n > 1 ? b : -2, n > 2 ? b : -2, n > 3 ? b : -2}};
  return s;
}

typedef struct options {
  emu_round round;
  bool ftz, sat;
} options;

static options take_options(emu_parser *p) {
  options o = {emu_mod_round(p), emu_mod(p, "ftz"), emu_mod(p, "sat")};
  return o;
}

/* emit the instruction: t selects the function, s the widths */
static int finish(emu_parser *p, emu_op op, emu_type t, shape s, options o) {
  emu_lane_fn fn = t < T_COUNT ? emu_lanes()[op][t] : NULL;
  if (o.round != ROUND_none && o.round != ROUND_rn) {
    fn = emu_rounded(op, t, o.round);
  }
  if (!fn || (o.ftz && t != T_f32 && t != T_f64) || (o.sat && !emu_lanes()[OP_satf][t])) {
    return emu_unsupported(p, "");
  }
  int n = 0;
  while (n < 4 && s.s[n] != -2) {
    n++;
  }
  TRY(emu_arity(p, n + 1, n + 1));
  emu_insn *in = emu_begin(p, KIND_alu, pipe_of(op, t));
  if (!in) {
    return ERR_NOMEM;
  }
  in->fn = fn;
  in->dbytes = (uint8_t)s.d;
  in->type = (uint8_t)t;
  in->weight = (uint8_t)weight_of(op, t);
  in->flags |= (uint8_t)((o.ftz && t == T_f32 ? INSN_FTZ : 0) | (o.sat ? INSN_SAT : 0));
  if (in->flags & (INSN_FTZ | INSN_SAT)) {
    in->sat = emu_lanes()[OP_satf][t];
  }
  in->kind = in->flags & (INSN_FTZ | INSN_SAT) ? KIND_wrapped : KIND_alu;
  for (int i = 0; i < n; i++) {
    TRY(emu_use(p, i + 1, i + 1, s.s[i], t));
  }
  return emu_def(p, 0, 0, s.d);
}

/* ---- families ---- */

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
  emu_insn *in = emu_begin(p, KIND_carry, op == OP_mad ? EMU_PIPE_imad : EMU_PIPE_alu);
  if (!in || !emu_build_more(p, in, 0)) {
    return ERR_NOMEM;
  }
  int modes[] = {(int)op, in_carry, out_carry, part, emu_type_kind(t) == 's', 0};
  memcpy(in->more->mode, modes, sizeof modes);
  in->dbytes = (uint8_t)b;
  for (int i = 0; i < n; i++) {
    TRY(emu_use(p, i + 1, i + 1, b, t));
  }
  return emu_def(p, 0, 0, b);
}

static int decode_add(emu_parser *p, int op, int arg) {
  bool out_carry = emu_mod(p, "cc");
  options o = take_options(p);
  emu_type t = emu_mod_type(p);
  if (out_carry || arg) {
    return carry(p, (emu_op)op, t, arg, out_carry, 0);
  }
  if (is_int(t) && o.sat && t == T_s32) {
    o.sat = false;
    return finish(p, op == OP_add ? OP_addsat : OP_subsat, t, alike(t, 2), o);
  }
  if (t == T_s16x2 && op == OP_add) {
    t = T_u16x2;
  }
  return finish(p, (emu_op)op, emu_type_unsigned(t), alike(t, 2), o);
}

static int decode_mul(emu_parser *p, int op, int arg) {
  static const char *const parts[] = {"lo", "hi", "wide", NULL};
  int part = emu_mod_choice(p, parts);
  bool out_carry = emu_mod(p, "cc");
  options o = take_options(p);
  emu_type t = emu_mod_type(p);
  int n = op == OP_mad ? 3 : 2;
  if (part < 0) {
    return finish(p, op == OP_mad ? OP_fma : (emu_op)op, t, alike(t, n), o);
  }
  if (out_carry || arg) {
    return carry(p, OP_mad, t, arg, out_carry, part);
  }
  if (part == 0) {
    return finish(p, (emu_op)op, emu_type_unsigned(t), alike(t, n), o);
  }
  if (part == 1) {
    emu_op high = op == OP_mul ? OP_mulhi : o.sat ? OP_madhisat : OP_madhi;
    o.sat = false;
    return finish(p, high, t, alike(t, n), o);
  }
  int b = emu_type_bytes(t);
  shape s = {2 * b, {b, b, n == 3 ? 2 * b : -2, -2}};
  return finish(p, op == OP_mul ? OP_mulwide : OP_madwide, t, s, o);
}

static int decode_mul24(emu_parser *p, int op, int arg) {
  static const char *const parts[] = {"lo", "hi", NULL};
  int part = emu_mod_choice(p, parts);
  emu_type t = emu_mod_type(p);
  return finish(p, (emu_op)(op + (part == 1)), t, alike(t, arg),
                (options){ROUND_none, false, false});
}

static int decode_fma(emu_parser *p, int op, int arg) {
  bool relu = emu_mod(p, "relu");
  options o = take_options(p);
  emu_type t = emu_mod_type(p);
  (void)arg;
  return finish(p, relu ? OP_fmarelu : (emu_op)op, t, alike(t, 3), o);
}

/* instructions without special modifiers. arg: number of operands, + 16: signedness does not matter
 */
static int decode_plain(emu_parser *p, int op, int arg) {
  options o = take_options(p);
  emu_type t = emu_mod_type(p);
  emu_type of = arg & 16 ? emu_type_unsigned(t) : t;
  return finish(p, (emu_op)op, of, alike(t, arg & 15), o);
}

static int decode_div(emu_parser *p, int op, int arg) {
  static const char *const how[] = {"approx", "full", NULL};
  emu_mod_choice(p, how);
  options o = take_options(p);
  emu_type t = emu_mod_type(p);
  (void)arg;
  return finish(p, (emu_op)op, t, alike(t, 2), o);
}

static int decode_min(emu_parser *p, int op, int arg) {
  bool ftz = emu_mod(p, "ftz"), nan = emu_mod(p, "NaN"), xorsign = emu_mod(p, "xorsign");
  bool relu = emu_mod(p, "relu");
  emu_mod(p, "abs");
  emu_type t = emu_mod_type(p);
  bool is_min = op == OP_min;
  emu_op which = nan       ? (is_min ? OP_minnan : OP_maxnan)
                 : xorsign ? (is_min ? OP_minxor : OP_maxxor)
                 : relu    ? (is_min ? OP_minrelu : OP_maxrelu)
                           : (emu_op)op;
  (void)arg;
  return finish(p, which, t, alike(t, 2), (options){ROUND_none, ftz, false});
}

/* rcp, sqrt, rsqrt, sin, cos, ex2, lg2, tanh */
static int decode_special(emu_parser *p, int op, int arg) {
  bool approx = emu_mod(p, "approx");
  options o = take_options(p);
  emu_type t = emu_mod_type(p);
  (void)arg;
  if (!approx && o.round == ROUND_none) {
    return emu_unsupported(p, "");
  }
  return finish(p, (emu_op)op, t, alike(t, 1), o);
}

static int predicate_logic(emu_parser *p, int which, int n) {
  TRY(emu_arity(p, n + 1, n + 1));
  emu_insn *in = emu_begin(p, KIND_plogic, EMU_PIPE_alu);
  if (!in) {
    return ERR_NOMEM;
  }
  in->imm = which;
  for (int i = 1; i <= n; i++) {
    TRY(emu_use(p, i, i, 0, T_pred));
  }
  return emu_def(p, 0, 0, 0);
}

static int decode_logic(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p);
  if (t == T_pred) {
    int which = op == OP_not   ? PLOGIC_not
                : op == OP_and ? PLOGIC_and
                : op == OP_or  ? PLOGIC_or
                               : PLOGIC_xor;
    return predicate_logic(p, which, arg);
  }
  return finish(p, (emu_op)op, emu_type_unsigned(t), alike(t, arg),
                (options){ROUND_none, false, false});
}

static int decode_shift(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p),
           of = op == OP_shl || emu_type_kind(t) == 'b' ? emu_type_unsigned(t) : t;
  int b = emu_type_bytes(t);
  shape s = {b, {b, 4, -2, -2}};
  (void)arg;
  return finish(p, (emu_op)op, of, s, (options){ROUND_none, false, false});
}

static int decode_shf(emu_parser *p, int op, int arg) {
  static const char *const sides[] = {"l", "r", NULL}, *const ends[] = {"wrap", "clamp", NULL};
  int side = emu_mod_choice(p, sides), end = emu_mod_choice(p, ends);
  static const emu_op ops[2][2] = {{OP_shflw, OP_shflc}, {OP_shfrw, OP_shfrc}};
  emu_type t = emu_mod_type(p);
  (void)op, (void)arg;
  if (side < 0 || end < 0 || t != T_b32) {
    return emu_unsupported(p, "");
  }
  return finish(p, ops[side][end], T_u32, alike(t, 3), (options){ROUND_none, false, false});
}

static const options plain_options = {ROUND_none, false, false};

static int decode_lop3(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p);
  (void)arg;
  return finish(p, (emu_op)op, emu_type_unsigned(t), alike(t, 4), plain_options);
}

static int decode_bfe(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  shape s = {b, {b, 4, 4, -2}};
  (void)arg;
  return finish(p, (emu_op)op, t, s, plain_options);
}

static int decode_bfi(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  shape s = {b, {b, b, 4, 4}};
  (void)arg;
  return finish(p, (emu_op)op, emu_type_unsigned(t), s, plain_options);
}

/* bfind, popc, clz: 32 bits whatever the operand's width */
static int decode_count(emu_parser *p, int op, int arg) {
  bool shift = emu_mod(p, "shiftamt");
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  shape s = {4, {b, -2, -2, -2}};
  return finish(p, shift ? OP_bfindshift : (emu_op)op, arg ? t : emu_type_unsigned(t), s,
                plain_options);
}

static int decode_wrapclamp(emu_parser *p, int op, int arg) {
  static const char *const ends[] = {"wrap", "clamp", NULL};
  int end = emu_mod_choice(p, ends);
  emu_type t = emu_mod_type(p);
  (void)arg;
  return finish(p, (emu_op)(op + (end == 1)), t == T_b32 ? T_u32 : t, alike(t, 2), plain_options);
}

static int decode_prmt(emu_parser *p, int op, int arg) {
  static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
  emu_type t = emu_mod_type(p);
  int mode = emu_mod_choice(p, modes);
  (void)arg;
  return finish(p, (emu_op)(op + mode + 1), emu_type_unsigned(t), alike(t, 3), plain_options);
}

static int decode_dot(emu_parser *p, int op, int arg) {
  bool high = emu_mod(p, "hi");
  emu_mod(p, "lo");
  emu_type a = emu_mod_type(p), b = emu_mod_type(p);
  int which = 2 * (a == T_s32) + (b == T_s32) + (high ? 4 : 0);
  (void)arg;
  return finish(p, (emu_op)(op + which), T_u32, alike(T_u32, 3), plain_options);
}

/* ---- comparison and selection ---- */

static const char *const comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",
                                          "ls",  "hi",  "hs",  "equ", "neu", "ltu", "leu",
                                          "gtu", "geu", "num", "nan", NULL};
static const emu_op comparison_ops[] = {OP_eq,  OP_ne,  OP_lt,  OP_le,  OP_gt,  OP_ge,
                                        OP_lt,  OP_le,  OP_gt,  OP_ge,  OP_equ, OP_neu,
                                        OP_ltu, OP_leu, OP_gtu, OP_geu, OP_num, OP_nan};

static emu_lane_fn comparison_of(emu_parser *p, int which, emu_type t) {
  if (emu_type_kind(t) == 'b' || (which >= 6 && which <= 9)) {
    t = emu_type_unsigned(t);
  }
  t = t == T_f16x2 ? T_f16 : t == T_bf16x2 ? T_bf16 : t;
  (void)p;
  return which < 0 || t >= T_COUNT ? NULL : emu_lanes()[comparison_ops[which]][t];
}

static int take_bool(emu_parser *p) {
  static const char *const names[] = {"and", "or", "xor", NULL};
  return emu_mod_choice(p, names) + 1;
}

static int compare(emu_parser *p, emu_kind kind, emu_type to) {
  int boolean = take_bool(p), which = emu_mod_choice(p, comparisons);
  bool ftz = emu_mod(p, "ftz");
  emu_type t = emu_mod_type(p);
  emu_lane_fn fn = comparison_of(p, which, t);
  int b = emu_type_bytes(t);
  bool narrow = kind == KIND_set && emu_type_bytes(to) != 2 && emu_type_bytes(to) != 4;
  if (!fn || narrow || (kind == KIND_setp && emu_type_kind(t) == 'v')) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, boolean ? 4 : 3, boolean ? 4 : 3));
  emu_insn *in = emu_begin(p, kind, t == T_f64 ? EMU_PIPE_fp64 : EMU_PIPE_alu);
  if (!in || !emu_build_more(p, in, 0)) {
    return ERR_NOMEM;
  }
  in->fn = fn;
  in->weight = b == 8 && t != T_f64 ? 2 : 1;
  in->flags |= ftz && t == T_f32 ? INSN_FTZ : 0;
  in->type = (uint8_t)to;
  in->more->from = t;
  in->more->mode[0] = boolean;
  TRY(emu_use(p, 2, 1, b, t));
  TRY(emu_use(p, 3, 2, b, t));
  return boolean ? emu_use(p, 4, 3, 0, T_pred) : 0;
}

/* slots: 0 p, 1 q, 2 and 3 the operands, 4 the predicate to combine with */
static int decode_setp(emu_parser *p, int op, int arg) {
  const emu_operand *o = &p->statement.operands[0];
  (void)op, (void)arg;
  TRY(compare(p, KIND_setp, T_pred));
  if (o->second != EMU_NONE) {
    if (p->reg_bytes[o->second]) {
      return emu_unsupported(p, "the second result must be a predicate");
    }
    TRY(emu_build_ref(p, 1, o->second, true));
  }
  return emu_def(p, 0, 0, 0);
}

static int decode_set(emu_parser *p, int op, int arg) {
  (void)op, (void)arg;
  /* the result's type precedes that of the operands */
  bool ftz = emu_mod(p, "ftz");
  emu_type to = emu_mod_type(p);
  TRY(compare(p, KIND_set, to));
  emu_insn *in = &p->f->code[p->f->n - 1];
  in->dbytes = (uint8_t)emu_type_bytes(to);
  in->flags |= ftz && in->more->from == T_f32 ? INSN_FTZ : 0;
  return emu_def(p, 0, 0, in->dbytes);
}

/* Where only bits are moved, float literals take the width of the type. */
static void narrow_literals(emu_parser *p, emu_type t) {
  for (int i = 1; i < p->statement.n; i++) {
    emu_operand *o = &p->statement.operands[i];
    if (t == T_f32 && o->kind == OPERAND_F64) {
      o->value = emu_f32_bits((float)emu_f64(o->value));
    } else if (t == T_f64 && o->kind == OPERAND_F32) {
      o->value = emu_f64_bits((double)emu_f32((uint32_t)o->value));
    } else {
      continue;
    }
    o->kind = OPERAND_INT;
  }
}

static int decode_selp(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  shape s = {b, {b, b, 0, -2}};
  emu_type of = b == 2 ? T_u16 : b == 4 ? T_u32 : b == 8 ? T_u64 : T_none;
  (void)arg;
  narrow_literals(p, t);
  return finish(p, (emu_op)op, of, s, plain_options);
}

static int decode_slct(emu_parser *p, int op, int arg) {
  bool ftz = emu_mod(p, "ftz");
  emu_type t = emu_mod_type(p), by = emu_mod_type(p);
  int b = emu_type_bytes(t);
  shape s = {b, {b, b, 4, -2}};
  (void)op, (void)arg, (void)ftz;
  return finish(p, by == T_f32 ? OP_slctf : OP_slcts,
                b == 2   ? T_u16
                : b == 4 ? T_u32
                : b == 8 ? T_u64
                         : T_none,
                s, plain_options);
}

static int decode_testp(emu_parser *p, int op, int arg) {
  static const char *const names[] = {"finite", "infinite",  "number", "notanumber",
                                      "normal", "subnormal", NULL};
  int which = emu_mod_choice(p, names);
  emu_type t = emu_mod_type(p);
  emu_lane_fn fn = which < 0 || t >= T_COUNT ? NULL : emu_lanes()[op + which][t];
  (void)arg;
  TRY(emu_arity(p, 2, 2));
  emu_insn *in = fn ? emu_begin(p, KIND_setp, EMU_PIPE_alu) : NULL;
  if (!in || !emu_build_more(p, in, 0)) {
    return fn ? ERR_NOMEM : emu_unsupported(p, "");
  }
  in->fn = fn;
  in->more->from = t;
  TRY(emu_use(p, 2, 1, emu_type_bytes(t), t));
  return emu_def(p, 0, 0, 0);
}

/* ---- moves ---- */

/* mov between one register and several; slot 0 is the one */
static int move_list(emu_parser *p, emu_type t, bool pack) {
  const emu_operand *one = &p->statement.operands[pack ? 0 : 1];
  const emu_operand *list = &p->statement.operands[pack ? 1 : 0];
  int total = emu_type_bytes(t);
  if (list->count < 1 || list->count > 8 || total % list->count) {
    return emu_unsupported(p, "");
  }
  int b = total / list->count;
  emu_insn *in = emu_begin(p, pack ? KIND_pack : KIND_unpack, EMU_PIPE_none);
  if (!in || !emu_build_more(p, in, list->count)) {
    return ERR_NOMEM;
  }
  in->more->mode[0] = b;
  in->dbytes = (uint8_t)(pack ? total : b);
  in->more->mode[1] = total;
  for (int i = 0; i < list->count; i++) {
    const emu_operand *o = emu_list(p, list, i);
    in->more->bytes[i] = (uint8_t)(emu_reg_bytes(p, o) > 0 ? emu_reg_bytes(p, o) : b);
    if (pack && in->more->bytes[i] < b) {
      return emu_unsupported(p, "a register is too narrow");
    }
    if (pack) {
      TRY(emu_use_operand(p, 5 + i, o, in->more->bytes[i], T_b64));
    } else if (o->kind != OPERAND_SINK) {
      TRY(emu_def_operand(p, 5 + i, o, -1));
    }
  }
  return pack ? emu_def_operand(p, 0, one, total) : emu_use_operand(p, 0, one, total, t);
}

static int decode_mov(emu_parser *p, int op, int arg) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  (void)arg;
  TRY(emu_arity(p, 2, 2));
  emu_operand *o = p->statement.operands;
  if (o[0].kind == OPERAND_LIST || o[1].kind == OPERAND_LIST) {
    return move_list(p, t, o[1].kind == OPERAND_LIST);
  }
  if (t == T_pred) {
    emu_insn *in = emu_begin(p, KIND_pmov, EMU_PIPE_alu);
    if (!in) {
      return ERR_NOMEM;
    }
    TRY(emu_use(p, 1, 1, 0, T_pred));
    return emu_def(p, 0, 0, 0);
  }
  /* a 32-bit special register such as %clock in a 64-bit move, or the reverse */
  int have = emu_reg_bytes(p, &o[1]);
  if (have > 0 && have != b && (have == 4 || have == 8) && (b == 4 || b == 8 || b == 2)) {
    emu_insn *in = emu_begin(p, KIND_cvt, EMU_PIPE_none);
    if (!in || !emu_build_more(p, in, 0)) {
      return ERR_NOMEM;
    }
    in->type = b == 8 ? T_u64 : b == 4 ? T_u32 : T_u16;
    in->dbytes = (uint8_t)b;
    in->more->from = have == 8 ? T_u64 : T_u32;
    in->more->mode[4] = have;
    TRY(emu_use(p, 1, 1, have, t));
    return emu_def(p, 0, 0, b);
  }
  narrow_literals(p, t);
  emu_type of = b == 2 ? T_u16 : b == 4 ? T_u32 : b == 8 ? T_u64 : T_none;
  return finish(p, (emu_op)op, of, alike(t, 1), plain_options);
}

/* ---- conversions ---- */

static int decode_cvt(emu_parser *p, int op, int arg) {
  static const char *const integers[] = {"rni", "rzi", "rmi", "rpi", NULL};
  int to_integer = emu_mod_choice(p, integers);
  emu_round round = emu_mod_round(p);
  bool ftz = emu_mod(p, "ftz"), relu = emu_mod(p, "relu");
  bool finite = emu_mod(p, "satfinite"), sat = emu_mod(p, "sat");
  emu_type to = emu_mod_type(p), from = emu_mod_type(p);
  bool packs = emu_type_kind(to) == 'v' && from == T_f32;
  (void)op, (void)arg;
  if (from == T_none || !emu_cvt_can(to, from)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, packs ? 3 : 2, packs ? 3 : 2));
  emu_insn *in = emu_begin(p, KIND_cvt, EMU_PIPE_cvt);
  if (!in || !emu_build_more(p, in, 0)) {
    return ERR_NOMEM;
  }
  int width = emu_reg_bytes(p, &p->statement.operands[1]);
  int modes[] = {to_integer >= 0 ? to_integer : (int)round,
                 to_integer >= 0,
                 finite || sat,
                 relu,
                 width > 0 ? width : emu_type_bytes(from),
                 packs};
  memcpy(in->more->mode, modes, sizeof modes);
  in->flags |= (uint8_t)((ftz ? INSN_FTZ : 0) | (sat ? INSN_SAT : 0));
  in->type = (uint8_t)to;
  in->more->from = from;
  for (int i = 1; i < p->statement.n; i++) {
    TRY(emu_use(p, i, i, modes[4], from));
  }
  TRY(emu_def(p, 0, 0, -1));
  in->dbytes = p->reg_bytes[p->statement.operands[0].reg];
  if (in->dbytes < emu_type_bytes(to) || in->dbytes > 8 || modes[4] > 8 ||
      modes[4] < emu_type_bytes(from)) {
    return emu_unsupported(p, "a register of the wrong width");
  }
  in->pipe = (uint8_t)emu_cvt_pipe(to, from);
  in->fn = emu_cvt_fast(in);
  in->kind = in->fn ? KIND_alu : KIND_cvt;
  return 0;
}

const emu_decode_row emu_decode_alu_rows[] = {{"add", decode_add, OP_add, 0},
                                              {"sub", decode_add, OP_sub, 0},
                                              {"addc", decode_add, OP_add, 1},
                                              {"subc", decode_add, OP_sub, 1},
                                              {"mul", decode_mul, OP_mul, 0},
                                              {"mad", decode_mul, OP_mad, 0},
                                              {"madc", decode_mul, OP_mad, 1},
                                              {"mul24", decode_mul24, OP_mul24, 2},
                                              {"mad24", decode_mul24, OP_mad24, 3},
                                              {"fma", decode_fma, OP_fma, 0},
                                              {"sad", decode_plain, OP_sad, 3},
                                              {"div", decode_div, OP_div, 0},
                                              {"rem", decode_plain, OP_rem, 2},
                                              {"abs", decode_plain, OP_abs, 1},
                                              {"neg", decode_plain, OP_neg, 17},
                                              {"min", decode_min, OP_min, 0},
                                              {"max", decode_min, OP_max, 0},
                                              {"and", decode_logic, OP_and, 2},
                                              {"or", decode_logic, OP_or, 2},
                                              {"xor", decode_logic, OP_xor, 2},
                                              {"not", decode_logic, OP_not, 1},
                                              {"cnot", decode_plain, OP_cnot, 17},
                                              {"shl", decode_shift, OP_shl, 0},
                                              {"shr", decode_shift, OP_shr, 0},
                                              {"shf", decode_shf, 0, 0},
                                              {"lop3", decode_lop3, OP_lop3, 0},
                                              {"bfe", decode_bfe, OP_bfe, 0},
                                              {"bfi", decode_bfi, OP_bfi, 0},
                                              {"bfind", decode_count, OP_bfind, 1},
                                              {"popc", decode_count, OP_popc, 0},
                                              {"clz", decode_count, OP_clz, 0},
                                              {"brev", decode_plain, OP_brev, 17},
                                              {"fns", decode_plain, OP_fns, 19},
                                              {"szext", decode_wrapclamp, OP_szextwrap, 0},
                                              {"bmsk", decode_wrapclamp, OP_bmskwrap, 0},
                                              {"prmt", decode_prmt, OP_prmt, 0},
                                              {"dp4a", decode_dot, OP_dp4auu, 0},
                                              {"dp2a", decode_dot, OP_dp2aluu, 0},
                                              {"rcp", decode_special, OP_rcp, 0},
                                              {"sqrt", decode_special, OP_sqrt, 0},
                                              {"rsqrt", decode_special, OP_rsqrt, 0},
                                              {"sin", decode_special, OP_sin, 0},
                                              {"cos", decode_special, OP_cos, 0},
                                              {"ex2", decode_special, OP_ex2, 0},
                                              {"lg2", decode_special, OP_lg2, 0},
                                              {"tanh", decode_special, OP_tanh, 0},
                                              {"copysign", decode_plain, OP_copysign, 2},
                                              {"testp", decode_testp, OP_finite, 0},
                                              {"setp", decode_setp, 0, 0},
                                              {"set", decode_set, 0, 0},
                                              {"selp", decode_selp, OP_selp, 0},
                                              {"slct", decode_slct, 0, 0},
                                              {"mov", decode_mov, OP_mov, 0},
                                              {"cvt", decode_cvt, 0, 0},
                                              {NULL, NULL, 0, 0}};
