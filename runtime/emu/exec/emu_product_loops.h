/* emu_product_loops.h -- the body of emu_product_base.c and emu_product_avx2.c, which define
 * EMU_PRODUCT, the name of the table. */
#include <math.h>

#include "emu_float.h"
#include "emu_product.h"

enum { TILE = 4 };
typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t four_bits __attribute__((vector_size(32), aligned(8)));

/* A double truncated to f32, as in tensor cores. */
static double cut(double v) {
  float f = (float)v;
  if (isfinite(v) && fabs((double)f) > fabs(v)) {
    f = emu_f32(emu_f32_bits(f) - 1);
  }
  return f;
}

/* Between 2^-126 and 2^128, truncation clears the low bits; other values take the slow way. */
static inline void cut_all(four *v) {
  const four_bits bits = (four_bits)*v, body = bits & INT64_MAX;
  const four_bits odd =
      (body != 0) & ((body < INT64_C(0x3810000000000000)) | (body >= INT64_C(0x47f0000000000000)));
  if (odd[0] | odd[1] | odd[2] | odd[3]) {
    for (int e = 0; e < TILE; e++) {
      (*v)[e] = cut((*v)[e]);
    }
  } else {
    *v = (four)(bits & ~INT64_C(0x1fffffff));
  }
}

#define LOAD(v) (*(const four *)(const void *)(v))

/* a tile of c: two rows, two times TILE columns */
typedef struct tile {
  four low, high, low2, high2;
} tile;

/* products `from` to `to` */
static inline void add_products(tile *t, const double *a, const double *a2, const double *b,
                                int columns, int from, int to) {
  four low = t->low, high = t->high, low2 = t->low2, high2 = t->high2;
  for (int p = from; p < to; p++) {
    const four with = LOAD(b + p * columns), with_high = LOAD(b + p * columns + TILE);
    low += a[p] * with;
    high += a[p] * with_high;
    low2 += a2[p] * with;
    high2 += a2[p] * with_high;
  }
  *t = (tile){low, high, low2, high2};
}

/* columns j to j + 2 * TILE of c's rows i and i + 1 */
static void sum_tile(const emu_product *x, int i, int j, int k, int group, bool cuts) {
  const double *a = x->a + i * x->depth, *b = x->b + j;
  double *c = x->c + i * x->columns + j, *c2 = c + x->columns;
  tile t = {LOAD(c), LOAD(c + TILE), LOAD(c2), LOAD(c2 + TILE)};
  for (int p = 0; p < k; p += group) {
    const bool whole = k - p >= group;
    add_products(&t, a, a + x->depth, b, x->columns, p, whole ? p + group : k);
    if (cuts && whole) {
      cut_all(&t.low);
      cut_all(&t.high);
      cut_all(&t.low2);
      cut_all(&t.high2);
    }
  }
  memcpy(c, &t.low, sizeof t.low);
  memcpy(c + TILE, &t.high, sizeof t.high);
  memcpy(c2, &t.low2, sizeof t.low2);
  memcpy(c2 + TILE, &t.high2, sizeof t.high2);
}

static void fuse_row(const emu_product *x, int i, int n, int k) {
  double *restrict c = x->c + i * x->columns;
  for (int p = 0; p < k; p++) {
    for (int j = 0; j < n; j++) {
      c[j] = fma(x->a[i * x->depth + p], x->b[p * x->columns + j], c[j]);
    }
  }
}

/* m is even, n a multiple of 8 */
static void multiply(const emu_product *x, int m, int n, int k, int group, emu_product_how how) {
  for (int i = 0; i < m && how == PRODUCT_fused; i++) {
    fuse_row(x, i, n, k);
  }
  for (int j = 0; j < n && how != PRODUCT_fused; j += 2 * TILE) {
    for (int i = 0; i < m; i += 2) {
      sum_tile(x, i, j, k, group, how == PRODUCT_cut);
    }
  }
}

#define DECODE(T, expr)                                                                            \
  do {                                                                                             \
    const T *v = from;                                                                             \
    for (int i = 0; i < n; i++) {                                                                  \
      to[i] = (double)(expr);                                                                      \
    }                                                                                              \
    return true;                                                                                   \
  } while (0)

static bool decode(emu_type t, const void *from, int n, double *to) {
  switch (t) {
  case T_f16: DECODE(uint16_t, emu_f16_value(v[i]));
  case T_bf16: DECODE(uint16_t, emu_bf16_value(v[i]));
  case T_tf32: DECODE(uint32_t, emu_f32(v[i] & 0xffffe000));
  case T_f32: DECODE(uint32_t, emu_f32(v[i]));
  case T_f64: DECODE(uint64_t, emu_f64(v[i]));
  case T_s8: DECODE(int8_t, v[i]);
  case T_u8: DECODE(uint8_t, v[i]);
  case T_s32: DECODE(int32_t, v[i]);
  default: return false;
  }
}

static bool encode(emu_type t, const double *from, int n, void *to) {
  uint16_t *h = to;
  uint32_t *w = to;
  switch (t) {
  case T_f16:
    for (int i = 0; i < n; i++) {
      h[i] = emu_f16_nearest(emu_odd(from[i]));
    }
    return true;
  case T_f32:
    for (int i = 0; i < n; i++) {
      w[i] = from[i] == from[i] ? emu_f32_bits((float)from[i]) : 0x7fffffff;
    }
    return true;
  case T_f64:
    for (int i = 0; i < n; i++) {
      ((uint64_t *)to)[i] = emu_f64_bits(from[i]);
    }
    return true;
  default: return false;
  }
}

const emu_product_loops EMU_PRODUCT = {multiply, decode, encode};
