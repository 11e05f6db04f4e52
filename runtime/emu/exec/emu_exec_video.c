/* emu_exec_video.c -- video instructions. src: PTX ISA 9.0, 9.7, "Video Instructions".
 *
 * GPUs since Maxwell have no scalar video instructions; ptxas writes them as others. Where its code
 * departs from the manual (CUDA 13.0, read in the machine code and confirmed on an H200), the emulated
 * device follows the code: see saturate, second and mad. */
#include "emu_exec.h"
#include "emu_fragment.h"
#include "emu_modes.h"

typedef __int128 wide; /* vshl needs 65 bits */

static int64_t part_of(uint64_t v, int offset, int width, bool is_signed) {
  const uint64_t bits = v >> offset << (64 - width);
  return is_signed ? (int64_t)bits >> (64 - width) : (int64_t)(bits >> (64 - width));
}

static wide clamp(wide v, int width, bool is_signed) {
  const wide most = ((wide)1 << (width - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
  return v < least ? least : v > most ? most : v;
}

static bool compare(int how, int64_t a, int64_t b) {
  switch (how) {
  case CMP_eq: return a == b;
  case CMP_ne: return a != b;
  case CMP_lt: return a < b;
  case CMP_le: return a <= b;
  case CMP_gt: return a > b;
  default: return a >= b;
  }
}

static int shift_of(int64_t b, bool wraps) {
  return (int)(wraps ? b & 31 : b > 32 ? 32 : b);
}

static wide compute(const int *mode, int64_t a, int64_t b) {
  const int shift = shift_of(b, mode[2] & VIDEO_wrap);
  switch (mode[0]) {
  case VIDEO_add: return a + b;
  case VIDEO_sub: return a - b;
  case VIDEO_avrg: return (a + b + (a + b >= 0)) >> 1;
  case VIDEO_absdiff: return a < b ? b - a : a - b;
  case VIDEO_min: return a < b ? a : b;
  case VIDEO_max: return a > b ? a : b;
  case VIDEO_shl: return (wide)a * ((wide)1 << shift);
  case VIDEO_shr: return a >> shift;
  default: return compare(mode[5] >> 8, a, b);
  }
}

/* The factors and c are signed where they are whole registers, whatever their types say. */
static uint32_t mad(const int *mode, int64_t a, int64_t b, uint32_t c) {
  const int flags = mode[2], shift = mode[5] == 2 ? 15 : mode[5] == 1 ? 7 : 0;
  const bool is_signed =
      flags & (VIDEO_signed_a | VIDEO_signed_b | VIDEO_minus_product | VIDEO_minus_c);
  const int64_t addend = (int32_t)c;
  wide v = (wide)a * b;
  v = flags & VIDEO_minus_product ? -v : v;
  v += flags & VIDEO_minus_c ? -addend : addend;
  v += flags & VIDEO_plus_one ? 1 : 0;
  v = !is_signed && shift ? (wide)((uint64_t)v >> shift) : v >> shift;
  return (uint32_t)(flags & VIDEO_sat ? clamp(v, 32, is_signed) : v);
}

static bool shifts(const int *mode) {
  return mode[0] == VIDEO_shl || mode[0] == VIDEO_shr;
}

/* The result of a shift is cut to 34 bits with sign and saturates to 32 bits, also for a part of d. Other
 * results saturate at the least only if d is a whole register, and there not at the most if it is
 * unsigned; a part takes its most for a negative result, too. */
static wide saturate(const int *mode, wide v, int width, bool is_signed) {
  const wide most = ((wide)1 << (width - is_signed)) - 1;
  if (shifts(mode)) {
    return clamp((wide)((int64_t)((uint64_t)v << 30) >> 30), 32, is_signed);
  }
  if (width < 32) {
    return v < 0 || v > most ? most : v;
  }
  return is_signed ? clamp(v, 32, true) : v < 0 ? 0 : (wide)(uint32_t)v;
}

/* `exact` saturated to v, with c. Minima and maxima compare 64 bits: sums and shifts are extended by their
 * bit 31, unsigned results of others only saturate at 0. */
static uint32_t second(const int *mode, wide exact, wide v, uint32_t c) {
  const int sign = mode[0] == VIDEO_set ? VIDEO_signed_a : VIDEO_signed_d;
  const bool is_signed = mode[2] & sign, sat = mode[2] & VIDEO_sat;
  const bool sums = mode[0] == VIDEO_add || mode[0] == VIDEO_sub;
  const int64_t with = is_signed ? (int64_t)(int32_t)c : (int64_t)c;
  const int64_t w = sums || (sat && shifts(mode)) ? (int32_t)v
                    : sat && !is_signed           ? (int64_t)(exact < 0 ? 0 : exact)
                                                  : (int64_t)v;
  const bool less = is_signed ? w < with : (uint64_t)w < (uint64_t)with;
  switch (mode[5] & 0xff) {
  case SECOND_add: return (uint32_t)v + c;
  case SECOND_min: return less ? (uint32_t)v : c;
  default: return less ? c : (uint32_t)v;
  }
}

/* v in a part of c; the upper half takes the upper half of v */
static uint32_t insert(uint32_t v, int to, int width, uint32_t c) {
  const uint32_t mask = ((1u << width) - 1) << to;
  return (width == 16 ? v & mask : v << to & mask) | (c & ~mask);
}

static uint32_t scalar(const int *mode, uint32_t x, uint32_t y, uint32_t c) {
  const int flags = mode[2], to = mode[4] & 0xff, width = mode[4] >> 8;
  const int a_bits = mode[3] >> 8 & 0xff, b_bits = mode[3] >> 24;
  const bool is_mad = mode[0] == VIDEO_mad;
  const int64_t a =
      part_of(x, mode[3] & 0xff, a_bits, (flags & VIDEO_signed_a) || (is_mad && a_bits == 32));
  const int64_t b = part_of(y, mode[3] >> 16 & 0xff, b_bits,
                            (flags & VIDEO_signed_b) || (is_mad && b_bits == 32));
  if (is_mad) {
    return mad(mode, a, b, c);
  }
  const wide exact = compute(mode, a, b);
  const wide v = flags & VIDEO_sat ? saturate(mode, exact, width, flags & VIDEO_signed_d) : exact;
  if ((mode[5] & 0xff) != SECOND_none) {
    return second(mode, exact, v, c);
  }
  return width == 32 ? (uint32_t)v : insert((uint32_t)v, to, width, c);
}

static uint32_t vector(const int *mode, uint32_t x, uint32_t y, uint32_t c) {
  const int flags = mode[2], n = mode[1], width = 32 / n;
  const uint64_t both = (uint64_t)y << 32 | x;
  const bool adds = (mode[5] & 0xff) == SECOND_add;
  uint32_t d = c;
  for (int i = 0; i < n; i++) {
    const int64_t a =
        part_of(both, (mode[3] >> (4 * i) & 7) * width, width, flags & VIDEO_signed_a);
    const int64_t b =
        part_of(both, (mode[3] >> (4 * i + 16) & 7) * width, width, flags & VIDEO_signed_b);
    const uint32_t field = ((1u << width) - 1) << (width * i);
    wide v = compute(mode, a, b);
    v = flags & VIDEO_sat ? clamp(v, width, flags & VIDEO_signed_d) : v;
    if (mode[4] >> i & 1) {
      d = adds ? d + (uint32_t)v : (d & ~field) | ((uint32_t)v << (width * i) & field);
    }
  }
  return d;
}

int exec_video(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const int *mode = in->more->mode;
  const uint32_t *a = emu_src(w, in->o[1]), *b = emu_src(w, in->o[2]);
  const uint32_t *c = in->o[3] == EMU_NONE ? a : emu_src(w, in->o[3]);
  uint32_t d[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    d[i] = mode[1] == 1 ? scalar(mode, a[i], b[i], c[i]) : vector(mode, a[i], b[i], c[i]);
  }
  emu_store(emu_reg(w, in->o[0]), d, 4, mask);
  return RUN_ON;
}
