/* emu_matrix.c -- see emu_matrix.h. */
#include "emu_matrix.h"

#include <math.h>
#include <string.h>

double emu_element_value(uint64_t bits, emu_type t) {
  switch (t) {
  case T_f16: return emu_f16_value((uint16_t)bits);
  case T_bf16: return emu_bf16_value((uint16_t)bits);
  case T_tf32: return emu_f32((uint32_t)bits & 0xffffe000);
  case T_f32: return emu_f32((uint32_t)bits);
  case T_f64: return emu_f64(bits);
  case T_e4m3: return emu_fp8_value((uint8_t)bits, 0);
  case T_e5m2: return emu_fp8_value((uint8_t)bits, 1);
  case T_s8: return (int8_t)bits;
  case T_u8: return (uint8_t)bits;
  case T_s4: return (double)(bits & 7) - (double)(bits & 8);
  case T_u4: return (double)(bits & 15);
  default: return (int32_t)bits;
  }
}

uint64_t emu_element_bits(double v, emu_type t, bool finite) {
  switch (t) {
  case T_f16: {
    uint64_t h = emu_narrow(v, 5, 10, ROUND_rn);
    return finite && (h & 0x7fff) == 0x7c00 ? h - 1 : h;
  }
  case T_f32: return isnan(v) ? 0x7fffffff : emu_f32_bits((float)v);
  case T_f64: return emu_f64_bits(v);
  default:
    if (finite) {
      return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v);
    }
    return (uint32_t)(int64_t)v;
  }
}

/* How many products are added at once: 16 of halves from Hopper on, 8 before; in proportion for
 * other widths. */
static int group_of(const emu_warp *w, emu_type t) {
  int halves = w->launch->cc >= 90 ? 16 : 8;
  return t == T_tf32 ? halves / 2 : emu_type_bytes(t) < 2 ? 2 * halves : halves;
}

static const emu_product_loops *loops_of_host(void) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")) {
    return &emu_product_avx2;
  }
#endif
  return &emu_product_base;
}

void emu_multiply(const emu_warp *w, const emu_insn *in, const emu_product *x) {
  const int *mode = in->more->mode;
  const emu_product_how how = in->type == T_f64   ? PRODUCT_fused
                              : in->type == T_f32 ? PRODUCT_cut
                                                  : PRODUCT_exact;
  loops_of_host()->multiply(x, mode[0], mode[1], mode[2], group_of(w, (emu_type)mode[3]), how);
}

void emu_transpose(const double *from, int rows, int columns, double *to) {
  loops_of_host()->transpose(from, rows, columns, to);
}

void emu_decode_elements(const void *from, int n, emu_type t, double *to) {
  const int size = emu_type_bytes(t);
  if (loops_of_host()->decode(t, from, n, to)) {
    return;
  }
  for (int i = 0; i < n; i++) {
    to[i] = emu_element_value(emu_get(from, i, size), t);
  }
}

/* ---- the layouts of PTX ---- */

/* Of the first element of register r in lane 0; each: elements in a register; m: rows of a. */
static inline emu_position position_of(int matrix, int r, int each, int m) {
  const int i = r * each;
  if (matrix == 0) {
    const int two = m > 8; /* rows of two groups of lanes */
    return (emu_position){8 * (r & two), (r >> two) * 4 * each};
  }
  return matrix == 1 ? (emu_position){r * 4 * each, 0}
                     : (emu_position){8 * (i / 2 % 2), i / 4 * 8 + i % 2};
}

/* bits of an element; there is no b1 here */
static int bits_of(emu_type t) {
  return t == T_s4 || t == T_u4 ? 4 : 8 * emu_type_bytes(t);
}

static int each_of(emu_type t) {
  return t == T_f64 ? 1 : 32 / bits_of(t);
}

void emu_decode_register(const emu_warp *w, const emu_insn *in, int op, emu_type t, double *to) {
  const void *s = emu_src(w, in->more->ops[op]);
  const int bits = bits_of(t), bytes = in->more->bytes[op], each = 8 * bytes / bits;
  if (loops_of_host()->decode(t, s, EMU_LANES_N * each, to)) {
    return;
  }
  for (int i = 0; i < EMU_LANES_N * each; i++) {
    const uint64_t reg = emu_get(s, i / each, bytes) >> (i % each * bits);
    to[i] = emu_element_value(bits == 64 ? reg : reg & ((UINT64_C(1) << bits) - 1), t);
  }
}

void emu_encode_register(emu_warp *w, const emu_insn *in, int op, emu_type t, const double *from) {
  uint8_t *d = emu_reg(w, in->more->ops[op]);
  const int size = emu_type_bytes(t), n = EMU_LANES_N * in->more->bytes[op] / size;
  const bool finite = in->flags & INSN_SAT;
  if (!finite && loops_of_host()->encode(t, from, n, d)) {
    return;
  }
  for (int i = 0; i < n; i++) {
    emu_put(d, i, size, emu_element_bits(from[i], t, finite));
  }
}

/* Registers wider than PTX's layout are not full. */
static double *full_register(const emu_insn *in, int op, emu_type t, double *v) {
  const int bytes = in->more->bytes[op], each = each_of(t), has = 8 * bytes / bits_of(t);
  for (int i = 0; has > each && i < EMU_LANES_N * each; i++) {
    v[i] = v[i / each * has + i % each];
  }
  return v;
}

/* An element of a lane's register in x, and the distances of those of the next group of four lanes, the
 * next lane, and the next element of the register. */
typedef struct walk {
  double *first;
  int group, lane, element;
} walk;

static walk walk_of(const emu_product *x, int matrix, int r, int each, int m) {
  const emu_position p = position_of(matrix, r, each, m);
  double *first = emu_product_at(x, matrix, p.row, p.column);
  return matrix == 0   ? (walk){first, x->depth, each, 1}
         : matrix == 1 ? (walk){first, 1, each * x->columns, x->columns}
                       : (walk){first, x->columns, 2, 1};
}

static inline double *walk_to(const walk *k, int lane, int e) {
  return k->first + (lane >> 2) * k->group + (lane & 3) * k->lane + e * k->element;
}

void emu_matrix_load(const emu_warp *w, const emu_insn *in, int at, int n, int matrix, emu_type t,
                     double sign, const emu_product *x) {
  const int each = each_of(t), m = in->more->mode[0];
  double v[EMU_LANES_N * 16];
  for (int r = 0; r < n; r++) {
    const walk to = walk_of(x, matrix, r, each, m);
    emu_decode_register(w, in, at + r, t, v);
    full_register(in, at + r, t, v);
    for (int i = 0; sign < 0 && i < EMU_LANES_N * each; i++) {
      v[i] = -v[i];
    }
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      for (int e = 0; e < each; e++) {
        *walk_to(&to, lane, e) = v[lane * each + e];
      }
    }
  }
}

void emu_matrix_store(emu_warp *w, const emu_insn *in, int n, const emu_product *x) {
  const emu_type t = (emu_type)in->type;
  const int each = each_of(t), m = in->more->mode[0];
  double v[EMU_LANES_N * 16];
  for (int r = 0; r < n; r++) {
    const int has = in->more->bytes[r] / emu_type_bytes(t);
    const walk from = walk_of(x, 2, r, each, m);
    if (has > each) {
      memset(v, 0, sizeof v);
    }
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      for (int e = 0; e < each; e++) {
        v[lane * has + e] = *walk_to(&from, lane, e);
      }
    }
    emu_encode_register(w, in, r, t, v);
  }
}

/* ---- sparse: the metadata's layout, which PTX shows in figures, is that of CUTLASS's reorder_meta ---- */

/* the four bits that name the slots of chunk `c` of a row */
static int slots_of(const emu_warp *w, const emu_insn *in, int row, int c, int n_chunks,
                    int selector) {
  const uint32_t *words = emu_src(w, in->more->ops[in->more->n - 1]);
  const int half = row / 8, lane = row % 8 * 4;
  if (emu_type_bytes((emu_type)in->more->mode[3]) < 2) { /* a word for 8 chunks of a row */
    return (int)(words[lane + 2 * selector + half + c / 8 * 2] >> (c % 8 * 4) & 15);
  }
  const int first = n_chunks > 4 ? 2 * selector : selector; /* a word for 4 chunks of two rows */
  return (int)(words[lane + first + c / 4] >> (16 * half + c % 4 * 4) & 15);
}

void emu_matrix_spread(const emu_warp *w, const emu_insn *in, int chunk, int selector,
                       const emu_product *stored, const emu_product *x) {
  enum { ROWS = 16 };
  const int k = in->more->mode[2];
  for (int row = 0; row < ROWS; row++) {
    double *to = emu_product_at(x, 0, row, 0);
    const double *from = emu_product_at(stored, 0, row, 0);
    memset(to, 0, (size_t)k * sizeof *to);
    for (int c = 0; c < k / chunk; c++) {
      const int slots = slots_of(w, in, row, c, k / chunk, selector);
      for (int e = 0; e < chunk / 2; e++) {
        const int slot = (chunk == 2 ? slots : e < chunk / 4 ? slots : slots >> 2) & 3;
        const int at = chunk == 2 ? slot / 2 : slot * chunk / 4 + e % (chunk / 4);
        to[c * chunk + at] = from[c * chunk / 2 + e];
      }
    }
  }
}
