/* emu_exec_bulk.c -- bulk copies of bytes, and of tiles of tensors by tensor maps.
 *
 * A copy is checked when it is issued and done after every warp of the block has had its slice, so
 * that threads which do not wait for it access bytes that are not there yet. Copies from shared
 * memory are done at the latest when their group is waited for. src: PTX ISA 9.0, 9.7.9.25.5;
 * tensors: 5.5 (tiled mode, swizzling). */
#include "emu_async.h"

#include <string.h>

#include "array.h"
#include "emu_access.h"
#include "emu_atomic.h"
#include "emu_check_memory.h"
#include "emu_clock.h"
#include "emu_count.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_modes.h"

enum { CHUNK = 16, TENSOR_ALIGN = 128 };

/* ---- tiles ---- */

static uint64_t box_nbytes(const emu_tensor_map *m) {
  return emu_tensor_rows(m) * m->box[0] * m->element_nbytes;
}

/* Coordinates of pixel `i` of a column: from b->at on through the box of pixels, then through the next
 * of the last dimension. src: PTX ISA 9.0, 5.5.4 (im2col mode). */
static void pixel_at(const emu_bulk *b, uint64_t i, int64_t at[5]) {
  const emu_tensor_map *m = &b->map;
  const int last = m->rank - 1;
  int64_t carry = (int64_t)i;
  for (int d = 1; d < last; d++) {
    const int64_t low = m->lower[d - 1], extent = (int64_t)m->dims[d] + m->upper[d - 1] - low;
    const int64_t place = b->at[d] - low + carry;
    const int64_t within = (place % extent + extent) % extent;
    carry = (place - within) / extent;
    at[d] = low + within + b->filter[d - 1];
  }
  at[last] = b->at[last] + carry;
}

/* address of a row of the box; false: the row is outside the tensor */
static bool row_of(const emu_bulk *b, uint64_t row, uint64_t *address) {
  const emu_tensor_map *m = &b->map;
  int64_t at[5];
  bool inside = true;
  *address = m->address;
  if (m->pixels) {
    pixel_at(b, row, at);
  }
  for (int d = 1; d < m->rank; d++) {
    if (!m->pixels) {
      at[d] = (int64_t)b->at[d] + (int64_t)(row % m->box[d]);
      row /= m->box[d];
    }
    inside &= at[d] >= 0 && (uint64_t)at[d] < m->dims[d];
    *address += inside ? (uint64_t)at[d] * m->strides[d - 1] : 0;
  }
  return inside;
}

static uint32_t swizzled(const emu_tensor_map *m, uint32_t address) {
  return address ^ (address >> 7 & (uint32_t)(m->swizzle - 1)) << 4;
}

/* The number of elements of a row that are inside the tensor, from *first on. Stores write whole
 * chunks of 16 bytes even at the tensor's edge (observed on an H200). */
static uint64_t columns_inside(const emu_bulk *b, uint64_t *first) {
  const emu_tensor_map *m = &b->map;
  int64_t whole = b->op == BULK_STORE && m->rank ? CHUNK / m->element_nbytes : 1;
  int64_t low = b->at[0] < 0 ? -(int64_t)b->at[0] : 0,
          high = ((int64_t)m->dims[0] + whole - 1) / whole * whole - (int64_t)b->at[0];
  high = high < m->box[0] ? high : m->box[0];
  *first = (uint64_t)low;
  return high > low ? (uint64_t)(high - low) : 0;
}

/* ---- global memory ---- */

static int bad_range(emu_warp *w, const emu_insn *in, int lane, uint64_t address, uint64_t n,
                     rt_emu_check check) {
  str text = {0};
  emu_heap_describe(w->launch->heap, address, &text);
  int rc =
      emu_finding(w, in, lane, check, "copies %llu bytes%s: %s", (unsigned long long)n,
                  check == EMU_GLOBAL_UNINIT ? " that were never written" : "", str_text(&text));
  str_clear(&text);
  return rc;
}

static int check_range(emu_warp *w, const emu_insn *in, int lane, uint64_t address, uint64_t n,
                       emu_access access) {
  emu_heap *h = w->launch->heap;
  if (!emu_heap_host(h, address, n)) {
    return bad_range(w, in, lane, address, n, EMU_GLOBAL_BOUNDS);
  }
  const uint8_t *state = h->state + (address - EMU_GLOBAL_BASE);
  for (uint64_t i = 0; i < n && w->launch->checks; i++) {
    if (access == ACCESS_READ && !(state[i] & BYTE_WRITTEN)) {
      return bad_range(w, in, lane, address + i, n, EMU_GLOBAL_UNINIT);
    }
    if (access == ACCESS_WRITE && (state[i] & BYTE_CONST)) {
      return bad_range(w, in, lane, address + i, n, EMU_READ_ONLY);
    }
  }
  if (w->launch->touched) {
    emu_touch(w->launch->touched, address, n, access);
  }
  if (w->block->counting) {
    emu_count_bulk(w, address, n, access);
  }
  return RUN_ON;
}

/* checks all of global memory that the copy touches */
static int check_global_side(emu_warp *w, const emu_bulk *b, emu_access access) {
  uint64_t first, address, n = columns_inside(b, &first), size = b->map.element_nbytes;
  if (!b->map.rank) {
    return check_range(w, b->in, b->lane, b->global, b->nbytes, access);
  }
  uint64_t rows = b->nbytes / (b->map.box[0] * size);
  int rc = RUN_ON;
  for (uint64_t row = 0; row < rows && n && !rc; row++) {
    if (row_of(b, row, &address)) {
      rc = check_range(w, b->in, b->lane,
                       address + ((uint64_t)((int64_t)b->at[0] + (int64_t)first)) * size, n * size,
                       access);
    }
  }
  return rc;
}

/* ---- doing it ---- */

/* writes n bytes, or reduces their elements into `to` */
static void put_bytes(const emu_bulk *b, uint8_t *to, const uint8_t *from, uint64_t n) {
  const int size = emu_type_bytes(b->type);
  if (!b->reduction) {
    memmove(to, from, n);
  }
  for (uint64_t i = 0; b->reduction && i + (uint64_t)size <= n; i += (uint64_t)size) {
    emu_atomic_update(b->type, b->reduction - 1, to + i, emu_get(from + i, 0, size), 0);
  }
}

/* copies between global memory and `smem` */
static void copy_bytes(const emu_bulk *b, emu_heap *h, uint8_t *smem, uint64_t address,
                       uint64_t n) {
  uint8_t *global = h->data + (address - EMU_GLOBAL_BASE);
  if (b->op == BULK_STORE) {
    put_bytes(b, global, smem, n);
    memset(h->state + (address - EMU_GLOBAL_BASE), BYTE_ALLOCATED | BYTE_WRITTEN, n);
  } else {
    memcpy(smem, global, n);
  }
}

static void fill_outside(const emu_tensor_map *m, uint8_t *to, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    to[i] = m->nan ? EMU_OOB_NAN >> (i % 2 * 8) & 0xff : 0;
  }
}

/* element by element, because tiles may be swizzled by chunks of 16 bytes */
static void move_row(const emu_bulk *b, emu_heap *h, uint64_t row) {
  const emu_tensor_map *m = &b->map;
  uint64_t size = m->element_nbytes, width = m->box[0] * size, address, first;
  uint64_t n = columns_inside(b, &first) * size;
  bool inside = row_of(b, row, &address);
  uint32_t base = b->shared + (uint32_t)(row * width);
  for (uint64_t i = 0; i < width; i += size) {
    uint8_t *at = b->home->smem + swizzled(m, base + (uint32_t)i);
    bool there = inside && i >= first * size && i < first * size + n;
    if (there) {
      int64_t column = (int64_t)b->at[0] * (int64_t)size + (int64_t)i;
      copy_bytes(b, h, at, address + (uint64_t)column, size);
    } else if (b->op == BULK_LOAD) {
      fill_outside(m, at, size);
    }
  }
}

static void move_bytes(const emu_bulk *b, emu_heap *h) {
  uint8_t *shared = b->home->smem + b->shared;
  if (b->op == BULK_BETWEEN || b->op == BULK_WORD) {
    put_bytes(b, shared, b->op == BULK_WORD ? b->data : b->warp->block->smem + b->from, b->nbytes);
  } else if (!b->map.rank) {
    copy_bytes(b, h, shared, b->global, b->nbytes);
  } else {
    uint64_t rows = b->nbytes / ((uint64_t)b->map.box[0] * b->map.element_nbytes);
    for (uint64_t row = 0; row < rows; row++) {
      move_row(b, h, row);
    }
  }
}

static bool reads_shared(const emu_bulk *b) {
  return b->op == BULK_STORE || b->op == BULK_BETWEEN;
}

static void mark_source(const emu_bulk *b, int by) {
  uint32_t from = b->op == BULK_STORE ? b->shared : b->from;
  for (uint64_t i = 0; i < b->nbytes && reads_shared(b); i += CHUNK) {
    uint16_t *count = &b->warp->block->read_by[(from + i) / CHUNK];
    *count = (uint16_t)(*count + by);
  }
}

static int deliver(emu_bulk *b) {
  emu_warp *w = b->warp;
  move_bytes(b, w->launch->heap);
  mark_source(b, -1);
  if (b->op == BULK_STORE) {
    return RUN_ON;
  }
  memset(b->home->pending + b->shared, 0, b->nbytes);
  emu_check_arrival(b->home, b->shared, b->nbytes, w, b->lane, b->when);
  return emu_mbarrier_complete(w, b->in, b->lane, b->when, b->barrier_home, b->barrier,
                               (uint32_t)b->nbytes);
}

int emu_bulk_deliver(emu_block *b) {
  int n = b->n_bulks, rc = RUN_ON;
  b->n_bulks = 0;
  for (int i = 0; i < n && rc == RUN_ON; i++) {
    rc = emu_interrupted(b->launch) ? RUN_FAULT : deliver(&b->bulks[i]);
  }
  return rc == RUN_ON && n ? RUN_PICK : rc;
}

/* ---- issuing ---- */

static bool remember(emu_block *b, const emu_bulk *one) {
  bool grown = array_reserve(&b->bulks, b->n_bulks + 1, &b->cap_bulks, sizeof *one);
  if (grown) {
    b->bulks[b->n_bulks++] = *one;
  }
  return grown;
}

static uint64_t address_of(const emu_warp *w, const emu_insn *in, int slot, int lane) {
  int bytes = in->more->widths[slot - 1];
  uint64_t base =
      emu_get(emu_src(w, in->o[slot]), lane, bytes) + (uint64_t)in->more->offsets[slot - 1];
  return bytes == 4 ? (uint32_t)base : base;
}

static int misaligned(emu_warp *w, const emu_bulk *b, const char *what, uint64_t value,
                      unsigned align) {
  return emu_finding(w, b->in, b->lane, EMU_MISALIGNED,
                     "copies in bulk with %s 0x%llx, which is not a multiple of %u", what,
                     (unsigned long long)value, align);
}

/* block and offset of an address in shared memory, generic or not */
static int find_home(emu_warp *w, const emu_bulk *b, uint64_t address, uint64_t n, emu_block **home,
                     uint32_t *offset) {
  uint64_t at;
  if (address >> EMU_WINDOW_SHIFT == EMU_SHARED_WINDOW >> EMU_WINDOW_SHIFT) {
    address -= EMU_SHARED_WINDOW;
  }
  *home = emu_cluster_home(w->block, address, &at);
  *offset = (uint32_t)at;
  if (*home && (*home)->done) {
    return emu_finding(w, b->in, b->lane, EMU_SHARED_BOUNDS,
                       "copies %llu bytes to block (%u,%u,%u) of its cluster, which has exited",
                       (unsigned long long)n, (*home)->ctaid[0], (*home)->ctaid[1],
                       (*home)->ctaid[2]);
  }
  if (!*home || at + n > w->launch->smem_nbytes || n > w->launch->smem_nbytes) {
    return emu_finding(
        w, b->in, b->lane, EMU_SHARED_BOUNDS,
        "copies %llu bytes at shared address %llu in bulk, but a block has %llu bytes",
        (unsigned long long)n, (unsigned long long)address,
        (unsigned long long)w->launch->smem_nbytes);
  }
  return RUN_ON;
}

/* Of the coordinates that are refused here, a GPU reports an illegal instruction. */
static int take_coordinate(emu_warp *w, emu_bulk *b, int d) {
  const int32_t at = (int32_t)emu_get(emu_src(w, b->in->more->ops[d]), b->lane, 4);
  const int64_t byte = (int64_t)at * b->map.element_nbytes;
  b->at[d] = at;
  if (b->op == BULK_STORE && at < 0) {
    return emu_finding(
        w, b->in, b->lane, EMU_GLOBAL_BOUNDS,
        "stores %s at coordinate %d in dimension %d: only loads may begin below 0 (a GPU reports an illegal instruction)",
        b->map.pixels ? "columns (im2col)" : "a tile", at, d);
  }
  if (!d && byte % CHUNK) {
    return emu_finding(
        w, b->in, b->lane, EMU_MISALIGNED,
        "copies a tile at coordinate %d in dimension 0, which is byte %lld of a row: it must be a multiple of 16 (a GPU reports an illegal instruction)",
        at, (long long)byte);
  }
  return RUN_ON;
}

/* Copies of columns begin inside the map's box of pixels, and only loads by a box that begins below 0. */
static int check_box(emu_warp *w, const emu_bulk *b) {
  for (int d = 1; b->map.pixels && d < b->map.rank - 1; d++) {
    const int low = b->map.lower[d - 1];
    const int64_t high = (int64_t)b->map.dims[d] + b->map.upper[d - 1] - 1;
    if (b->at[d] < low || b->at[d] > high) {
      return emu_finding(
          w, b->in, b->lane, EMU_GLOBAL_BOUNDS,
          "copies columns (im2col) from coordinate %d in dimension %d, outside of the tensor map's box of pixels, %d to %lld (a GPU reports an illegal instruction)",
          b->at[d], d, low, (long long)high);
    }
    if (b->op == BULK_STORE && low < 0) {
      return emu_finding(
          w, b->in, b->lane, EMU_GLOBAL_BOUNDS,
          "stores columns (im2col) by a tensor map whose box of pixels begins at %d in dimension %d: only loads may begin below 0 (a GPU reports an illegal instruction)",
          low, d);
    }
  }
  return RUN_ON;
}

static int take_map(emu_warp *w, emu_bulk *b, uint64_t address) {
  const emu_more *more = b->in->more;
  if (!emu_peek(w, b->lane, address, sizeof b->map, &b->map) || !emu_tensor_valid(&b->map) ||
      b->map.rank != more->mode[1]) {
    return emu_finding(w, b->in, b->lane, EMU_CALL,
                       "uses a tensor map at 0x%llx that is invalid or does not have %d dimensions",
                       (unsigned long long)address, more->mode[1]);
  }
  if (!b->map.pixels != !more->mode[4]) {
    return emu_finding(w, b->in, b->lane, EMU_CALL, "copies %s by a tensor map of %s",
                       more->mode[4] ? "columns (im2col)" : "a tile",
                       more->mode[4] ? "tiles" : "columns (im2col)");
  }
  for (int d = 0; b->map.pixels && b->op == BULK_LOAD && d < b->map.rank - 2; d++) {
    const int32_t op = more->ops[more->mode[1] + 1 + d];
    b->filter[d] = (uint16_t)emu_get(emu_src(w, op), b->lane, 2);
  }
  for (int d = 0; d < more->mode[1]; d++) {
    TRY(take_coordinate(w, b, d));
  }
  TRY(check_box(w, b));
  b->nbytes = box_nbytes(&b->map);
  b->type = b->map.type;
  return !b->reduction || emu_atom_fits(b->reduction - 1, b->type)
             ? RUN_ON
             : emu_finding(w, b->in, b->lane, EMU_CALL,
                           "reduces into a tensor whose elements do not take this reduction");
}

/* the values of st.async and red.async, their destination and mbarrier */
static int fill_word(emu_warp *w, emu_bulk *b) {
  const emu_more *more = b->in->more;
  const uint64_t to = address_of(w, b->in, 1, b->lane);
  const int size = emu_type_bytes(b->type);
  for (int i = 0; i < more->n; i++) {
    const uint64_t v = emu_get(emu_src(w, more->ops[i]), b->lane, size);
    memcpy(b->data + i * size, &v, (size_t)size);
  }
  b->nbytes = (uint64_t)(more->n * size);
  TRY(find_home(w, b, to, b->nbytes, &b->home, &b->shared));
  if (b->shared % b->nbytes) {
    return misaligned(w, b, "shared address", b->shared, (unsigned)b->nbytes);
  }
  return find_home(w, b, address_of(w, b->in, 3, b->lane), 8, &b->barrier_home, &b->barrier);
}

/* source, destination and size */
static int fill_in(emu_warp *w, emu_bulk *b) {
  const emu_insn *in = b->in;
  bool store = b->op == BULK_STORE, tensor = in->more->mode[1];
  uint64_t to = address_of(w, in, 1, b->lane), from = address_of(w, in, 2, b->lane);
  uint64_t shared = store ? from : to, global = store ? to : from;
  int rc = RUN_ON;
  if (tensor) {
    rc = take_map(w, b, global);
  } else {
    b->nbytes = emu_get(emu_src(w, in->o[4]), b->lane, 4);
    b->global = global;
  }
  unsigned align = tensor ? TENSOR_ALIGN : CHUNK;
  rc = rc ? rc : find_home(w, b, shared, b->nbytes, &b->home, &b->shared);
  if (!rc && (b->shared % align || b->nbytes % CHUNK || (!tensor && global % CHUNK))) {
    bool by_shared = b->shared % align, by_global = !tensor && global % CHUNK;
    return misaligned(w, b,
                      by_shared   ? "shared address"
                      : by_global ? "address"
                                  : "a size of",
                      by_shared   ? b->shared
                      : by_global ? global
                                  : b->nbytes,
                      by_shared ? align : CHUNK);
  }
  if (!rc && b->op == BULK_BETWEEN) {
    emu_block *own;
    rc = find_home(w, b, from, b->nbytes, &own, &b->from);
  }
  if (!rc && !store) {
    rc = find_home(w, b, address_of(w, in, 3, b->lane), 8, &b->barrier_home, &b->barrier);
  }
  return rc;
}

static int check_source(emu_warp *w, const emu_bulk *b) {
  uint32_t from = b->op == BULK_STORE ? b->shared : b->from;
  int rc = RUN_ON;
  for (uint64_t i = 0; i < b->nbytes && !rc && w->launch->checks; i += CHUNK) {
    uint32_t chunk = from + (uint32_t)i;
    rc = emu_check_async(w, b->in, &chunk, 1, "copies");
  }
  return rc;
}

static int issue(emu_warp *w, emu_bulk *b) {
  int rc = RUN_ON;
  if (b->op == BULK_LOAD || b->op == BULK_STORE) {
    rc = check_global_side(w, b, b->op == BULK_STORE ? ACCESS_WRITE : ACCESS_READ);
  }
  if (!rc && b->op == BULK_STORE && b->reduction) {
    rc = check_global_side(w, b, ACCESS_READ);
  }
  rc = rc || !reads_shared(b) ? rc : check_source(w, b);
  rc = rc || b->op == BULK_STORE ? rc : emu_check_visit(w, b->in, b->lane, b->home);
  if (!rc && b->op != BULK_STORE && !b->reduction) {
    rc = emu_check_reserve(w, b->in, b->lane, b->home, b->shared, b->nbytes);
  }
  if (rc) {
    return rc;
  }
  mark_source(b, 1);
  if (b->op == BULK_STORE) {
    w->bulk_reads |= 1u << b->lane;
  } else if (!b->reduction) {
    memset(b->home->pending + b->shared, PENDING_BULK, b->nbytes);
  }
  return remember(w->block, b) ? RUN_ON
                               : emu_finding(w, b->in, b->lane, EMU_STACK,
                                             "cannot copy in bulk: the host is out of memory");
}

/* copies to the same offset in every block of the mask */
static int issue_to_all(emu_warp *w, emu_bulk *b) {
  const emu_more *more = b->in->more;
  int rc = RUN_ON;
  if (!more->mode[2]) {
    return issue(w, b);
  }
  uint64_t mask = emu_get(emu_src(w, more->ops[more->mode[1]]), b->lane, 2);
  if (mask >> w->launch->cluster_size) {
    return emu_finding(w, b->in, b->lane, EMU_SHARED_BOUNDS,
                       "copies to blocks 0x%llx of a cluster of %d blocks",
                       (unsigned long long)mask, w->launch->cluster_size);
  }
  for (int rank = 0; rank < w->launch->cluster_size && !rc; rank++) {
    b->home = b->barrier_home = w->block->cluster_blocks[rank];
    rc = mask >> rank & 1 ? issue(w, b) : RUN_ON;
  }
  return rc;
}

int exec_bulk(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = emu_interrupted(w->launch) ? RUN_FAULT : RUN_ON; /* copies may take long */
  for (int lane = 0; lane < EMU_LANES_N && !rc; lane++) {
    emu_bulk b = {.in = in,
                  .warp = w,
                  .lane = lane,
                  .op = in->more->mode[0],
                  .reduction = in->more->mode[3],
                  .type = (emu_type)in->type,
                  .group = w->bulk_group[lane],
                  .when = w->block->clocks[w->index][w->index]};
    if (mask >> lane & 1) {
      rc = b.op == BULK_WORD ? fill_word(w, &b) : fill_in(w, &b);
      rc = rc || !b.nbytes ? rc : issue_to_all(w, &b);
    }
  }
  emu_clock_tick(w);
  return rc;
}

int exec_bulkcommit(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)in;
  for (int i = 0; i < EMU_LANES_N; i++) {
    w->bulk_group[i] += mask >> i & 1;
  }
  return RUN_ON;
}

/* completes the stores of these lanes, except their `imm` youngest groups */
int exec_bulkwait(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_block *block = w->block;
  int kept = 0, rc = RUN_ON;
  for (int i = 0; i < block->n_bulks; i++) {
    emu_bulk *b = &block->bulks[i];
    bool mine = b->warp == w && mask >> b->lane & 1 && b->op == BULK_STORE;
    if (mine && (int64_t)b->group + in->imm < (int64_t)w->bulk_group[b->lane]) {
      rc = rc ? rc : deliver(b);
    } else {
      block->bulks[kept++] = *b;
    }
  }
  block->n_bulks = kept;
  w->bulk_reads &= in->imm ? ~0u : ~mask;
  return rc;
}
