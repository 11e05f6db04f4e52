/* emu_count.c -- see emu_count.h.
 *
 * Global memory moves in sectors of 32 bytes; lanes of a warp that touch the same sector share it.
 * Loads first look in a direct-mapped model of the L1, by lines of 128 bytes. Shared memory has 32
 * banks of 4 bytes. A wavefront serves one word of each bank, so an access takes as many wavefronts
 * as the largest number of different words in one bank. Accesses of 8 and 16 bytes by each lane are
 * split into two and four parts, two of which merge where their addresses are equal. src: CUDA C++
 * Best Practices Guide 13.0, 10.2 (coalescing, bank conflicts); Jia, Maggioni, Staiger, Scarpazza,
 * "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking", 2018, 3. How wide accesses
 * merge is observed, not documented. */
#include "emu_count.h"

#include <string.h>

void emu_count_start(emu_worker *w) {
  uint32_t n = 64;
  while (2 * n <= w->launch->l1_sectors && 2 * n <= EMU_L1_SECTORS) {
    n *= 2;
  }
  memset(w->cache.sector, 0xff, sizeof w->cache.sector);
  memset(w->cache.atomic_turns, 0, sizeof w->cache.atomic_turns);
  memset(w->cache.constant, 0xff, sizeof w->cache.constant);
  w->cache.mask = n - 1;
  w->cache.n = 0;
  w->cache.last = 0;
}

/* Counts sectors for the allocation they belong to; allocations beyond EMU_ALLOCS are not counted.
 */
static void note_allocation(emu_warp *w, emu_cache *c, uint64_t sector, uint64_t n) {
  uint64_t offset = sector * 32 - EMU_GLOBAL_BASE;
  for (int k = 0, i = c->last; k < c->n; k++, i = i + 1 < c->n ? i + 1 : 0) {
    if (offset - c->offset[i] < c->nbytes[i]) {
      c->sectors[i] += n;
      c->last = i;
      return;
    }
  }
  if (c->n < EMU_ALLOCS &&
      emu_heap_extent(w->launch->heap, sector * 32, &c->offset[c->n], &c->nbytes[c->n])) {
    c->sectors[c->n] = n;
    c->last = c->n++;
  }
}

/* An L2 line performs its atomics one after the other, so the line with the most of them matters. A
 * table of a few hundred lines finds it: a line whose slot is taken replaces the other line when it
 * occurs more often (the majority vote of Boyer and Moore, by slots). */
static void note_atomics(emu_cache *c, uint64_t line, uint64_t turns) {
  uint64_t at = (line ^ line >> 9) % EMU_ATOMIC_LINES, *have = &c->atomic_turns[at];
  if (c->atomic_line[at] == line || *have < turns) {
    *have = c->atomic_line[at] == line ? *have + turns : turns - *have;
    c->atomic_line[at] = line;
  } else {
    *have -= turns;
  }
}

/* Atomics of one instruction on the same sector take one turn, on the same word one turn each.
 * Turns are counted in halves: the atomic of a single lane takes half a turn. src: on an H200,
 * reductions whose 4096 blocks add to one number take 1.4 ns a block; histograms. */
static void note_turns(emu_cache *c, uint32_t mask, const uint64_t address[32]) {
  if (!(mask & (mask - 1))) {
    note_atomics(c, address[__builtin_ctz(mask)] / 128, 1);
    return;
  }
  for (uint32_t left = mask; left;) {
    int first = __builtin_ctz(left), most = 1;
    uint32_t sector = 0;
    for (int i = first; i < EMU_LANES_N; i++) {
      sector |= (left >> i & 1 && address[i] / 32 == address[first] / 32 ? 1u : 0) << i;
    }
    left &= ~sector;
    for (uint32_t words = sector; words;) {
      int word = __builtin_ctz(words), same = 0;
      for (int i = word; i < EMU_LANES_N; i++) {
        bool is = words >> i & 1 && address[i] / 4 == address[word] / 4;
        words &= is ? ~(1u << i) : ~0u;
        same += is;
      }
      most = same > most ? same : most;
    }
    note_atomics(c, address[first] / 128, 2 * (uint64_t)most);
  }
}

/* distinct sectors of an access, in the order of lanes */
static int sectors_of(uint32_t mask, const uint64_t address[32], int n,
                      uint64_t out[EMU_LANES_N * 2]) {
  int count = 0;
  uint64_t previous = ~UINT64_C(0), greatest = 0;
  if (emu_consecutive(mask, address, n)) {
    const uint64_t end = address[0] + (uint64_t)(EMU_LANES_N * n);
    for (uint64_t s = address[0] / 32; s * 32 < end; s++) {
      out[count++] = s;
    }
    return count;
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    uint64_t last = (address[i] + (uint64_t)n - 1) / 32;
    for (uint64_t s = address[i] / 32; s <= last; s++) {
      int k = s == previous ? 0 : s > greatest ? -1 : count - 1;
      while (s != previous && k >= 0 && out[k] != s) {
        k--;
      }
      if (s != previous && k < 0 && count < EMU_LANES_N * 2) {
        out[count++] = s;
      }
      previous = s;
      greatest = s > greatest ? s : greatest;
    }
  }
  return count;
}

/* Clocks of the load/store unit, in quarters. A store takes 4 1/4 for each line of 128 bytes or, if
 * that is more, 1 3/4 for each whole sector and 2 1/2 for each partly written one. An atomic takes
 * 2 1/2 for each sector and 1/2 for each lane. These are the L2's rates, divided among the
 * multiprocessors. src: on an H200, fills, copies and transposes that write 1 to 4 partial sectors
 * of a line reach 61 G lines/s or 105 G sectors/s, whole lines 36 G/s; histograms on many copies
 * and split-K products 60 to 150 G atomics/s; histograms spread over clusters of 4 to 16 blocks 30
 * to 50 G/s. */
enum {
  CLOCK = 4,
  STORE_LINE = 17,
  STORE_WHOLE = 7,
  STORE_PART = 10,
  ATOMIC_SECTOR = 10,
  ATOMIC_LANE = 2,
  ATOMIC_FAR = 24 /* for each lane in another block's shared memory */
};

/* A store to the same sectors as the warp's previous one merges with it in the L1, as where each
 * thread fills neighbouring places one after the other. src: scans of segments, 8 neighbouring
 * elements a thread, 4.2 M in 17 us. */
static bool is_same_store(emu_warp *w, const uint64_t *sectors, int n) {
  bool same = w->stored == sectors[0] && w->n_stored == n;
  w->stored = sectors[0];
  w->n_stored = n;
  return same;
}

static uint64_t store_quarters(uint32_t mask, int n, int sectors, int lines) {
  int whole = __builtin_popcount(mask) * n / 32;
  whole = whole < sectors ? whole : sectors;
  int one = STORE_WHOLE * whole + STORE_PART * (sectors - whole), other = STORE_LINE * lines;
  return (uint64_t)(one > other ? one : other);
}

/* lines of 128 bytes, one L1 look-up each; neighbouring sectors are adjacent in the list */
static int lines_of(const uint64_t *sectors, int n) {
  int lines = 0;
  for (int i = 0; i < n; i++) {
    lines += i == 0 || sectors[i] / 4 != sectors[i - 1] / 4;
  }
  return lines;
}

void emu_count_global(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                      emu_access access) {
  uint64_t sectors[EMU_LANES_N * 2];
  sectors[0] = 0; /* mask has at least one lane, which the compiler cannot know */
  emu_traffic *t = &w->block->worker->traffic;
  emu_cache *c = &w->block->worker->cache;
  bool past_l1 = w->code[w->pc - 1].flags & (INSN_PAST_L1 | INSN_STRONG);
  int count = sectors_of(mask, address, n, sectors), hits = 0;
  t->global_requests++;
  if (access == ACCESS_WRITE && is_same_store(w, sectors, count)) {
    w->extra[w->pc - 1] += (uint64_t)(CLOCK * lines_of(sectors, count));
    return;
  }
  for (int i = 0; i < count; i++) {
    uint64_t *slot = &c->sector[(sectors[i] ^ sectors[i] >> 13) & c->mask];
    bool hit = *slot == sectors[i] && access == ACCESS_READ && !past_l1;
    if (access == ACCESS_READ) {
      *slot = sectors[i];
    }
    hits += hit;
    if (!hit) {
      note_allocation(w, c, sectors[i], 1);
    }
  }
  t->load_misses += access == ACCESS_READ ? (uint64_t)(count - hits) : 0;
  *(access == ACCESS_READ ? &t->load_sectors : &t->store_sectors) += (uint64_t)count;
  int lines = lines_of(sectors, count);
  int atomic = ATOMIC_LANE * __builtin_popcount(mask) + ATOMIC_SECTOR * count;
  w->extra[w->pc - 1] += access == ACCESS_WRITE  ? store_quarters(mask, n, count, lines)
                         : access == ACCESS_READ ? (uint64_t)(CLOCK * lines)
                                                 : (uint64_t)atomic;
  w->sectors[w->pc - 1] += (uint64_t)(count - hits);
  if (access == ACCESS_ATOMIC) {
    t->atomic_conflicts += (uint64_t)(__builtin_popcount(mask) - count);
    note_turns(c, mask, address);
  }
}

void emu_count_bulk(emu_warp *w, uint64_t address, uint64_t n, emu_access access) {
  emu_traffic *t = &w->block->worker->traffic;
  uint64_t sectors = (address + n + 31) / 32 - address / 32;
  t->global_requests++;
  t->load_misses += access == ACCESS_READ ? sectors : 0;
  *(access == ACCESS_READ ? &t->load_sectors : &t->store_sectors) += sectors;
  note_allocation(w, &w->block->worker->cache, address / 32, sectors);
}

bool emu_count_polls_again(const emu_warp *w, uint32_t mask, const uint64_t address[32]) {
  const int lane = __builtin_ctz(mask);
  return w->poll_pc == w->pc && w->polled[lane] == address[lane];
}

void emu_count_poll(emu_warp *w, uint32_t mask, const uint64_t address[32]) {
  emu_block *b = w->block;
  bool again = emu_count_polls_again(w, mask, address);
  w->repeats[w->pc - 1] += again;
  w->polls = again ? w->polls + 1 : 0;
  w->poll_pc = w->pc;
  memcpy(w->polled, address, sizeof w->polled);
  b->worker->waits += !again;
  b->worker->look_backs += b->published && !b->polled_after;
  b->polled_after |= b->published;
  b->polled |= !b->published;
}

void emu_count_publish(emu_warp *w) {
  emu_block *b = w->block;
  b->worker->chained += b->polled && !b->published;
  b->published = true;
}

/* Fetching again from the same counter at the same place means that blocks share work dynamically.
 */
void emu_count_fetch(emu_warp *w, uint64_t address) {
  emu_block *b = w->block;
  b->worker->fetches += b->fetch_pc == w->pc && b->fetched == address;
  b->fetch_pc = w->pc;
  b->fetched = address;
}

uint64_t emu_count_arrival(emu_warp *w, uint64_t old, uint64_t most) {
  emu_worker *worker = w->block->worker;
  worker->arrivals = most + 1 > worker->arrivals ? most + 1 : worker->arrivals;
  return w->launch->last ? most : old;
}

void emu_count_join(emu_cache *to, const emu_cache *from) {
  for (int i = 0; i < EMU_ATOMIC_LINES; i++) {
    bool same = to->atomic_line[i] == from->atomic_line[i] || !to->atomic_turns[i];
    to->atomic_line[i] = same ? from->atomic_line[i] : to->atomic_line[i];
    to->atomic_turns[i] += same ? from->atomic_turns[i] : 0;
  }
  for (int i = 0; i < from->n; i++) {
    int k = 0;
    while (k < to->n && to->offset[k] != from->offset[i]) {
      k++;
    }
    if (k == to->n && k < EMU_ALLOCS) {
      to->offset[k] = from->offset[i];
      to->nbytes[k] = from->nbytes[i];
      to->sectors[k] = 0;
      to->n++;
    }
    if (k < to->n) {
      to->sectors[k] += from->sectors[i];
    }
  }
}

/* do all lanes whose numbers differ only in this bit have the same address? */
static bool alike(uint32_t mask, const uint64_t address[32], int bit) {
  for (int i = 0; i < EMU_LANES_N; i++) {
    if ((mask >> i & mask >> (i ^ bit) & 1) && address[i] != address[i ^ bit]) {
      return false;
    }
  }
  return true;
}

/* the largest number of different words in one bank */
static int wavefronts_of(uint32_t mask, const uint64_t address[32], int n) {
  uint64_t words[32][32];
  uint8_t count[32] = {0};
  int most = 1;
  for (int i = 0; i < EMU_LANES_N; i++) {
    for (uint64_t a = address[i] / 4; (mask >> i & 1) && a <= (address[i] + (uint64_t)n - 1) / 4;
         a++) {
      unsigned bank = (unsigned)a & 31;
      int k = count[bank] - 1;
      while (k >= 0 && words[bank][k] != a) {
        k--;
      }
      if (k < 0 && count[bank] < 32) {
        words[bank][count[bank]++] = a;
        most = count[bank] > most ? count[bank] : most;
      }
    }
  }
  return most;
}

/* Accesses of 8 bytes are served by halves of a warp, of 16 bytes by quarters. Two of them merge
 * where all neighbouring lanes, or all lanes two apart, have the same address. */
static int wavefronts(uint32_t mask, const uint64_t address[32], int n) {
  int lanes = n <= 4 ? 32 : n <= 8 ? 16 : 8, all = 0;
  lanes *= n > 4 && (alike(mask, address, 1) || alike(mask, address, 2)) ? 2 : 1;
  for (int i = 0; i < EMU_LANES_N; i += lanes) {
    uint32_t part = mask & (lanes == 32 ? UINT32_MAX : ((UINT32_C(1) << lanes) - 1) << i);
    all += part ? wavefronts_of(part, address, n) : 0;
  }
  return all ? all : 1;
}

/* the largest number of lanes that update the same word */
static int repeats(uint32_t mask, const uint64_t address[32]) {
  int most = 1;
  for (int i = 0; i < EMU_LANES_N; i++) {
    int same = 0;
    for (int j = 0; j < EMU_LANES_N; j++) {
      same += (mask >> i & 1) && (mask >> j & 1) && address[i] == address[j];
    }
    most = same > most ? same : most;
  }
  return most;
}

/* number of lanes that access another block of the cluster */
static int far_lanes(const emu_warp *w, uint32_t mask, const uint64_t address[32]) {
  int n = 0;
  for (int i = 0; i < EMU_LANES_N && w->launch->cluster_size > 1; i++) {
    n += (mask >> i & 1) && address[i] >> EMU_RANK_SHIFT;
  }
  return n;
}

void emu_count_shared(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                      emu_access access) {
  emu_traffic *t = &w->block->worker->traffic;
  int fronts = wavefronts(mask, address, n);
  if (access == ACCESS_ATOMIC) {
    int same = repeats(mask, address);
    fronts = same > fronts ? same : fronts;
    t->atomic_conflicts += (uint64_t)(same - 1);
    w->extra[w->pc - 1] += (uint64_t)(ATOMIC_FAR * far_lanes(w, mask, address));
  }
  t->shared_requests++;
  t->shared_wavefronts += (uint64_t)fronts;
  w->extra[w->pc - 1] += (uint64_t)(CLOCK * fronts);
}

/* A warp reads one address of constant memory at a time: each further address is a replay. src: CUDA
 * C++ Programming Guide 13.0, "Device Memory Accesses", constant memory; the cache's size and lines:
 * Jia et al. 2018, 3.3 */
void emu_count_constant(emu_warp *w, uint32_t mask, const uint64_t address[32]) {
  emu_traffic *t = &w->block->worker->traffic;
  uint64_t *cache = w->block->worker->cache.constant;
  int different = 0;
  for (uint32_t left = mask; left; different++) {
    const uint64_t at = address[__builtin_ctz(left)], line = at / EMU_CONSTANT_LINE;
    uint64_t *slot = &cache[line % EMU_CONSTANT_LINES];
    t->constant_misses += *slot != line;
    *slot = line;
    for (uint32_t rest = left; rest; rest &= rest - 1) {
      const int i = __builtin_ctz(rest);
      left &= address[i] == at ? ~(1u << i) : ~0u;
    }
  }
  t->constant_requests++;
  t->constant_replays += (uint64_t)(different - 1);
  w->extra[w->pc - 1] += (uint64_t)(CLOCK * different);
}
