/* emu_decode_video.c -- decoders of the video instructions: arithmetic on parts of 32-bit registers.
 *
 * Slots: 0 result, 1 to 3 operands. mode: operation; elements of a register (1: scalar); flags; where
 * the parts of a and b are, see place_of and digits_of; which part or elements of the result are
 * written; scalar: the secondary operation or the scale of vmad, else 1: add to c; vset: its
 * comparison in the bits from 8 up. src: PTX ISA 9.0, 9.7, "Video Instructions". */
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"

enum { PART_WHOLE = 32 << 8 };

/* offset | width << 8 of a part such as "b2" or "h1", in bits; 0: there is no such part */
static int place_of(const emu_operand *o) {
  if (!o->part) {
    return PART_WHOLE;
  }
  const int width = *o->p == 'b' ? 8 : 16, which = o->n == 2 ? o->p[1] - '0' : -1;
  const bool known = *o->p == 'b' || *o->p == 'h';
  return known && which >= 0 && which < 32 / width ? which * width | width << 8 : 0;
}

/* the `n` digits of a part such as "b3210" or "h32", the last in the low four bits; -1: a digit is
 * 2 n or more */
static int digits_of(const emu_operand *o, int n, int otherwise) {
  int digits = 0;
  if (!o->part) {
    return otherwise;
  }
  if (*o->p != (n == 4 ? 'b' : 'h') || o->n != (size_t)n + 1) {
    return -1;
  }
  for (int i = 1; i <= n; i++) {
    const int digit = o->p[i] - '0';
    if (digit < 0 || digit >= 2 * n) {
      return -1;
    }
    digits = digits << 4 | digit;
  }
  return digits;
}

/* the elements of the result that are written: bit i for digit i; 0: the digits are not in descending order */
static int mask_of(const emu_operand *o, int n) {
  int mask = 0, before = n;
  if (!o->part) {
    return (1 << n) - 1;
  }
  for (size_t i = 1; i < o->n && *o->p == (n == 4 ? 'b' : 'h'); i++) {
    const int digit = o->p[i] - '0';
    if (digit < 0 || digit >= before) {
      return 0;
    }
    mask |= 1 << digit;
    before = digit;
  }
  return mask;
}

static bool take_types(emu_parser *p, bool set, int *flags) {
  const emu_type d = set ? T_u32 : emu_mod_type(p), a = emu_mod_type(p), b = emu_mod_type(p);
  *flags |= (d == T_s32 ? VIDEO_signed_d : 0) | (a == T_s32 ? VIDEO_signed_a : 0) |
            (b == T_s32 ? VIDEO_signed_b : 0);
  return (d == T_s32 || d == T_u32) && (a == T_s32 || a == T_u32) && (b == T_s32 || b == T_u32);
}

/* the operands' places; false: no such place */
static bool find_places(emu_parser *p, int n, int *mode) {
  const emu_operand *o = p->statement.operands;
  if (n == 1) {
    const int a = place_of(&o[1]), b = place_of(&o[2]);
    mode[3] = a | b << 16;
    mode[4] = place_of(&o[0]);
    return a && b && mode[4];
  }
  const int a = digits_of(&o[1], n, n == 4 ? 0x3210 : 0x10);
  const int b = digits_of(&o[2], n, n == 4 ? 0x7654 : 0x32);
  mode[3] = a | (int)((unsigned)b << 16);
  mode[4] = mask_of(&o[0], n);
  return a >= 0 && b >= 0 && mode[4];
}

/* vmad: signs, scale */
static bool take_mad(emu_parser *p, int *mode) {
  static const char *const scales[] = {"shr7", "shr15", NULL};
  const emu_operand *o = p->statement.operands;
  const bool product = o[1].minus != o[2].minus, one = emu_mod(p, "po");
  mode[2] |= (one ? VIDEO_plus_one : 0) | (product ? VIDEO_minus_product : 0) |
             (o[3].minus ? VIDEO_minus_c : 0);
  mode[5] = emu_mod_choice(p, scales) + 1;
  return !(product && o[3].minus) && !(one && (o[1].minus || o[2].minus || o[3].minus)) &&
         !o[0].part && !o[3].part;
}

static bool take_form(emu_parser *p, int *mode) {
  static const char *const seconds[] = {"add", "min", "max", NULL};
  static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
  const emu_operand *o = p->statement.operands;
  const int n = mode[1];
  const bool set = p->op == VIDEO_set, shift = p->op == VIDEO_shl || p->op == VIDEO_shr;
  const int cmp = set ? emu_mod_choice(p, comparisons) : 0;
  const bool sat = !set && emu_mod(p, "sat"), wrap = shift && emu_mod(p, "wrap");
  mode[2] = (sat ? VIDEO_sat : 0) | (wrap ? VIDEO_wrap : 0);
  if (cmp < 0 || (shift && !wrap && !emu_mod(p, "clamp")) || !take_types(p, set, &mode[2]) ||
      !find_places(p, n, mode)) {
    return false;
  }
  if (p->op == VIDEO_mad) {
    return take_mad(p, mode);
  }
  mode[5] = (emu_mod_choice(p, seconds) + 1) | cmp << 8;
  const int second = mode[5] & 0xff;
  const bool scalar = n == 1 && !(second && o[0].part), several = n > 1 && second <= SECOND_add;
  return (scalar || (several && !(second && sat))) && !(shift && mode[2] & VIDEO_signed_b) &&
         !o[1].minus && !o[2].minus;
}

/* the operand without its part and sign, which the modes hold */
static emu_operand bare(emu_operand o) {
  o.part = false;
  o.minus = false;
  return o;
}

static int decode_video(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  int mode[6] = {p->op, p->arg};
  const int n = p->statement.n;
  TRY(emu_arity(p, 3, 4));
  if (!take_form(p, mode)) {
    return emu_unsupported(p, "");
  }
  const bool merges = p->arg > 1 || p->op == VIDEO_mad || o[0].part || (mode[5] & 0xff);
  TRY(emu_arity(p, merges ? 4 : 3, merges ? 4 : 3));
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_video, EMU_PIPE_alu, 0, &in));
  memcpy(in->more->mode, mode, sizeof mode);
  in->dbytes = 4;
  in->weight = (uint8_t)(p->arg == 1 ? 4 : 8);
  for (int i = 1; i < n; i++) {
    const emu_operand one = bare(o[i]);
    TRY(emu_use_operand(p, i, &one, 4, T_u32));
  }
  const emu_operand to = bare(o[0]);
  return emu_def_operand(p, 0, &to, 4);
}

const emu_decode_row emu_decode_video_rows[] = {
    {"vadd", decode_video, VIDEO_add, 1},          {"vsub", decode_video, VIDEO_sub, 1},
    {"vabsdiff", decode_video, VIDEO_absdiff, 1},  {"vmin", decode_video, VIDEO_min, 1},
    {"vmax", decode_video, VIDEO_max, 1},          {"vshl", decode_video, VIDEO_shl, 1},
    {"vshr", decode_video, VIDEO_shr, 1},          {"vmad", decode_video, VIDEO_mad, 1},
    {"vset", decode_video, VIDEO_set, 1},          {"vadd2", decode_video, VIDEO_add, 2},
    {"vsub2", decode_video, VIDEO_sub, 2},         {"vavrg2", decode_video, VIDEO_avrg, 2},
    {"vabsdiff2", decode_video, VIDEO_absdiff, 2}, {"vmin2", decode_video, VIDEO_min, 2},
    {"vmax2", decode_video, VIDEO_max, 2},         {"vset2", decode_video, VIDEO_set, 2},
    {"vadd4", decode_video, VIDEO_add, 4},         {"vsub4", decode_video, VIDEO_sub, 4},
    {"vavrg4", decode_video, VIDEO_avrg, 4},       {"vabsdiff4", decode_video, VIDEO_absdiff, 4},
    {"vmin4", decode_video, VIDEO_min, 4},         {"vmax4", decode_video, VIDEO_max, 4},
    {"vset4", decode_video, VIDEO_set, 4},         {NULL},
};
