/* emu_check_shared.c -- see emu_check_memory.h.
 *
 * For each byte of shared memory, a shadow holds thread and clock of the last write and of a read.
 * Each warp advances its own clock whenever it synchronises, and a barrier exchanges the clocks of
 * its warps (emu_clock.h). Whether an access is ordered after an earlier one is then a single
 * comparison. src: Flanagan and Freund, "FastTrack: efficient and precise dynamic race detection",
 * PLDI 2009. */
#include "emu_check_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu_finding.h"
#include "emu_poison.h"
#include "emu_remote.h"
#include "emu_shadow.h"
#include "emu_shared_name.h"

/* is the access that the tag describes ordered before this thread's? */
static inline bool ordered(const emu_warp *w, uint32_t tag, int thread) {
  uint32_t clock = emu_tag_clock(tag);
  int by = emu_tag_thread(tag), warp = by / EMU_LANES_N;
  if (clock < w->block->first_clock || tag == SHADOW_REMOTE) {
    return true;
  }
  if (warp == w->index) {
    return by == thread || clock < w->block->clocks[warp][warp];
  }
  return clock <= w->block->clocks[w->index][warp];
}

static int shared_race(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int width,
                       const char *does, const char *did, uint32_t tag) {
  char name[EMU_SHARED_NAME], by[EMU_THREAD_TEXT] = "another thread";
  emu_shared_name(w, address, width, name);
  if (emu_tag_thread(tag) != emu_thread(w, lane)) {
    emu_thread_text(w, emu_tag_thread(tag), by);
  }
  return emu_finding(w, in, lane, EMU_SHARED_RACE, "%s %s, %s by %s since the last barrier", does,
                     name, did, by);
}

static int pending_copy(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int width,
                        const char *does) {
  char name[EMU_SHARED_NAME];
  emu_shared_name(w, address, width, name);
  if (w->block->pending[address] == PENDING_BULK) {
    return emu_finding(w, in, lane, EMU_ASYNC,
                       "%s %s while a bulk copy to it is in flight; wait for its mbarrier first",
                       does, name);
  }
  if (w->block->pending[address] == PENDING_MBARRIER) {
    return emu_finding(w, in, lane, EMU_MBARRIER, "%s %s, which holds an mbarrier", does, name);
  }
  return emu_finding(w, in, lane, EMU_ASYNC,
                     "%s %s while a cp.async to it is in flight; wait for its group first", does,
                     name);
}

static int still_read(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int width) {
  char name[EMU_SHARED_NAME];
  emu_shared_name(w, address, width, name);
  return emu_finding(
      w, in, lane, EMU_ASYNC,
      "writes %s, which an asynchronous operation may still read; wait for its group first", name);
}

/* "writes s[3]" or, for an atomic, "atomically updates s[3]" */
static const char *verb(const emu_insn *in, const char *plain) {
  return in->kind == KIND_atom ? "atomically updates" : plain;
}

static int read_byte(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int width,
                     emu_shadow *s, uint32_t strong) {
  int thread = emu_thread(w, lane);
  uint32_t tag =
      w->block->clocks[w->index][w->index] << SHADOW_CLOCK_SHIFT | (uint32_t)thread | strong;
  if (emu_tag_clock(s->write) < w->block->first_clock && !emu_poison_defers(w, in)) {
    char name[EMU_SHARED_NAME];
    emu_shared_name(w, address, width, name);
    return emu_finding(w, in, lane, EMU_SHARED_UNINIT,
                       "%s %s, which has not been written yet (is a barrier missing?)",
                       verb(in, "reads"), name);
  }
  if (!(strong && s->write & SHADOW_STRONG) && !ordered(w, s->write, thread)) {
    return shared_race(w, in, lane, address, width, verb(in, "reads"), "written", s->write);
  }
  if (ordered(w, s->read, thread) || (s->read & SHADOW_STRONG)) {
    s->read = tag;
  } else if (emu_tag_thread(s->read) != thread) {
    s->read |= SHADOW_MANY;
  }
  return RUN_ON;
}

static int write_byte(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int width,
                      emu_shadow *s, uint32_t strong, bool changes) {
  int thread = emu_thread(w, lane);
  uint32_t tag =
      w->block->clocks[w->index][w->index] << SHADOW_CLOCK_SHIFT | (uint32_t)thread | strong;
  if (changes && !(strong && s->write & SHADOW_STRONG) && !ordered(w, s->write, thread)) {
    return shared_race(w, in, lane, address, width, verb(in, "writes"),
                       "written with another value", s->write);
  }
  bool many = s->read & SHADOW_MANY && emu_tag_thread(s->read) == thread &&
              emu_tag_clock(s->read) >= w->block->clocks[w->index][w->index];
  if (changes && !(strong && s->read & SHADOW_STRONG) && (many || !ordered(w, s->read, thread))) {
    return shared_race(w, in, lane, address, width, verb(in, "writes"), "read", s->read);
  }
  s->write = tag;
  return RUN_ON;
}

/* does the store change the byte, or differ from what another lane stores there at the same time?
 */
static bool changes_byte(const emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                         int lane, int i, const uint8_t *values, const emu_shadow *s) {
  uint8_t value = values[lane * n + i];
  int by = emu_tag_thread(s->write), other = by % EMU_LANES_N;
  if (by / EMU_LANES_N == w->index && other < lane && (mask >> other & 1) &&
      address[other] == address[lane]) {
    return values[other * n + i] != value;
  }
  return w->block->smem[address[lane] + (uint64_t)i] != value;
}

/* Are the shadows of four bytes equal, so that one check covers all? Most accesses are of whole
 * words. */
static inline bool alike(const emu_shadow *s) {
  uint64_t v[4];
  memcpy(v, s, sizeof v);
  return ((v[0] ^ v[1]) | (v[0] ^ v[2]) | (v[0] ^ v[3])) == 0;
}

typedef struct shared_access {
  uint32_t mask, strong;
  const uint64_t *address;
  int n, lane, width;
  emu_access access;
  const uint8_t *values;
} shared_access;

/* bytes i to i + count of one lane's access, whose shadows are equal */
static int check_bytes(emu_warp *w, const emu_insn *in, const shared_access *a, emu_shadow *s,
                       int i, int count) {
  uint64_t address = a->address[a->lane] + (uint64_t)i;
  int rc = RUN_ON;
  if (a->access == ACCESS_READ && emu_tag_clock(s->write) < w->block->first_clock &&
      emu_poison_defers(w, in)) {
    TRY(emu_poison_bytes(w, in, a->lane, address, i, count));
  }
  if (a->access != ACCESS_WRITE) {
    rc = read_byte(w, in, a->lane, address, a->width, s, a->strong);
  }
  if (a->access != ACCESS_READ && !rc) {
    bool changes = a->access == ACCESS_ATOMIC;
    for (int k = 0; k < count && !changes; k++) {
      changes = changes_byte(w, a->mask, a->address, a->n, a->lane, i + k, a->values, s);
    }
    rc = write_byte(w, in, a->lane, address, a->width, s, a->strong, changes);
  }
  for (int k = 1; k < count; k++) {
    s[k] = s[0];
  }
  return rc;
}

static int check_lane(emu_warp *w, const emu_insn *in, const shared_access *a) {
  emu_shadow *s = w->block->shadow + a->address[a->lane];
  const uint8_t *pending = w->block->pending + a->address[a->lane];
  const uint16_t *read_by = w->block->read_by + a->address[a->lane] / 16;
  int rc = RUN_ON;
  if (a->access != ACCESS_READ &&
      (read_by[0] || (a->n > 16 && read_by[1]))) { /* aligned accesses touch at most two chunks */
    return still_read(w, in, a->lane, a->address[a->lane], a->width);
  }
  for (int i = 0; i < a->n && !rc;) {
    int count = a->n - i >= 4 && alike(s + i) ? 4 : 1;
    uint32_t any = pending[i];
    if (count == 4) {
      memcpy(&any, pending + i, sizeof any);
    }
    for (int k = 0; any && k < count; k++) {
      if (pending[i + k]) {
        return pending_copy(w, in, a->lane, a->address[a->lane] + (uint64_t)(i + k), a->width,
                            verb(in, a->access == ACCESS_READ ? "reads" : "writes"));
      }
    }
    rc = check_bytes(w, in, a, s + i, i, count);
    i += count;
  }
  return rc;
}

/* Lanes that read what another lane of the access has read need no check of their own. */
enum { SEEN = 64, MARKED = 0x80 };

typedef struct seen {
  uint8_t lane[SEEN]; /* by address: lane + 1, | MARKED: the bytes are marked as read by several */
} seen;

/* has a lane of this access read the same bytes? */
static bool read_again(const emu_warp *w, const shared_access *a, seen *before) {
  const uint64_t address = a->address[a->lane];
  uint8_t *entry = &before->lane[address >> __builtin_ctz((unsigned)a->n) & (SEEN - 1)];
  const int lane = (*entry & (MARKED - 1)) - 1;
  emu_shadow *s = w->block->shadow + address;
  if (lane < 0 || a->address[lane] != address) {
    *entry = (uint8_t)(a->lane + 1);
    return false;
  }
  for (int i = 0; !(*entry & MARKED) && i < a->n; i++) {
    if (emu_tag_clock(s[i].write) < w->block->first_clock) {
      return false; /* never written */
    }
  }
  for (int i = 0; !(*entry & MARKED) && i < a->n; i++) {
    s[i].read |= SHADOW_MANY;
  }
  *entry |= MARKED;
  return true;
}

int emu_check_shared(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                     int n, emu_access access, const uint8_t *values) {
  if (w->block->clocks[w->index][w->index] >= SHADOW_CLOCK_MAX) {
    return RUN_ON; /* the clock overflows after half a million barriers in one block */
  }
  shared_access a = {mask,    in->flags & INSN_STRONG ? SHADOW_STRONG : 0,
                     address, n,
                     0,       emu_shared_width(in, n),
                     access,  values};
  const bool reads = access == ACCESS_READ && !a.strong;
  seen before = {{0}};
  for (uint32_t left = mask; left; left &= left - 1) {
    a.lane = __builtin_ctz(left);
    int rc = reads && read_again(w, &a, &before) ? RUN_ON : check_lane(w, in, &a);
    if (!rc && w->block->remote) {
      rc = emu_check_others(w, in, a.lane, address[a.lane], n, access,
                            values ? values + a.lane * n : NULL);
    }
    if (rc) {
      return rc;
    }
  }
  return RUN_ON;
}

/* ---- reads by the asynchronous proxy: in chunks of 16 bytes ---- */

static int not_fenced(emu_warp *w, const emu_insn *in, uint64_t address, const char *what,
                      uint32_t tag) {
  char name[EMU_SHARED_NAME], by[EMU_THREAD_TEXT];
  emu_shared_name(w, address, 4, name);
  return emu_finding(
      w, in, 0, EMU_PROXY,
      "%s %s, written by %s without a later fence.proxy.async: the asynchronous proxy may read the old value",
      what, name, emu_thread_text(w, emu_tag_thread(tag), by));
}

static int not_fenced_read(emu_warp *w, const emu_insn *in, int lane, uint64_t address,
                           uint32_t tag) {
  char name[EMU_SHARED_NAME], by[EMU_THREAD_TEXT];
  emu_shared_name(w, address, 4, name);
  return emu_finding(
      w, in, lane, EMU_PROXY,
      "copies in bulk to %s, read by %s without a later fence.proxy.async: the copy may overtake the read",
      name, emu_thread_text(w, emu_tag_thread(tag), by));
}

/* is the access that the tag describes followed by a proxy fence that is ordered before w? */
static bool fenced(const emu_warp *w, uint32_t tag) {
  return emu_tag_clock(tag) <= w->block->proxied[w->index][emu_tag_thread(tag) / EMU_LANES_N];
}

/* `count` bytes whose shadows are equal */
static int check_proxy(emu_warp *w, const emu_insn *in, emu_shadow *s, uint64_t address, int count,
                       const char *what) {
  int rc = read_byte(w, in, 0, address, 4, s, SHADOW_PROXY);
  if (!rc && !(s->write & SHADOW_ASYNC) && !fenced(w, s->write)) {
    rc = not_fenced(w, in, address, what, s->write);
  }
  for (int k = 1; k < count; k++) {
    s[k] = s[0];
  }
  return rc;
}

/* ---- bulk copies, and other blocks' shared memory ---- */

int emu_check_reserve(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                      uint64_t n) {
  if (!w->launch->checks) {
    return RUN_ON;
  }
  for (uint64_t i = 0; i < n; i++) {
    emu_shadow *s = &home->shadow[offset + i];
    char name[EMU_SHARED_NAME];
    if (home->pending[offset + i]) {
      emu_shared_name(w, offset + i, 4, name);
      return emu_finding(w, in, lane, EMU_ASYNC, "copies in bulk to %s, %s", name,
                         home->pending[offset + i] == PENDING_MBARRIER
                             ? "which holds an mbarrier"
                             : "while another copy to it is in flight");
    }
    if (home->read_by[(offset + i) / 16]) {
      return still_read(w, in, lane, offset + i, 4);
    }
    if (home == w->block && !ordered(w, s->read, emu_thread(w, lane))) {
      return shared_race(w, in, lane, offset + i, 4, "copies in bulk to", "read", s->read);
    }
    if (home == w->block && !ordered(w, s->write, emu_thread(w, lane))) {
      return shared_race(w, in, lane, offset + i, 4, "copies in bulk to", "written", s->write);
    }
    TRY(emu_check_remote_copy(w, in, lane, home, offset + i));
    if (home == w->block && emu_tag_clock(s->read) >= home->first_clock &&
        !(s->read & SHADOW_PROXY) && !fenced(w, s->read)) {
      return not_fenced_read(w, in, lane, offset + i, s->read);
    }
  }
  return RUN_ON;
}

void emu_check_reserved(emu_block *b, uint64_t n) {
  for (uint64_t i = 0; b->shadow && i < n; i++) {
    b->shadow[i] = (emu_shadow){.write = SHADOW_REMOTE};
  }
}

void emu_check_arrival(emu_block *home, uint64_t offset, uint64_t n, const emu_warp *by, int lane,
                       uint32_t when) {
  uint32_t tag = home == by->block
                     ? when << SHADOW_CLOCK_SHIFT | (uint32_t)emu_thread(by, lane) | SHADOW_ASYNC
                     : SHADOW_REMOTE;
  for (uint64_t i = 0; i < n && home->shadow; i++) {
    home->shadow[offset + i].write = tag;
  }
  if (home != by->block) {
    emu_check_remote_arrival(home, offset, n, by, lane, when);
  }
}

static bool chunk_alike(const emu_shadow *s) {
  return !memcmp(s, s + 1, 15 * sizeof *s);
}

int emu_check_async(emu_warp *w, const emu_insn *in, const uint32_t *chunks, int n,
                    const char *what) {
  emu_block *b = w->block;
  int rc = RUN_ON;
  for (int c = 0; c < n && !rc; c++) {
    uint64_t pending[2];
    emu_shadow *s = b->shadow + chunks[c];
    memcpy(pending, b->pending + chunks[c], sizeof pending);
    for (int i = 0; (pending[0] | pending[1]) && i < 16; i++) {
      if (b->pending[chunks[c] + (uint32_t)i]) {
        return pending_copy(w, in, 0, chunks[c] + (uint64_t)i, 4, what);
      }
    }
    if (b->remote) {
      rc = emu_check_others(w, in, 0, chunks[c], 16, ACCESS_READ, NULL);
    }
    int step = chunk_alike(s) ? 16 : 1;
    for (int i = 0; i < 16 && !rc; i += step) {
      rc = check_proxy(w, in, s + i, chunks[c] + (uint64_t)i, step, what);
    }
  }
  return rc;
}
