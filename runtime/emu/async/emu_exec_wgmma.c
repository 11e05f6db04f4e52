/* emu_exec_wgmma.c -- wgmma: products of a warp group that complete later.
 *
 * The product is computed when it is issued, by each warp for 16 of the 64 rows. Until its group is
 * waited for, the accumulators are marked as in flight and the operands in shared memory as being
 * read, so that early accesses to either are detected. Moves carry the mark along, since the
 * compiler renames registers. Sums are those of mma.sync: exact products, a k of the instruction
 * added at once, then truncated to f32. What else the hardware does is not published; with fp8
 * operands it keeps fewer bits. src: PTX ISA 9.0, 9.7.15: register layouts, matrix descriptors and
 * their canonical layouts. */
#include "emu_async.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "emu_check_memory.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_fragment.h"
#include "emu_matrix.h"
#include "emu_modes.h"

enum { ROWS = 16, COLS = 256, DEPTH = 64, CHUNK = 16, CHUNKS = 4 * COLS };

/* ---- matrix descriptors ---- */

typedef struct descriptor {
  uint32_t start, leading, stride, base;
  int width; /* chunks of 16 bytes in a swizzled row: 1 (no swizzle), 2, 4, 8 */
} descriptor;

static descriptor unpack_descriptor(uint64_t d) {
  static const int widths[] = {1, 8, 4, 2};
  return (descriptor){(uint32_t)(d & 0x3fff) << 4, (uint32_t)(d >> 16 & 0x3fff) << 4,
                      (uint32_t)(d >> 32 & 0x3fff) << 4, (uint32_t)(d >> 49 & 7), widths[d >> 62]};
}

static uint32_t swizzled(const descriptor *d, uint32_t address) {
  uint32_t row = (address >> 7) - d->base;
  return address ^ (row & (uint32_t)(d->width - 1)) << 4;
}

/* address of a chunk that holds consecutive k of one row, the c-th of it */
static uint32_t chunk_by_k(const descriptor *d, int row, int c) {
  uint32_t in = (uint32_t)(row % 8 * CHUNK * d->width),
           along = (uint32_t)c * (d->width == 1 ? d->leading : CHUNK);
  return swizzled(d, d->start + in + (uint32_t)(row / 8) * d->stride + along);
}

/* address of a chunk that holds consecutive rows of a, or columns of b: transposed 16-bit operands
 */
static uint32_t chunk_by_row(const descriptor *d, int chunk, int k) {
  uint32_t in = (uint32_t)(chunk % d->width * CHUNK + k % 8 * CHUNK * d->width);
  uint32_t outer = (uint32_t)(chunk / d->width), deep = (uint32_t)(k / 8);
  bool plain = d->width == 1;
  return swizzled(d, d->start + in + outer * (plain ? d->stride : d->leading) +
                         deep * (plain ? d->leading : d->stride));
}

/* chunks of a row of operand 0 (a) or 1 (b); eight times as many rows if it is transposed. A sparse a is
 * stored like a dense one of half the k. */
static int chunks_of_row(const emu_insn *in, int which) {
  return which && (in->more->mode[5] & WGMMA_sparse) ? 4 : 2;
}

/* The chunks of `rows` rows of a, or columns of b, from `first` on, `deep` of a row; returns their number. */
static int find_chunks(const descriptor *d, int first, int rows, int deep, bool transposed,
                       uint32_t chunks[CHUNKS]) {
  int n = 0;
  for (int row = first; row < first + rows && !transposed; row++) {
    for (int c = 0; c < deep; c++) {
      chunks[n++] = chunk_by_k(d, row, c);
    }
  }
  for (int c = first / 8; c < (first + rows) / 8 && transposed; c++) {
    for (int k = 0; k < 8 * deep; k++) {
      chunks[n++] = chunk_by_row(d, c, k);
    }
  }
  return n;
}

/* the chunks of operand 0 (a) or 1 (b) of a wgmma */
static int operand_chunks(const emu_warp *w, const emu_insn *in, const uint64_t descriptors[2],
                          int which, uint32_t chunks[CHUNKS]) {
  descriptor d = unpack_descriptor(descriptors[which]);
  const int flags = in->more->mode[5], deep = chunks_of_row(in, which);
  if (which == 1) {
    return find_chunks(&d, 0, in->more->mode[1], deep, flags & WGMMA_trans_b, chunks);
  }
  return flags & WGMMA_registers
             ? 0
             : find_chunks(&d, w->index % 4 * ROWS, ROWS, deep, flags & WGMMA_trans_a, chunks);
}

static int check_chunks(emu_warp *w, const emu_insn *in, const uint32_t *chunks, int n) {
  for (int i = 0; i < n; i++) {
    if (chunks[i] + CHUNK > w->launch->smem_nbytes) {
      return emu_finding(
          w, in, 0, EMU_SHARED_BOUNDS,
          "multiplies a matrix that extends to shared address %u, but the block has %llu bytes (is its descriptor right?)",
          chunks[i], (unsigned long long)w->launch->smem_nbytes);
    }
  }
  return w->launch->checks ? emu_check_async(w, in, chunks, n, "multiplies") : RUN_ON;
}

static void mark_reads(emu_warp *w, const uint32_t *chunks, int n, int by) {
  for (int i = 0; i < n; i++) {
    uint16_t *count = &w->block->read_by[chunks[i] / CHUNK];
    *count = (uint16_t)(*count + by);
  }
}

/* ---- the product of one warp ---- */

/* elements of the chunks that find_chunks lists */
static void load_chunks(const emu_warp *w, const uint32_t *chunks, int n, int deep, emu_type t,
                        bool transposed, double sign, double *to, int row_step, int k_step) {
  int size = emu_type_bytes(t), each = CHUNK / size;
  for (int i = 0; i < n; i++) {
    const uint8_t *from = w->block->smem + chunks[i];
    int row = transposed ? i / (8 * deep) * 8 : i / deep,
        k = transposed ? i % (8 * deep) : i % deep * each;
    for (int e = 0; e < each; e++) {
      double v = sign * emu_element_value(emu_get(from, e, size), t);
      to[(row + (transposed ? e : 0)) * row_step + (k + (transposed ? 0 : e)) * k_step] = v;
    }
  }
}

/* ---- what is in flight ---- */

enum { MOVED = INT32_MIN }; /* bit of in_flight: a copy of the register that the wgmma writes */

void emu_wgmma_start(emu_warp *w) {
  w->n_wgmma = 0;
  w->wgmma_group = 0;
  w->wgmma_count = 0;
  w->any_in_flight = false;
  if (w->in_flight) {
    memset(w->in_flight, 0, w->cap_in_flight * sizeof *w->in_flight);
  }
}

static bool remember(emu_warp *w, const emu_insn *in, const uint64_t descriptors[2]) {
  bool grown = array_reserve(&w->wgmma, w->n_wgmma + 1, &w->cap_wgmma, sizeof *w->wgmma);
  if (grown) {
    w->wgmma[w->n_wgmma++] = (emu_wgmma){{descriptors[0], descriptors[1]}, in, w->wgmma_group};
  }
  return grown;
}

/* registers of called functions are not checked */
static bool mark_registers(emu_warp *w, const emu_insn *in) {
  const emu_func *f = w->launch->module->funcs[w->kernel.func];
  if (w->frame != &w->kernel) {
    return true;
  }
  if (!w->in_flight) {
    w->cap_in_flight = (size_t)f->n_regs + 1;
    w->in_flight = calloc(w->cap_in_flight, sizeof *w->in_flight);
  }
  size_t pc = (size_t)(in - f->code);
  for (uint32_t r = f->ref_start[pc]; w->in_flight && r < f->ref_start[pc + 1]; r++) {
    if (f->refs[r] & 1) {
      w->in_flight[f->refs[r] >> 1] = w->wgmma_group + 1;
    }
  }
  w->any_in_flight = w->in_flight != NULL;
  return w->any_in_flight;
}

static int early(emu_warp *w, const emu_insn *in, uint32_t mask, const char *does) {
  return emu_finding(w, in, __builtin_ctz(mask), EMU_ASYNC,
                     "%s an accumulator of a wgmma in flight; execute wgmma.wait_group first",
                     does);
}

int emu_wgmma_registers(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_func *f = w->launch->module->funcs[w->kernel.func];
  uint32_t moved = 0;
  if (w->frame != &w->kernel || in->kind == KIND_wgmma) {
    return RUN_ON;
  }
  size_t pc = (size_t)(in - f->code);
  bool is_move = in->kind == KIND_alu && in->pipe == EMU_PIPE_none;
  for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
    uint32_t group = f->refs[r] & 1 ? 0 : w->in_flight[f->refs[r] >> 1];
    if (group && !is_move) {
      return early(w, in, mask, "reads");
    }
    moved |= group;
  }
  for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
    uint32_t *to = &w->in_flight[f->refs[r] >> 1];
    if ((f->refs[r] & 1) && *to && !moved && !(*to & (uint32_t)MOVED)) {
      return early(w, in, mask, "overwrites");
    }
    *to = f->refs[r] & 1 ? (moved ? moved | (uint32_t)MOVED : 0) : *to;
    if (!(f->refs[r] & 1) && moved) {
      *to |= (uint32_t)MOVED; /* a moved value replaces the original */
    }
  }
  return RUN_ON;
}

/* groups before `first` are complete */
static void retire(emu_warp *w, uint32_t first) {
  int kept = 0;
  for (int i = 0; i < w->n_wgmma; i++) {
    const emu_wgmma *one = &w->wgmma[i];
    uint32_t chunks[CHUNKS];
    if (one->group >= first) {
      w->wgmma[kept++] = *one;
      continue;
    }
    for (int which = 0; which < 2; which++) {
      mark_reads(w, chunks, operand_chunks(w, one->in, one->descriptor, which, chunks), -1);
    }
  }
  w->n_wgmma = kept;
  bool any = false;
  for (size_t r = 0; w->any_in_flight && r < w->cap_in_flight; r++) {
    uint32_t group = w->in_flight[r] & ~(uint32_t)MOVED;
    w->in_flight[r] = group > first ? w->in_flight[r] : 0;
    any |= w->in_flight[r] != 0;
  }
  w->any_in_flight = any;
}

/* ---- instructions ---- */

static int whole_group(emu_warp *w, const emu_insn *in, uint32_t mask) {
  if ((w->index | 3) >= w->block->n_warps) {
    return emu_finding(w, in, __builtin_ctz(mask), EMU_BARRIER,
                       "is in a warp group of fewer than four warps: wgmma needs blocks of a "
                       "multiple of 128 threads");
  }
  return emu_warp_sync(w, in, mask, ~0u);
}

static int same_in_all(emu_warp *w, const emu_insn *in, uint64_t descriptors[2]) {
  for (int which = 0; which < 2; which++) {
    if (in->o[1 + which] == EMU_NONE) {
      continue;
    }
    const uint64_t *s = emu_src(w, in->o[1 + which]);
    for (int i = 1; i < EMU_LANES_N; i++) {
      if (s[i] != s[0]) {
        return emu_finding(
            w, in, i, EMU_CALL,
            "passes a matrix descriptor that differs from that of its warp's first thread");
      }
    }
    descriptors[which] = s[0];
  }
  return RUN_ON;
}

/* The four warps of a product must name the same matrices; the first one to arrive decides. */
static int same_in_group(emu_warp *w, const emu_insn *in, const uint64_t descriptors[2]) {
  uint64_t n = ++w->wgmma_count;
  emu_agreement *a = &w->block->agreed[w->index / 4][n % EMU_WGMMA_RING];
  w->block->has_agreed = true;
  if (a->n < n) {
    *a = (emu_agreement){n, {descriptors[0], descriptors[1]}};
  }
  bool same =
      a->n > n || (a->descriptor[0] == descriptors[0] && a->descriptor[1] == descriptors[1]);
  return same
             ? RUN_ON
             : emu_finding(
                   w, in, 0, EMU_CALL,
                   "passes a matrix descriptor that differs from that of its warp group's first warp");
}

/* A row of a sparse b has 64 bytes: how it continues behind a swizzled row of 32 is not published. */
static int check_layout(emu_warp *w, const emu_insn *in, const uint64_t descriptors[2]) {
  const int flags = in->more->mode[5];
  return (flags & WGMMA_sparse) && !(flags & WGMMA_trans_b) &&
                 unpack_descriptor(descriptors[1]).width == 2
             ? emu_finding(
                   w, in, 0, EMU_CALL,
                   "multiplies a sparse matrix by one whose rows of 64 bytes are swizzled by "
                   "32 bytes: use 64 or 128, or none")
             : RUN_ON;
}

/* checks and loads both operands and marks them as being read; a sparse a as it is stored */
static int load_operands(emu_warp *w, const emu_insn *in, const uint64_t descriptors[2],
                         const emu_product *x) {
  const int *mode = in->more->mode;
  int n_d = (in->more->n - (mode[5] & WGMMA_registers ? 4 : 0)) / 2;
  double sign_a = mode[5] & WGMMA_minus_a ? -1 : 1, sign_b = mode[5] & WGMMA_minus_b ? -1 : 1;
  for (int which = 0; which < 2; which++) {
    uint32_t chunks[CHUNKS];
    const int n = operand_chunks(w, in, descriptors, which, chunks);
    const int deep = chunks_of_row(in, which);
    int rc = check_chunks(w, in, chunks, n);
    if (rc) {
      return rc;
    }
    if (which) {
      load_chunks(w, chunks, n, deep, (emu_type)mode[4], mode[5] & WGMMA_trans_b, sign_b, x->b, 1,
                  COLS);
    } else {
      load_chunks(w, chunks, n, deep, (emu_type)mode[3], mode[5] & WGMMA_trans_a, sign_a, x->a,
                  DEPTH, 1);
    }
    mark_reads(w, chunks, n, 1);
  }
  if (mode[5] & WGMMA_registers) {
    emu_matrix_load(w, in, n_d, 4, 0, (emu_type)mode[3], sign_a, x);
  }
  return RUN_ON;
}

int exec_wgmma(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const int *mode = in->more->mode;
  int n_a = mode[5] & WGMMA_registers ? 4 : 0, n_d = (in->more->n - n_a) / 2;
  uint64_t descriptors[2] = {0};
  const bool sparse = mode[5] & WGMMA_sparse;
  double a[ROWS * DEPTH], b[DEPTH * COLS], c[ROWS * COLS], packed[ROWS * DEPTH];
  const emu_product x = {a, b, c, DEPTH, COLS}, stored = {packed, b, c, DEPTH, COLS};
  int rc = whole_group(w, in, mask);
  rc = rc ? rc : same_in_all(w, in, descriptors);
  rc = rc || !w->launch->checks ? rc : same_in_group(w, in, descriptors);
  rc = rc ? rc : check_layout(w, in, descriptors);
  rc = rc ? rc : load_operands(w, in, descriptors, sparse ? &stored : &x);
  if (rc) {
    return rc;
  }
  if (sparse) {
    emu_matrix_spread(w, in, in->imm & 0xff, (int)(in->imm >> 8), &stored, &x);
  }
  if (*(const uint32_t *)emu_src(w, in->o[3]) & 1) {
    emu_matrix_load(w, in, n_d + n_a, n_d, 2, (emu_type)in->type, 1, &x);
  } else {
    memset(c, 0, sizeof c);
  }
  emu_multiply(w, in, &x);
  emu_matrix_store(w, in, n_d, &x);
  if (!remember(w, in, descriptors) || (w->launch->checks && !mark_registers(w, in))) {
    return emu_finding(w, in, 0, EMU_STACK, "cannot execute wgmma: the host is out of memory");
  }
  return RUN_ON;
}

int exec_wgmmacommit(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)in, (void)mask;
  w->wgmma_group++;
  return RUN_ON;
}

int exec_wgmmawait(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)mask;
  retire(w, in->imm < (int64_t)w->wgmma_group ? w->wgmma_group - (uint32_t)in->imm : 0);
  return RUN_ON;
}
