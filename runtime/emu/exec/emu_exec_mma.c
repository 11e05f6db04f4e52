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

/* ---- wmma. The standard leaves the layout open. Of a and b, element e of a lane is element
 * lane * share + e of the matrix as it lies in memory; half precision holds every element twice. Of
 * accumulators, which lie by rows, each register holds consecutive elements of all lanes. ---- */

enum { PIECE = 16 }; /* most bytes that a lane accesses at once */

static emu_type held_as(emu_type t) {
  return t == T_tf32 ? T_f32 : t;
}

/* Addresses of one element in all lanes. The matrix, whose addresses are `base`, and its stride are
 * the same for all. */
static void wmma_addresses(const emu_warp *w, const emu_insn *in, int element, int share,
                           const uint64_t base[32], uint64_t address[32]) {
  const int *mode = in->more->mode, each = in->more->bytes[0] / emu_type_bytes((emu_type)in->type);
  const bool by_columns = mode[2], accumulator = mode[3] == 2;
  const uint64_t stride = emu_get(emu_src(w, in->o[2]), 0, 4);
  const uint64_t size = (uint64_t)emu_type_bytes((emu_type)in->type);
  const uint64_t line = (uint64_t)(by_columns && !accumulator ? mode[0] : mode[1]);
  const int shift = __builtin_ctzll(line); /* of a power of two */
  const int first = element / each * each; /* of the register */
  const uint64_t from = (uint64_t)(accumulator ? element + (EMU_LANES_N - 1) * first : element),
                 step = (uint64_t)(accumulator ? each : share);
  const bool across = by_columns && accumulator;
  const uint64_t outer = (across ? 1 : stride) * size, inner = (across ? stride : 1) * size;
  for (uint64_t lane = 0; lane < EMU_LANES_N; lane++) {
    const uint64_t i = from + lane * step;
    address[lane] = base[lane] + (i >> shift) * outer + (i & (line - 1)) * inner;
  }
}

/* bytes of consecutive elements that a lane accesses at once, a power of two */
static int piece_of(const emu_warp *w, const emu_insn *in, int share, const uint64_t base[32]) {
  const int *mode = in->more->mode, size = emu_type_bytes((emu_type)in->type);
  uint64_t any = emu_get(emu_src(w, in->o[2]), 0, 4) * (uint64_t)size;
  const int most = mode[3] == 2 ? in->more->bytes[0] : PIECE;
  const int n = share * size < most ? share * size : most;
  for (int lane = 0; lane < EMU_LANES_N; lane++) {
    any |= base[lane];
  }
  return (mode[3] == 2 && mode[2]) || (any & (uint64_t)(n - 1)) ? size : n;
}

typedef uint32_t four_words __attribute__((vector_size(16), aligned(4), may_alias));

static inline void transpose_words(uint8_t *const from[4], uint8_t *const to[4]) {
  const four_words r0 = *(const four_words *)(const void *)from[0],
                   r1 = *(const four_words *)(const void *)from[1],
                   r2 = *(const four_words *)(const void *)from[2],
                   r3 = *(const four_words *)(const void *)from[3];
  const four_words a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5),
                   b = __builtin_shufflevector(r0, r1, 2, 6, 3, 7),
                   c = __builtin_shufflevector(r2, r3, 0, 4, 1, 5),
                   d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  *(four_words *)(void *)to[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  *(four_words *)(void *)to[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  *(four_words *)(void *)to[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  *(four_words *)(void *)to[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* moves 16 bytes of each lane between the registers ops[r] to ops[r + 3] and memory */
static void move_words(emu_warp *w, const emu_insn *in, int r, uint8_t *memory[32], bool store) {
  uint8_t *reg[4];
  for (int i = 0; i < 4; i++) {
    reg[i] = (uint8_t *)(uintptr_t)emu_src(w, in->more->ops[r + i]);
  }
  for (int lane = 0; lane < EMU_LANES_N; lane += 4) {
    const int at = 4 * lane;
    uint8_t *const regs[] = {reg[0] + at, reg[1] + at, reg[2] + at, reg[3] + at};
    uint8_t *const there[] = {memory[lane], memory[lane + 1], memory[lane + 2], memory[lane + 3]};
    if (store) {
      transpose_words(regs, there);
    } else {
      transpose_words(there, regs);
    }
  }
}

/* Moves `n` bytes of each lane, those from `from` on, between its registers, the first of which is
 * ops[at], and memory. */
static void move_piece(emu_warp *w, const emu_insn *in, int at, int from, int n,
                       uint8_t *memory[32], bool store) {
  const int bytes = in->more->bytes[at], step = n < bytes ? n : bytes;
  if (bytes == 4 && n == PIECE) {
    move_words(w, in, at + from / 4, memory, store);
    return;
  }
  for (int o = 0; o < n; o += step) {
    const int op = in->more->ops[at + (from + o) / bytes];
    uint8_t *reg = (uint8_t *)(uintptr_t)emu_src(w, op) + (from + o) % bytes;
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      uint8_t *held = reg + lane * bytes, *there = memory[lane] + o;
      if (step == 4) {
        memcpy(store ? there : held, store ? held : there, 4);
      } else {
        memcpy(store ? there : held, store ? held : there, (size_t)step);
      }
    }
  }
}

static int wmma_move(emu_warp *w, const emu_insn *in, uint32_t mask, bool store) {
  const emu_more *more = in->more;
  const emu_access access = store ? ACCESS_WRITE : ACCESS_READ;
  const int size = emu_type_bytes((emu_type)in->type),
            share = more->mode[0] * more->mode[1] / EMU_LANES_N;
  uint64_t base[32], address[32];
  uint8_t *host[32], values[32 * PIECE], *lanes[32];
  TRY(whole_warp(w, in, mask));
  emu_addresses(w, in, 1, more->mode[5], in->imm, base);
  const int n = piece_of(w, in, share, base);
  for (int lane = 0; lane < EMU_LANES_N && store; lane++) {
    lanes[lane] = values + lane * n;
  }
  for (int from = 0; from < share * size; from += n) {
    if (store) {
      move_piece(w, in, 0, from, n, lanes, true);
    }
    wmma_addresses(w, in, from / size, share, base, address);
    TRY(emu_resolve(w, in, ~0u, more->space, address, n, access, host));
    TRY(emu_account(w, in, ~0u, more->space, address, n, access, store ? values : NULL));
    move_piece(w, in, 0, from, n, host, store);
  }
  return RUN_ON;
}

int exec_wmmaload(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  const int bytes = more->bytes[0], share = more->mode[0] * more->mode[1] / EMU_LANES_N;
  const int n = share * emu_type_bytes((emu_type)in->type) / bytes; /* registers without copies */
  TRY(wmma_move(w, in, mask, false));
  for (int r = n; n && r < more->n; r++) {
    memcpy(emu_reg(w, more->ops[r]), emu_reg(w, more->ops[r - n]), (size_t)bytes * EMU_LANES_N);
  }
  return RUN_ON;
}

int exec_wmmastore(emu_warp *w, const emu_insn *in, uint32_t mask) {
  return wmma_move(w, in, mask, true);
}

/* Gathers the lanes' shares of a or b: element e of a lane goes to lane * share + e, or, of one that
 * lies in memory by columns of `line` elements, to its place by rows. */
static void wmma_gather(emu_warp *w, const emu_insn *in, int at, emu_type t, int share, int line,
                        bool by_columns, double *to) {
  const int nbytes = share * emu_type_bytes(held_as(t)), n = share * EMU_LANES_N;
  uint8_t bits[ROWS * COLS * sizeof(double)], *lanes[EMU_LANES_N];
  double columns[ROWS * COLS];
  for (int from = 0; from < nbytes; from += PIECE) {
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      lanes[lane] = bits + lane * nbytes + from;
    }
    move_piece(w, in, at, from, nbytes - from < PIECE ? nbytes - from : PIECE, lanes, true);
  }
  emu_decode_elements(bits, n, t, by_columns ? columns : to);
  if (by_columns) {
    emu_transpose(columns, n / line, line, to);
  }
}

int exec_wmma(emu_warp *w, const emu_insn *in, uint32_t mask) {
  double a[ROWS * COLS], b[ROWS * COLS], c[ROWS * COLS + EMU_LANES_N * 16];
  const int *mode = in->more->mode, at_b = in->o[1] + in->o[2], at_c = at_b + in->o[3];
  const emu_product x = {a, b, c, mode[2], mode[1]};
  const emu_type t_c = (emu_type)mode[5], t_d = (emu_type)in->type;
  TRY(whole_warp(w, in, mask));
  wmma_gather(w, in, in->o[1], (emu_type)mode[3], mode[0] * mode[2] / EMU_LANES_N, mode[0],
              in->imm & 1, a);
  wmma_gather(w, in, at_b, (emu_type)mode[4], mode[2] * mode[1] / EMU_LANES_N, mode[2],
              in->imm >> 1 & 1, b);
  const int n = mode[0] * mode[1];
  for (int i = 0, r = at_c; i < n; i += EMU_LANES_N * in->more->bytes[at_c] / emu_type_bytes(t_c)) {
    emu_decode_register(w, in, r++, t_c, c + i);
  }
  emu_multiply(w, in, &x);
  for (int i = 0, r = 0; i < n; i += EMU_LANES_N * in->more->bytes[0] / emu_type_bytes(t_d)) {
    emu_encode_register(w, in, r++, t_d, c + i);
  }
  return RUN_ON;
}
