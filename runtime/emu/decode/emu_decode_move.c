/* emu_decode_move.c -- decoders of comparison, selection, moves and conversions.
 * src: PTX ISA 9.0, 9.7.6 to 9.7.9. */
#include <string.h>

#include "emu_cvt.h"
#include "emu_decoders.h"
#include "emu_emit.h"

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
  const bool pair = emu_type_kind(t) == 'v', one = p->statement.operands[0].second == EMU_NONE;
  if (!fn || narrow || (kind == KIND_setp && pair && one)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, boolean ? 4 : 3, boolean ? 4 : 3));
  emu_insn *in;
  TRY(emu_begin_more(p, kind, t == T_f64 ? EMU_PIPE_fp64 : EMU_PIPE_alu, 0, &in));
  in->fn = fn;
  in->weight = b == 8 && t != T_f64 ? 2 : 1;
  in->flags |= ftz && emu_flushes(t) ? INSN_FTZ : 0;
  in->type = (uint8_t)to;
  in->more->from = t;
  in->more->mode[0] = boolean;
  TRY(emu_use(p, 2, 1, b, t));
  TRY(emu_use(p, 3, 2, b, t));
  return boolean ? emu_use(p, 4, 3, 0, T_pred) : 0;
}

/* slots: 0 p, 1 q, 2 and 3 the operands, 4 the predicate to combine with */
static int decode_setp(emu_parser *p) {
  const emu_operand *o = &p->statement.operands[0];
  TRY(compare(p, KIND_setp, T_pred));
  if (o->second != EMU_NONE) {
    if (p->reg_bytes[o->second]) {
      return emu_unsupported(p, "the second result must be a predicate");
    }
    TRY(emu_build_ref(p, 1, o->second, true));
  }
  return emu_def(p, 0, 0, 0);
}

static int decode_set(emu_parser *p) {
  /* the result's type precedes that of the operands */
  bool ftz = emu_mod(p, "ftz");
  emu_type to = emu_mod_type(p);
  TRY(compare(p, KIND_set, to));
  emu_insn *in = &p->f->code[p->f->n - 1];
  in->dbytes = (uint8_t)emu_type_bytes(to);
  in->flags |= ftz && emu_flushes(in->more->from) ? INSN_FTZ : 0;
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

/* The type of values that are only moved. */
static emu_type bits_type(int bytes) {
  return bytes == 2 ? T_u16 : bytes == 4 ? T_u32 : bytes == 8 ? T_u64 : T_none;
}

static int decode_selp(emu_parser *p) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  emu_shape s = {b, {b, b, 0, -2}};
  narrow_literals(p, t);
  return emu_emit(p, (emu_op)p->op, bits_type(b), s, emu_plain);
}

static int decode_slct(emu_parser *p) {
  bool ftz = emu_mod(p, "ftz");
  emu_type t = emu_mod_type(p), by = emu_mod_type(p);
  int b = emu_type_bytes(t);
  emu_shape s = {b, {b, b, 4, -2}};
  (void)ftz;
  return emu_emit(p, by == T_f32 ? OP_slctf : OP_slcts, bits_type(b), s, emu_plain);
}

static int decode_testp(emu_parser *p) {
  static const char *const names[] = {"finite", "infinite",  "number", "notanumber",
                                      "normal", "subnormal", NULL};
  int which = emu_mod_choice(p, names);
  emu_type t = emu_mod_type(p);
  emu_lane_fn fn = which < 0 || t >= T_COUNT ? NULL : emu_lanes()[p->op + which][t];
  TRY(emu_arity(p, 2, 2));
  if (!fn) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_setp, EMU_PIPE_alu, 0, &in));
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
  emu_insn *in;
  TRY(emu_begin_more(p, pack ? KIND_pack : KIND_unpack, EMU_PIPE_none, list->count, &in));
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
      TRY(emu_def_operand(p, 5 + i, o, in->more->bytes[i]));
    }
  }
  return pack ? emu_def_operand(p, 0, one, total) : emu_use_operand(p, 0, one, total, t);
}

static int decode_mov(emu_parser *p) {
  emu_type t = emu_mod_type(p);
  int b = emu_type_bytes(t);
  TRY(emu_arity(p, 2, 2));
  emu_operand *o = p->statement.operands;
  if (o[0].kind == OPERAND_LIST || o[1].kind == OPERAND_LIST) {
    return move_list(p, t, o[1].kind == OPERAND_LIST);
  }
  if (t == T_pred) {
    TRY(emu_begin(p, KIND_pmov, EMU_PIPE_alu, NULL));
    TRY(emu_use(p, 1, 1, 0, T_pred));
    return emu_def(p, 0, 0, 0);
  }
  /* a 32-bit special register such as %clock in a 64-bit move, or the reverse */
  int have = emu_reg_bytes(p, &o[1]);
  if (have > 0 && have != b && (have == 4 || have == 8) && (b == 4 || b == 8 || b == 2)) {
    emu_insn *in;
    TRY(emu_begin_more(p, KIND_cvt, EMU_PIPE_none, 0, &in));
    in->type = (uint8_t)bits_type(b);
    in->dbytes = (uint8_t)b;
    in->more->from = have == 8 ? T_u64 : T_u32;
    in->more->mode[4] = have;
    TRY(emu_use(p, 1, 1, have, t));
    return emu_def(p, 0, 0, b);
  }
  narrow_literals(p, t);
  return emu_emit(p, (emu_op)p->op, bits_type(b), emu_same_width(t, 1), emu_plain);
}

/* ---- conversions ---- */

/* cvt.pack.sat.u16.s32 d, a, b; with 8 bits and less cvt.pack.sat.u8.s32.b32 d, a, b, c */
static int decode_cvt_pack(emu_parser *p) {
  static const char *const names[] = {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2", NULL};
  const int which = emu_mod_choice(p, names);
  const bool sat = emu_mod(p, "sat");
  const emu_type from = emu_mod_type(p), c = emu_mod_type(p);
  if (which < 0 || !sat || from != T_s32 || c != (which > 1 ? T_b32 : T_none)) {
    return emu_unsupported(p, "");
  }
  return emu_emit(p, (emu_op)(OP_packu16 + which), T_s32, emu_same_width(T_s32, which > 1 ? 3 : 2),
                  emu_plain);
}

static int decode_cvt(emu_parser *p) {
  if (emu_mod(p, "pack")) {
    return decode_cvt_pack(p);
  }
  static const char *const integers[] = {"rni", "rzi", "rmi", "rpi", NULL};
  int to_integer = emu_mod_choice(p, integers);
  emu_round round = emu_mod_round(p);
  bool ftz = emu_mod(p, "ftz"), relu = emu_mod(p, "relu");
  bool finite = emu_mod(p, "satfinite"), sat = emu_mod(p, "sat");
  emu_type to = emu_mod_type(p), from = emu_mod_type(p);
  bool packs = emu_type_kind(to) == 'v' && from == T_f32;
  if (from == T_none || !emu_cvt_can(to, from)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, packs ? 3 : 2, packs ? 3 : 2));
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_cvt, EMU_PIPE_cvt, 0, &in));
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
  const emu_operand *d = &p->statement.operands[0];
  int dbytes = d->kind == OPERAND_SINK ? emu_type_bytes(to) : emu_reg_bytes(p, d);
  dbytes = dbytes == 1 ? 2 : dbytes;
  TRY(emu_def(p, 0, 0, dbytes));
  in->dbytes = (uint8_t)dbytes;
  if (in->dbytes < emu_type_bytes(to) || in->dbytes > 8 || modes[4] > 8 ||
      modes[4] < emu_type_bytes(from)) {
    return emu_unsupported(p, "a register of the wrong width");
  }
  in->pipe = (uint8_t)emu_cvt_pipe(to, from);
  in->fn = emu_cvt_fast(in);
  in->kind = in->fn ? KIND_alu : KIND_cvt;
  return 0;
}

const emu_decode_row emu_decode_move_rows[] = {
    {"testp", decode_testp, OP_finite},
    {"setp", decode_setp},
    {"set", decode_set},
    {"selp", decode_selp, OP_selp},
    {"slct", decode_slct},
    {"mov", decode_mov, OP_mov},
    {"cvt", decode_cvt},
    {NULL},
};
