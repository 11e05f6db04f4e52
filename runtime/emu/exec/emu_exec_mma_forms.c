/* emu_exec_mma_forms.c -- the rarer shapes of mma: four products of 8 x 8 x 4, single bits, and
 * sparse matrices. src: PTX ISA 9.0, 9.7.14.5 and 9.7.14.6; the metadata's layout, which PTX shows
 * in figures, is that of CUTLASS's reorder_meta. */
#include <string.h>

#include "emu_exec.h"
#include "emu_fragment.h"
#include "emu_matrix.h"

/* ---- m8n8k4 of halves: lanes 4 q to 4 q + 3 and those 16 further hold product q ---- */

enum { QUAD = 8, QUAD_DEPTH = 4 };

static emu_position quad_position(int matrix, int lane, int i, bool column_major, bool wide) {
  const int x = lane % 4, high = lane >= 16 ? 4 : 0;
  if (matrix == 0) {
    return column_major ? (emu_position){i + high, x} : (emu_position){x + high, i};
  }
  if (matrix == 1) {
    return column_major ? (emu_position){i, x + high} : (emu_position){x, i + high};
  }
  return wide ? (emu_position){high + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)}
              : (emu_position){x + high, i};
}

/* bits of element i of a lane's operand that begins at ops[at] */
static uint64_t element_of(const emu_warp *w, const emu_insn *in, int at, int lane, int i,
                           bool wide) {
  const uint32_t *s = emu_src(w, in->more->ops[at + (wide ? i : i / 2)]);
  return wide ? s[lane] : s[lane] >> (16 * (i % 2)) & 0xffff;
}

static void load_quad(const emu_warp *w, const emu_insn *in, int q, const emu_product *x) {
  for (int matrix = 0, at = in->o[1]; matrix < 3; at += in->o[2 + matrix], matrix++) {
    const emu_type t = (emu_type)in->more->mode[3 + matrix];
    const bool wide = t == T_f32, column_major = in->imm >> matrix & 1;
    for (int l = 0; l < 8; l++) {
      const int lane = 4 * q + l % 4 + l / 4 * 16;
      for (int i = 0; i < (matrix < 2 ? QUAD_DEPTH : QUAD); i++) {
        const emu_position p = quad_position(matrix, lane, i, column_major, wide);
        *emu_product_at(x, matrix, p.row, p.column) =
            emu_element_value(element_of(w, in, at, lane, i, wide), t);
      }
    }
  }
}

static void store_quad(emu_warp *w, const emu_insn *in, int q, const emu_product *x) {
  const emu_type t = (emu_type)in->type;
  const bool wide = t == T_f32;
  for (int l = 0; l < 8; l++) {
    const int lane = 4 * q + l % 4 + l / 4 * 16;
    for (int i = 0; i < QUAD; i++) {
      const emu_position p = quad_position(2, lane, i, false, wide);
      const uint64_t bits =
          emu_element_bits(*emu_product_at(x, 2, p.row, p.column), t, in->flags & INSN_SAT);
      uint8_t *d = emu_reg(w, in->more->ops[wide ? i : i / 2]);
      memcpy(d + 4 * lane + (wide ? 0 : 2 * (i % 2)), &bits, wide ? 4 : 2);
    }
  }
}

int exec_mmaquad(emu_warp *w, const emu_insn *in, uint32_t mask) {
  double a[4][QUAD * QUAD_DEPTH] = {{0}}, b[4][QUAD_DEPTH * QUAD] = {{0}};
  double c[4][QUAD * QUAD] = {{0}};
  TRY(emu_warp_sync(w, in, mask, ~0u));
  for (int q = 0; q < 4; q++) { /* the results may be operands of the next product */
    const emu_product x = {a[q], b[q], c[q], QUAD_DEPTH, QUAD};
    load_quad(w, in, q, &x);
    emu_multiply(w, in, &x);
  }
  for (int q = 0; q < 4; q++) {
    const emu_product x = {a[q], b[q], c[q], QUAD_DEPTH, QUAD};
    store_quad(w, in, q, &x);
  }
  return RUN_ON;
}

/* ---- single bits: a register is 32 consecutive k of a row of a or a column of b ---- */

enum { BIT_ROWS = 16, BIT_COLS = 8, BIT_WORDS = 8 };

static void load_bits(const emu_warp *w, const emu_insn *in, uint32_t a[BIT_ROWS][BIT_WORDS],
                      uint32_t b[BIT_COLS][BIT_WORDS]) {
  const int blocks = in->more->mode[0] / 8, n_d = in->o[1], n_a = in->o[2], n_b = in->o[3];
  for (int lane = 0; lane < EMU_LANES_N; lane++) {
    const int g = lane / 4, t = lane % 4;
    for (int r = 0; r < n_a; r++) {
      const uint32_t *s = emu_src(w, in->more->ops[n_d + r]);
      a[g + r % blocks * 8][r / blocks * 4 + t] = s[lane];
    }
    for (int r = 0; r < n_b; r++) {
      const uint32_t *s = emu_src(w, in->more->ops[n_d + n_a + r]);
      b[g][r * 4 + t] = s[lane];
    }
  }
}

int exec_mmabits(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t a[BIT_ROWS][BIT_WORDS], b[BIT_COLS][BIT_WORDS], d[4][EMU_LANES_N];
  const int n = in->o[1], c = n + in->o[2] + in->o[3], words = in->more->mode[2] / 32;
  TRY(emu_warp_sync(w, in, mask, ~0u));
  load_bits(w, in, a, b);
  for (int i = 0; i < n * EMU_LANES_N; i++) {
    const int r = i / EMU_LANES_N, lane = i % EMU_LANES_N;
    const uint32_t *row = a[lane / 4 + r / 2 * 8], *column = b[lane % 4 * 2 + r % 2];
    d[r][lane] = ((const uint32_t *)emu_src(w, in->more->ops[c + r]))[lane];
    for (int k = 0; k < words; k++) {
      const uint32_t bits = in->imm ? row[k] & column[k] : row[k] ^ column[k];
      d[r][lane] += (uint32_t)__builtin_popcount(bits);
    }
  }
  for (int r = 0; r < n; r++) {
    emu_store(emu_reg(w, in->more->ops[r]), d[r], 4, ~0u);
  }
  return RUN_ON;
}

/* ---- sparse: of every four slots of a row of a, two are stored ---- */

enum { SPARSE_ROWS = 16, SPARSE_COLS = 8, SPARSE_DEPTH = 128 };

/* the operands after c are the metadata, in the last of ops; mode[5]: elements of a chunk, selector */
int exec_mmasparse(emu_warp *w, const emu_insn *in, uint32_t mask) {
  double packed[SPARSE_ROWS * SPARSE_DEPTH], a[SPARSE_ROWS * SPARSE_DEPTH],
      b[SPARSE_DEPTH * SPARSE_COLS], c[SPARSE_ROWS * SPARSE_COLS];
  const emu_product x = {a, b, c, SPARSE_DEPTH, SPARSE_COLS},
                    stored = {packed, b, c, SPARSE_DEPTH, SPARSE_COLS};
  const int *mode = in->more->mode;
  TRY(emu_warp_sync(w, in, mask, ~0u));
  const int n_d = in->o[1], n_a = in->o[2], n_b = in->o[3];
  emu_matrix_load(w, in, n_d, n_a, 0, (emu_type)mode[3], 1, &stored);
  emu_matrix_load(w, in, n_d + n_a, n_b, 1, (emu_type)mode[4], 1, &x);
  emu_matrix_load(w, in, n_d + n_a + n_b, in->o[4], 2, (emu_type)in->imm, 1, &x);
  emu_matrix_spread(w, in, mode[5] & 0xff, mode[5] >> 8, &stored, &x);
  emu_multiply(w, in, &x);
  emu_matrix_store(w, in, n_d, &x);
  return RUN_ON;
}
