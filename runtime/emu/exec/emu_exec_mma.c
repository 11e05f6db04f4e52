/* emu_exec_mma.c -- matrices in the registers of a warp: ldmatrix, mma, wmma. src: PTX ISA 9.0,
 * 9.7.14. */
#include <string.h>

#include "emu_access.h"
#include "emu_exec.h"
#include "emu_fragment.h"
#include "emu_matrix.h"

enum { ROWS = 32, COLS = 32, DEPTH = 64 };

/* An emu_product's memory. */
#define PRODUCT(x)                                                                                 \
  double a_[ROWS * DEPTH], b_[DEPTH * COLS], c_[ROWS * COLS];                                      \
  const emu_product x = {a_, b_, c_, DEPTH, COLS}

/* waits for all lanes of the warp */
static int whole_warp(emu_warp *w, const emu_insn *in, uint32_t mask) {
  return emu_warp_sync(w, in, mask, ~0u);
}

int exec_mma(emu_warp *w, const emu_insn *in, uint32_t mask) {
  PRODUCT(x);
  int rc = whole_warp(w, in, mask);
  if (rc != RUN_ON) {
    return rc;
  }
  for (int i = 0, at = in->o[1]; i < 3; at += in->o[2 + i], i++) {
    emu_matrix_load(w, in, at, in->o[2 + i], i, (emu_type)in->more->mode[3 + i], 1, &x);
  }
  emu_multiply(w, in, &x);
  emu_matrix_store(w, in, in->o[1], &x);
  return RUN_ON;
}

/* ---- ldmatrix, stmatrix, movmatrix: 8 by 8 halves ---- */

/* Of a lane's element e of an 8 x 8 matrix. */
static emu_position half_of(int lane, int e, bool trans) {
  int row = lane >> 2, column = 2 * (lane & 3) + e;
  return trans ? (emu_position){column, row} : (emu_position){row, column};
}

static int row_pointers(emu_warp *w, const emu_insn *in, int n, emu_access access,
                        const uint8_t *values, uint8_t *host[32]) {
  uint64_t address[32];
  uint32_t lanes = n == 4 ? ~0u : (1u << (8 * n)) - 1;
  emu_addresses(w, in, 1, in->more->mode[5], in->imm, address);
  int rc = emu_resolve(w, in, lanes, in->more->space, address, 16, access, host);
  return rc ? rc : emu_account(w, in, lanes, in->more->space, address, 16, access, values);
}

int exec_ldmatrix(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint8_t *host[32];
  int n = in->more->mode[0], rc = whole_warp(w, in, mask);
  rc = rc ? rc : row_pointers(w, in, n, ACCESS_READ, NULL, host);
  if (rc != RUN_ON) {
    return rc;
  }
  for (int j = 0; j < n; j++) {
    uint32_t *d = emu_reg(w, in->more->ops[j]);
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      uint16_t two[2];
      for (int e = 0; e < 2; e++) {
        emu_position p = half_of(lane, e, in->more->mode[1]);
        memcpy(&two[e], host[8 * j + p.row] + 2 * p.column, 2);
      }
      d[lane] = two[0] | (uint32_t)two[1] << 16;
    }
  }
  return RUN_ON;
}

int exec_stmatrix(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint8_t *host[32], rows[32 * 16] = {0};
  int n = in->more->mode[0], rc = whole_warp(w, in, mask);
  for (int j = 0; j < n && !rc; j++) {
    const uint32_t *s = emu_src(w, in->more->ops[j]);
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      for (int e = 0; e < 2; e++) {
        emu_position p = half_of(lane, e, in->more->mode[1]);
        uint16_t h = (uint16_t)(s[lane] >> (16 * e));
        memcpy(rows + (8 * j + p.row) * 16 + 2 * p.column, &h, 2);
      }
    }
  }
  rc = rc ? rc : row_pointers(w, in, n, ACCESS_WRITE, rows, host);
  for (int i = 0; i < 8 * n && !rc; i++) {
    memcpy(host[i], rows + i * 16, 16);
  }
  return rc;
}

int exec_movmatrix(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint16_t all[8][8];
  int rc = whole_warp(w, in, mask);
  if (rc != RUN_ON) {
    return rc;
  }
  const uint32_t *s = emu_src(w, in->o[1]);
  for (int lane = 0; lane < EMU_LANES_N; lane++) {
    all[lane >> 2][2 * (lane & 3)] = (uint16_t)s[lane];
    all[lane >> 2][2 * (lane & 3) + 1] = (uint16_t)(s[lane] >> 16);
  }
  uint32_t *d = emu_reg(w, in->o[0]);
  for (int lane = 0; lane < EMU_LANES_N; lane++) {
    d[lane] = all[2 * (lane & 3)][lane >> 2] | (uint32_t)all[2 * (lane & 3) + 1][lane >> 2] << 16;
  }
  return RUN_ON;
}

/* ---- wmma: element e of a lane is element lane * share + e % share of the matrix, row by row; the
 * standard leaves the layout open, and a and b of half precision hold every element twice ---- */

static int elements_of(const emu_insn *in, int n_regs, int at, emu_type t) {
  return n_regs * in->more->bytes[at] / emu_type_bytes(t);
}

static emu_type held_as(emu_type t) {
  return t == T_tf32 ? T_f32 : t;
}

/* addresses of one element in all lanes; the matrix and its stride are the same for all */
static void wmma_addresses(const emu_warp *w, const emu_insn *in, int lane_element, int share,
                           uint64_t address[32]) {
  const int *mode = in->more->mode;
  int size = emu_type_bytes((emu_type)in->type);
  uint64_t stride = emu_get(emu_src(w, in->o[2]), 0, 4);
  emu_addresses(w, in, 1, mode[5], in->imm, address);
  for (int lane = 0; lane < EMU_LANES_N; lane++) {
    int index = lane * share + lane_element % share, row = index / mode[1],
        column = index % mode[1];
    uint64_t at = mode[2] ? (uint64_t)column * stride + (uint64_t)row
                          : (uint64_t)row * stride + (uint64_t)column;
    address[lane] += at * (uint64_t)size;
  }
}

int exec_wmmaload(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  emu_type t = (emu_type)in->type;
  int rc = whole_warp(w, in, mask), size = emu_type_bytes(t);
  int n = elements_of(in, more->n, 0, t), share = more->mode[0] * more->mode[1] / EMU_LANES_N;
  int each = more->bytes[0] / size;
  for (int e = 0; e < n && rc == RUN_ON; e++) {
    uint64_t address[32];
    uint8_t *host[32];
    wmma_addresses(w, in, e, share, address);
    rc = emu_resolve(w, in, ~0u, more->space, address, size, ACCESS_READ, host);
    rc = rc || e >= share ? rc
                          : emu_account(w, in, ~0u, more->space, address, size, ACCESS_READ, NULL);
    for (int lane = 0; lane < EMU_LANES_N && !rc; lane++) {
      memcpy((uint8_t *)emu_reg(w, more->ops[e / each]) + lane * more->bytes[0] + e % each * size,
             host[lane], (size_t)size);
    }
  }
  return rc;
}

int exec_wmmastore(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  emu_type t = (emu_type)in->type;
  int rc = whole_warp(w, in, mask), size = emu_type_bytes(t),
      share = more->mode[0] * more->mode[1] / EMU_LANES_N;
  int each = more->bytes[0] / size;
  for (int e = 0; e < share && rc == RUN_ON; e++) {
    uint64_t address[32];
    uint8_t *host[32], values[32 * 8];
    wmma_addresses(w, in, e, share, address);
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      memcpy(values + lane * size,
             (const uint8_t *)emu_src(w, more->ops[e / each]) + lane * more->bytes[0] +
                 e % each * size,
             (size_t)size);
    }
    rc = emu_resolve(w, in, ~0u, more->space, address, size, ACCESS_WRITE, host);
    rc = rc ? rc : emu_account(w, in, ~0u, more->space, address, size, ACCESS_WRITE, values);
    for (int lane = 0; lane < EMU_LANES_N && !rc; lane++) {
      memcpy(host[lane], values + lane * size, (size_t)size);
    }
  }
  return rc;
}

static uint64_t wmma_get(const emu_warp *w, const emu_insn *in, int at, int size, int lane, int e) {
  int bytes = in->more->bytes[at], each = bytes / size;
  const uint8_t *s = emu_src(w, in->more->ops[at + e / each]);
  return emu_get(s + lane * bytes + e % each * size, 0, size);
}

static void wmma_unpack(const emu_warp *w, const emu_insn *in, int at, int matrix, emu_type t,
                        const emu_product *x) {
  const int *mode = in->more->mode;
  int rows = matrix == 1 ? mode[2] : mode[0], columns = matrix == 0 ? mode[2] : mode[1];
  int size = emu_type_bytes(held_as(t)), share = rows * columns / EMU_LANES_N;
  for (int i = 0; i < rows * columns; i++) {
    double v = emu_element_value(wmma_get(w, in, at, size, i / share, i % share), t);
    *emu_product_at(x, matrix, i / columns, i % columns) = v;
  }
}

int exec_wmma(emu_warp *w, const emu_insn *in, uint32_t mask) {
  PRODUCT(x);
  int rc = whole_warp(w, in, mask);
  if (rc != RUN_ON) {
    return rc;
  }
  const int *mode = in->more->mode;
  emu_type t = (emu_type)in->type;
  for (int i = 0, at = in->o[1]; i < 3; at += in->o[2 + i], i++) {
    wmma_unpack(w, in, at, i, (emu_type)mode[3 + i], &x);
  }
  emu_multiply(w, in, &x);
  int size = emu_type_bytes(t), share = mode[0] * mode[1] / EMU_LANES_N, bytes = in->more->bytes[0],
      each = bytes / size;
  for (int i = 0; i < mode[0] * mode[1]; i++) {
    uint64_t bits =
        emu_element_bits(*emu_product_at(&x, 2, i / mode[1], i % mode[1]), t, in->flags & INSN_SAT);
    int e = i % share;
    memcpy((uint8_t *)emu_reg(w, in->more->ops[e / each]) + i / share * bytes + e % each * size,
           &bits, (size_t)size);
  }
  return RUN_ON;
}
