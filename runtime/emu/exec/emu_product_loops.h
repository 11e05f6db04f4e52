/* emu_product_loops.h -- the body of emu_product_base.c and emu_product_avx2.c, which define
 * EMU_PRODUCT, the name of the table. */
#include <math.h>

#include "emu_float.h"
#include "emu_product.h"

enum { TILE = 4 };
typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t four_bits __attribute__((vector_size(32), aligned(8)));
typedef uint64_t four_words __attribute__((vector_size(32), aligned(8)));

/* A double truncated to f32, as in tensor cores. */
static double cut(double v) {
  float f = (float)v;
  if (isfinite(v) && fabs((double)f) > fabs(v)) {
    f = emu_f32(emu_f32_bits(f) - 1);
  }
  return f;
}

#define LOAD(v) (*(const four *)(const void *)(v))

/* two times TILE columns of a row of c */
typedef struct span {
  four low, high;
} span;

static inline void load_span(span *s, const double *c) {
  *s = (span){LOAD(c), LOAD(c + TILE)};
}

static inline void store_span(double *c, const span *s) {
  memcpy(c, &s->low, sizeof s->low);
  memcpy(c + TILE, &s->high, sizeof s->high);
}

static inline void add_product(span *s, double a, const span *b) {
  s->low += a * b->low;
  s->high += a * b->high;
}

/* a tile of c: TILE rows. Eight sums under way hide the latency of an addition. */
typedef struct tile {
  span s0, s1, s2, s3;
} tile;

/* products `from` to `to` */
static inline void add_products(tile *sums, const double *a, int depth, const double *b,
                                int columns, int from, int to) {
  tile t = *sums;
  for (int p = from; p < to; p++) {
    span row;
    load_span(&row, b + p * columns);
    add_product(&t.s0, a[p], &row);
    add_product(&t.s1, a[depth + p], &row);
    add_product(&t.s2, a[2 * depth + p], &row);
    add_product(&t.s3, a[3 * depth + p], &row);
  }
  *sums = t;
}

/* Between 2^-126 and 2^128, truncation clears the low bits. Adds the lanes of other values but zero
 * to `odd`. */
static inline void find_odd(const span *s, four_bits *odd) {
  const uint64_t least = UINT64_C(0x3810000000000000), most = UINT64_C(0x47f0000000000000);
  const four_bits low = (four_bits)s->low & INT64_MAX, high = (four_bits)s->high & INT64_MAX;
  *odd |= (low != 0) & ((four_words)low - least >= most - least);
  *odd |= (high != 0) & ((four_words)high - least >= most - least);
}

static inline void clear_low_bits(span *s) {
  s->low = (four)((four_bits)s->low & ~INT64_C(0x1fffffff));
  s->high = (four)((four_bits)s->high & ~INT64_C(0x1fffffff));
}

static void cut_span(span *s) {
  for (int e = 0; e < TILE; e++) {
    s->low[e] = cut(s->low[e]);
    s->high[e] = cut(s->high[e]);
  }
}

static inline void cut_tile(tile *t) {
  four_bits odd = {0};
  find_odd(&t->s0, &odd);
  find_odd(&t->s1, &odd);
  find_odd(&t->s2, &odd);
  find_odd(&t->s3, &odd);
  if (odd[0] | odd[1] | odd[2] | odd[3]) {
    cut_span(&t->s0);
    cut_span(&t->s1);
    cut_span(&t->s2);
    cut_span(&t->s3);
  } else {
    clear_low_bits(&t->s0);
    clear_low_bits(&t->s1);
    clear_low_bits(&t->s2);
    clear_low_bits(&t->s3);
  }
}

/* columns j to j + 2 * TILE of c's rows i to i + TILE */
static void sum_tile(const emu_product *x, int i, int j, int k, int group, bool cuts) {
  double *c = x->c + i * x->columns + j, *c1 = c + x->columns, *c2 = c1 + x->columns,
         *c3 = c2 + x->columns;
  tile t;
  load_span(&t.s0, c);
  load_span(&t.s1, c1);
  load_span(&t.s2, c2);
  load_span(&t.s3, c3);
  for (int p = 0; p < k; p += group) {
    const bool whole = k - p >= group;
    add_products(&t, x->a + i * x->depth, x->depth, x->b + j, x->columns, p, whole ? p + group : k);
    if (cuts && whole) {
      cut_tile(&t);
    }
  }
  store_span(c, &t.s0);
  store_span(c1, &t.s1);
  store_span(c2, &t.s2);
  store_span(c3, &t.s3);
}

static void fuse_row(const emu_product *x, int i, int n, int k) {
  double *restrict c = x->c + i * x->columns;
  for (int p = 0; p < k; p++) {
    for (int j = 0; j < n; j++) {
      c[j] = fma(x->a[i * x->depth + p], x->b[p * x->columns + j], c[j]);
    }
  }
}

/* m is a multiple of 4, n of 8 */
static void multiply(const emu_product *x, int m, int n, int k, int group, emu_product_how how) {
  for (int i = 0; i < m && how == PRODUCT_fused; i++) {
    fuse_row(x, i, n, k);
  }
  for (int j = 0; j < n && how != PRODUCT_fused; j += 2 * TILE) {
    for (int i = 0; i < m; i += TILE) {
      sum_tile(x, i, j, k, group, how == PRODUCT_cut);
    }
  }
}

/* four rows and columns */
static inline void transpose_tile(const double *from, int columns, double *to, int rows) {
  const four r0 = LOAD(from), r1 = LOAD(from + columns), r2 = LOAD(from + 2 * columns),
             r3 = LOAD(from + 3 * columns);
  const four a = __builtin_shufflevector(r0, r1, 0, 4, 2, 6),
             b = __builtin_shufflevector(r0, r1, 1, 5, 3, 7),
             c = __builtin_shufflevector(r2, r3, 0, 4, 2, 6),
             d = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
  *(four *)(void *)to = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  *(four *)(void *)(to + rows) = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  *(four *)(void *)(to + 2 * rows) = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  *(four *)(void *)(to + 3 * rows) = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

static void transpose(const double *from, int rows, int columns, double *to) {
  for (int i = 0; i < rows; i += TILE) {
    for (int j = 0; j < columns; j += TILE) {
      transpose_tile(from + i * columns + j, columns, to + j * rows + i, rows);
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

const emu_product_loops EMU_PRODUCT = {multiply, transpose, decode, encode};
