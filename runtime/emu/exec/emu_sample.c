/* emu_sample.c -- see emu_sample.h.
 *
 * The fraction of a filtered coordinate has 8 bits, rounded to nearest, so that it may round up to
 * the next texel: the guide's example is x = 2.49805, of which tex2Dgather takes texels 2 and 3. */
#include "emu_sample.h"

#include <math.h>
#include <string.h>

#include "emu_isa.h"

/* Wrapping and mirroring need normalised coordinates; other reads clamp instead. */
static emu_edge edge_of(const emu_object *o, int k, bool is_float) {
  const emu_edge edge = o->edge[k];
  const bool clamps = edge == EDGE_border || (is_float && o->normalized_coords);
  return clamps ? edge : EDGE_clamp;
}

static int64_t modulo(int64_t i, int64_t n) {
  return (i % n + n) % n;
}

static int64_t inside(emu_edge edge, int64_t i, int64_t n) {
  if (i >= 0 && i < n) {
    return i;
  }
  switch (edge) {
  case EDGE_wrap: return modulo(i, n);
  case EDGE_mirror: i = modulo(i, 2 * n); return i < n ? i : 2 * n - 1 - i;
  case EDGE_border: return -1;
  default: return i < 0 ? 0 : n - 1;
  }
}

emu_tap emu_sample_index(const emu_object *o, int k, int32_t x) {
  const bool plain = !o->texels.array && o->texels.rank == 1; /* zeros outside, whatever is set */
  const emu_edge edge = plain ? EDGE_border : edge_of(o, k, false);
  return (emu_tap){{inside(edge, x, (int64_t)o->texels.dims[k]), 0}, 0};
}

/* in texels; NaN reads as 0 */
static double in_texels(const emu_object *o, int k, float x) {
  const double far = 0x1p40, n = (double)o->texels.dims[k];
  const double u = o->normalized_coords ? (double)x * n : (double)x;
  return u >= far ? far : u <= -far ? -far : u == u ? u : 0;
}

emu_tap emu_sample_point(const emu_object *o, int k, float x) {
  const int64_t i = (int64_t)floor(in_texels(o, k, x));
  return (emu_tap){{inside(edge_of(o, k, true), i, (int64_t)o->texels.dims[k]), 0}, 0};
}

emu_tap emu_sample_pair(const emu_object *o, int k, float x) {
  const emu_edge edge = edge_of(o, k, true);
  const int64_t n = (int64_t)o->texels.dims[k];
  const int64_t fixed = (int64_t)floor((in_texels(o, k, x) - 0.5) * 256 + 0.5);
  const int64_t i = (fixed - modulo(fixed, 256)) / 256;
  return (emu_tap){{inside(edge, i, n), inside(edge, i + 1, n)}, (int)modulo(fixed, 256)};
}

static uint32_t as_float(double v) {
  return emu_f32_bits((float)v);
}

uint32_t emu_texel_bits(const emu_object *o, const uint8_t *texel, int c) {
  const dtype t = o->texels.type;
  const int n = (int)dtype_nbytes(t);
  uint32_t bits = 0;
  if (c >= o->texels.channels) { /* the fourth channel, too, as on an H200 */
    return 0;
  }
  memcpy(&bits, texel + c * n, (size_t)n);
  const int32_t value = t == DTYPE_i8    ? (int8_t)bits
                        : t == DTYPE_i16 ? (int16_t)bits
                                         : (int32_t)bits;
  if (t == DTYPE_f16) {
    return as_float((double)emu_f16_value((uint16_t)bits));
  }
  if (!o->normalized || n == 4) {
    return (uint32_t)value;
  }
  const double most =
      dtype_is_signed(t) ? (double)((1 << (8 * n - 1)) - 1) : (double)((1 << 8 * n) - 1);
  return as_float(fmax((double)value / most, -1));
}
