-- segmented_sort: the keys of every segment, or keys with values, in ascending or descending order;
-- stable.
--
-- Segments are what lies between neighbours among the offsets. One launch looks at all of them:
--   a group of lanes sorts a segment of up to GROUP * GROUP_ITEMS keys in its registers,
--   a warp one of up to 32 * WARP_ITEMS,
--   and whatever is longer goes on a list.
-- In a second launch blocks take tasks in order: segments of up to a tile (BLOCK * ITEMS), which they
-- sort in shared memory by digits, least significant first; then the tiles of longer ones, whose digits
-- of all passes are counted first, and then those tiles again for every pass. Tiles of a pass learn by
-- look-back how many keys of a digit their segment has before them, as in radix_sort's onesweep, and
-- wait for the pass before. The tiles of all long segments are one sequence, so few long segments
-- occupy the device as well as many; and a task waits only for such as were taken before it.
--
-- Groups and warps sort by Batcher's bitonic network: words of a key and its place, so equal keys keep
-- their order. Keys are compared as radix_sort's are.
--
-- What is the least? Each key and value in and out once, if no segment is longer than a tile.

local KEY = "sel(dtype == 'u8' or dtype == 'i8', 1, sel(dtype == 'u16' or dtype == 'i16' or "
  .. "dtype == 'f16' or dtype == 'bf16', 2, sel(dtype == 'u32' or dtype == 'i32' or "
  .. "dtype == 'f32', 4, 8)))"
local arrays = { "keys_in", "values_in", "keys_out", "values_out" }
local function with(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, entry in ipairs(list) do all[#all + 1] = entry end
  end
  return all
end


-- The reference merges runs of 1, 2, 4, ... keys of a segment, from keys_out to `was` and back, as often
-- as a segment of n keys would need, and ends in keys_out.
local REFERENCE_PASSES = "sel(n <= 1, 0, log2(max(1, n - 1)) + 1)"
local REFERENCE_GRID = "min(65536, ceildiv(n, 256))"
local out, was = { "keys_out", "values_out" }, { "was", "was_values" }
local reference_stages = {
  { kernel = "find_segments", grid = REFERENCE_GRID, block = 256,
    args = { "n", "segments", "offsets", "segment" } },
}
for odd = 0, 1 do
  reference_stages[#reference_stages + 1] = { kernel = "take", grid = REFERENCE_GRID, block = 256,
    when = REFERENCE_PASSES .. " % 2 == " .. odd,
    args = with({ "n", "segment", "keys_in", "values_in" }, odd == 1 and was or out) }
end
for pass = 0, 30 do
  for odd = 0, 1 do
    reference_stages[#reference_stages + 1] = { kernel = "pass", grid = REFERENCE_GRID, block = 256,
      when = REFERENCE_PASSES .. " > " .. pass .. " and (" .. REFERENCE_PASSES .. " - 1 - " .. pass
        .. ") % 2 == " .. odd,
      args = with({ "n", { "i64", 1 << pass }, "offsets", "segment" }, odd == 1 and out or was,
        odd == 1 and was or out) }
  end
end

return {
  name = "segmented_sort",
  version = 1,
  brief = "stable sort of every segment's keys, or of its keys with values",
  cite = "Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs; "
    .. "Batcher, Sorting networks and their applications",

  problem = {
    { "n", 0, 2^31 - 1, default = 2^22, brief = "keys" },
    { "segments", 0, 2^31 - 2, default = "n // 64", brief = "segments; any lengths" },
    { "dtype", { "u32", "i32", "f32", "u64", "i64", "f64", "u16", "i16", "f16", "bf16", "u8", "i8" },
      default = "u32", brief = "type of the keys" },
    { "value_bytes", { 0, 4, 8 }, default = 0, brief = "bytes of the value of each key; 0: none" },
    { "order", { "ascending", "descending" }, default = "ascending",
      brief = "equal keys stay in their order" },
    { "words", { 1, 2, 3, 4, 5, 6, 16, 64 }, default = 1, -- of tests and timing
      brief = "random words whose bitwise and is a key; 64: all keys are 0" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "segments", "i64", value = "segments" },
    { "offsets", "i32", "in", count = "segments + 1", fill = { "sorted", 0, "n" },
      brief = "where segments begin, ascending, and where the last ends; keys outside stay unwritten" },
    { "keys_in", "dtype", "in", count = "n", fill = { "bits", "words" } },
    { "values_in", "u32", "in", count = "n * (value_bytes // 4)", fill = { "ramp", 0, 1 },
      brief = "n values of value_bytes" },
    { "keys_out", "dtype", "out", count = "n", brief = "not keys_in itself" },
    { "values_out", "u32", "out", count = "n * (value_bytes // 4)" },
  },

  call = { "dtype", "order", "value_bytes", "n", "segments", "offsets", "keys_in", "keys_out",
    "values_in", "values_out" },
  call_require = {
    { "values of 8 bytes have to be aligned to 8",
      "value_bytes ~= 8 or values_in % 8 == 0 and values_out % 8 == 0" },
  },

  space = {
    { "GROUP", { 4, 8, 16, 32 }, "lanes that sort the shortest segments" },
    { "GROUP_ITEMS", { 1, 2, 4, 8 }, "keys of each of them" },
    { "WARP_ITEMS", { 1, 2, 4, 8, 16 }, "keys a lane of a warp sorts" },
    { "RADIX", { 4, 5, 6, 7, 8 }, "bits of a digit at most" },
    { "BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads per block" },
    { "ITEMS", { 4, 6, 8, 10, 12, 16, 20, 24, 28, 32 }, "coarsening factor: keys per thread" },
    { "RANK", { "ballot", "ballot_mad", "match", "or" },
      "how a warp finds equal digits: a ballot a bit, inverted by logic or by a multiplication; one "
        .. "instruction; masks in shared memory" },
    { "COUNTER", { 32, 16 }, "bits of a warp's counters" },
    { "LOOK", { 1, 4, 8 }, "tiles that a look back loads at a time" },
    { "RESIDENT", { 1, 2, 3, 4, 6, 8 }, "blocks a multiprocessor has registers for" },
    { "OVERLAP", { "off", "on" }, "blocks of a launch start while the last of the one before run" },
  },

  derive = {
    { "KEY", KEY }, -- bytes
    { "VALUE", "value_bytes" },
    { "WIDE", "0" },
    { "FIRST_BIT", "0" },
    { "BITS", "8 * KEY" },
    { "PASSES", "ceildiv(BITS, RADIX)" },
    { "DIGIT", "ceildiv(BITS, PASSES)" },
    { "BINS", "1 << DIGIT" },
    { "ROW", "max(8, BINS)" }, -- counters of a warp
    { "WARPS", "BLOCK // 32" },
    { "TILE", "BLOCK * ITEMS" },
    { "BINS_THREAD", "ceildiv(BINS, BLOCK)" },
    { "COUNTERS", "WARPS * ROW * (COUNTER // 8 + sel(RANK == 'or', 4, 0))" },
    { "AT_ONCE", "0" },
    { "PACK", "1" },
    { "COPIES", "1" },
    { "SMEM", "max(COUNTERS, TILE * (KEY + VALUE), 4 * PASSES * BINS)" },
    { "BLOCKS", "dev_sms * RESIDENT" },
    { "LONGS", "n // (TILE + 1)" }, -- segments longer than a tile, at most
    { "TILES", "n // TILE + LONGS" }, -- theirs, at most
    { "REGS", "ITEMS * (max(4, KEY) // 4 + 1 + VALUE // 4) + 20" },
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "a few bits less take as many passes", "RADIX == DIGIT or RADIX == 8" },
    { "warps take no more than groups", "32 * WARP_ITEMS > GROUP * GROUP_ITEMS" },
    { "blocks take no more than warps", "TILE > 32 * WARP_ITEMS" },
    { "fewer keys a tile than digits", "TILE >= 2 * BINS" },
    { "short counters overflow", "COUNTER == 32 or TILE < 65536" },
    { "short counters, though long ones have room",
      "COUNTER == 32 or 4 * WARPS * ROW > TILE * (KEY + VALUE)" },
    { "launches overlap from compute capability 9.0 on", "OVERLAP == 'off' or dev_cc >= 90" },
    { "a thread's keys exceed the registers", "REGS <= 255" },
    { "that many blocks exceed a multiprocessor's registers",
      "BLOCK * RESIDENT * REGS <= dev_regs_sm" },
    { "that many blocks exceed a multiprocessor's threads", "BLOCK * RESIDENT <= dev_threads_sm" },
    { "more shared memory than a block may have", "SMEM + 4096 <= dev_smem_block" },
    { "that many blocks exceed a multiprocessor's shared memory",
      "RESIDENT * (SMEM + 4096 + dev_smem_reserved) <= dev_smem_sm" },
  },

  default = { GROUP = 8, GROUP_ITEMS = 4, WARP_ITEMS = 8, RADIX = 8, BLOCK = 256, ITEMS = 8,
    RANK = "ballot", COUNTER = 32, LOOK = 4, RESIDENT = 2, OVERLAP = "off" },

  workspace = {
    { "keys_tmp", "u8", "sel(LONGS > 0 and PASSES > 1, n * KEY, 0)" },
    { "values_tmp", "u8", "sel(LONGS > 0 and PASSES > 1, n * VALUE, 0)" },
    { "work", "u32", "6" }, -- struct work
    { "middle", "i32", "min(segments, n // (32 * WARP_ITEMS + 1) + 1)" },
    { "longs", "u64", "LONGS + 1" },
    -- Of each long segment and pass how many of its keys have a digit; where these begin.
    { "counts", "u32", "LONGS * PASSES * BINS" },
    { "begins", "u32", "LONGS * PASSES * BINS" },
    { "published", "u64", "TILES * BINS" },
    { "arrived", "u32", "LONGS + 1" },
    { "done", "u32", "LONGS + 1" }, -- tiles of a long segment, in all passes
  },

  stages = {
    { kernel = "sort_short", block = 256, grid = "ceildiv(segments * GROUP, 256)",
      args = with({ "segments", "offsets" }, arrays, { "work", "middle", "longs" }) },
    { kernel = "sort_longer", block = "BLOCK", grid = "min(segments, BLOCKS)", smem = "SMEM",
      overlap = "OVERLAP == 'on'",
      args = with({ "offsets" }, arrays, { "keys_tmp", "values_tmp", "work", "middle", "longs",
        "counts", "begins", "published", "arrived", "done" }) },
  },

  source = [==[
@include "last_block.cuh"
@include "lanes.cuh"
@include "ptx.cuh"
@include "words.cuh"

@ local chained, tiles, from_top = true, true, false
@ local EQUALS, COUNT, SCATTER, SEEK, VALUES = "ordered", "late", "shared", "late", "late"
@ local LOAD, STORE, WRITE = "plain", "plain", "lanes"
@include "radix_tile.cuh"
@include "radix_move.cuh"

// ---- what is to do -----------------------------------------------------------------------------

// What launches tell each other; zeros at first, and again when the last launch is done but for the
// epoch, which tells the words of a pass from those before.
struct work {
  unsigned long long longs_tiles;  // long segments, above their tiles
  unsigned middles, ticket, arrived, epoch;
};

struct long_segment {
  int segment;
  unsigned first_tile;
};

// The next number of a counter; told to every thread of the block.
__device__ __forceinline__ unsigned take(unsigned *ticket) {
  __shared__ unsigned taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(ticket, 1);
  __syncthreads();
  return taken;
}

// ---- segments of a few lanes -------------------------------------------------------------------

@include "radix_entry.cuh"

// `count` keys from `start` on, up to LANES * EACH: lanes load neighbours, which is another order than
// they then sort in; places tell.
template <int LANES, int EACH>
__device__ __forceinline__ void sort_few(int start, int count, const key *keys_in,
                                         const value *values_in, key *keys_out,
                                         value *values_out) {
  const int lane = threadIdx.x % LANES;
  entry v[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int at = i * LANES + lane;
    v[i] = make_entry((key)~(key)0, at);
    if (at < count) v[i] = make_entry(encode(load_plain(keys_in + start + at)), at);
  }
  sort_lanes<LANES>(v);
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int at = lane * EACH + i;
    if (at < count) {
      keys_out[start + at] = key_of(v[i], keys_in + start, false);
@ if VALUE > 0 then
      values_out[start + at] = values_in[start + (int)v[i].at()];
@ end
    }
  }
}

// Longer segments go on the lists.
__device__ __forceinline__ void put_on_list(int segment, int count, work *w, int *middle,
                                            long_segment *longs) {
  if (count <= TILE) {
    middle[atomicAdd(&w->middles, 1)] = segment;
  } else {
    const unsigned tiles = (count - 1) / TILE + 1;
    const unsigned long long at = atomicAdd(&w->longs_tiles, 1ull << 32 | tiles);
    longs[at >> 32] = {segment, (unsigned)at};
  }
}

extern "C" __global__ void __launch_bounds__(256)
sort_short(long long segments, const int *offsets, const key *keys_in, const value *values_in,
           key *keys_out, value *values_out, work *w, int *middle, long_segment *longs) {
  constexpr int FEW = GROUP * GROUP_ITEMS, SOME = 32 * WARP_ITEMS;
  const long long s = (blockIdx.x * 256ll + threadIdx.x) / GROUP;
  int start = 0, count = 0;
  let_next_start();
  if (s < segments) {
    start = offsets[s];
    count = offsets[s + 1] - start;
  }
  if (__any_sync(0xffffffff, count > 0 && count <= FEW)) {
    sort_few<GROUP, GROUP_ITEMS>(start, count <= FEW ? count : 0, keys_in, values_in, keys_out,
                                 values_out);
  }
  unsigned left = __ballot_sync(0xffffffff, count > FEW && threadIdx.x % GROUP == 0);
  while (left) {
    const int lane = __ffs(left) - 1;
    left &= left - 1;
    const int from = __shfl_sync(0xffffffff, start, lane), n = __shfl_sync(0xffffffff, count, lane);
    if (n <= SOME) sort_few<32, WARP_ITEMS>(from, n, keys_in, values_in, keys_out, values_out);
  }
  if (count > SOME && threadIdx.x % GROUP == 0) put_on_list((int)s, count, w, middle, longs);
}

// ---- segments of a block -----------------------------------------------------------------------

@include "radix_block.cuh"

// ---- segments of many tiles --------------------------------------------------------------------

// Of a segment: tiles that are done.
__device__ __forceinline__ void tell_done(unsigned *done, unsigned tiles) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, tiles);
  }
}
__device__ __forceinline__ void wait_for(const unsigned *done, unsigned tiles) {
  if (threadIdx.x == 0) {
    while (load_acquire(done) < tiles) __nanosleep(20);
  }
  __syncthreads();
}

// A tile of a long segment.
struct tile_of {
  unsigned index;  // the segment's, among the long ones
  unsigned tile, tiles;
  int start, count;

  __device__ __forceinline__ tile_of(unsigned t, unsigned n, const long_segment *longs,
                                     const int *offsets) {
    unsigned least = 0, most = n;  // the last whose first tile is not after this one
    while (most - least > 1) {
      const unsigned middle = (least + most) / 2;
      if (longs[middle].first_tile <= t) least = middle;
      else most = middle;
    }
    index = least;
    tile = t - longs[least].first_tile;
    start = offsets[longs[least].segment];
    count = offsets[longs[least].segment + 1] - start;
    tiles = (count - 1) / TILE + 1;
  }
};

// Counts the tile's digits; the last to do so of the segment's tiles finds where each digit begins.
__device__ __forceinline__ void count_tile(const tile_of &t, const key *keys_in, unsigned *counts,
                                           unsigned *begins, unsigned *arrived, unsigned *done) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  const long long first = (long long)t.tile * TILE, room = t.count - first;
  key k[ITEMS];
  get_keys(k, keys_in + t.start + first, room, false);
  for (int i = threadIdx.x; i < PASSES * BINS; i += BLOCK) counters[i] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < room) count_key(k[i]);
  }
  __syncthreads();
  counts += (long long)t.index * (PASSES * BINS);
  begins += (long long)t.index * (PASSES * BINS);
  add_digits<BLOCK>(counts);
  if (!is_last_block(arrived + t.index, t.tiles)) return;
  for (int p = threadIdx.x / 32; p < PASSES; p += WARPS) {
    scan_pass((position)t.count, counts + p * BINS, begins + p * BINS);
  }
  tell_done(done + t.index, t.tiles);
}

// A tile publishes how many keys of a digit it has, then how many its segment has up to and with it, as
// a word of the digit: the pass's epoch, which of the two, the number.
constexpr unsigned SUM = 1u << 31, NUMBER = SUM - 1;
using word64 = unsigned long long;

__device__ __forceinline__ unsigned look_back(const word64 *words, unsigned tile, unsigned epoch) {
  unsigned sum = 0;
  const word64 *row = words - BINS;
  for (;;) {
    word64 v[LOOK];
#pragma unroll
    for (int j = 0; j < LOOK; j++) v[j] = load_relaxed(row - (tile > j + 1 ? j : tile - 1) * BINS);
#pragma unroll
    for (int j = 0; j < LOOK; j++) {
      while ((unsigned)(v[j] >> 32) != epoch) v[j] = load_relaxed(row);
      sum += (unsigned)v[j] & NUMBER;
      if ((unsigned)v[j] & SUM) return sum;
      row -= BINS;
      tile--;
    }
  }
}

__device__ __forceinline__ void move_long(const tile_of &t, unsigned at, int pass, unsigned epoch,
                                          const arrays &all, const unsigned *begins,
                                          word64 *words) {
  begins += ((long long)t.index * PASSES + pass) * BINS;
  word64 *own = words + (long long)at * BINS;
  const auto publish = [&](int bin, unsigned number) {
    store_relaxed(own + bin, (word64)epoch << 32 | number);
  };
  const auto tell = [&](const unsigned (&count)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) {
        publish(bin, t.tile > 0 ? count[j] : SUM | (begins[bin] + count[j]));
      }
    }
  };
  const auto find = [&](const unsigned (&count)[BINS_THREAD],
                        const unsigned (&start)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) {
        const unsigned before = t.tile > 0 ? look_back(own + bin, t.tile, epoch) : begins[bin];
        if (t.tile > 0) publish(bin, SUM | (before + count[j]));
        bases[bin] = before - start[j];
      }
    }
  };
  const long long room = t.count - (long long)t.tile * TILE;
  clear_counters();
  move_tile(all.of_pass(pass), place_of(pass), t.tile, room, tell, find);
}

// The last block leaves everything ready for the next launch.
__device__ __forceinline__ void finish(work *w, unsigned longs, unsigned *done) {
  for (unsigned i = threadIdx.x; i < longs; i += BLOCK) done[i] = 0;
  if (threadIdx.x == 0) {
    w->longs_tiles = 0;
    w->middles = w->ticket = 0;
    w->epoch += PASSES;
  }
}

// The tasks: segments of a tile, tiles of longer ones whose digits are counted, and those of each pass.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
sort_longer(const int *offsets, const key *keys_in, const value *values_in, key *keys_out,
            value *values_out, key *keys_tmp, value *values_tmp, work *w, const int *middle,
            const long_segment *longs, unsigned *counts, unsigned *begins, word64 *words,
            unsigned *arrived, unsigned *done) {
  wait_for_last();
  const unsigned middles = w->middles, epoch = w->epoch;
  const unsigned n = w->longs_tiles >> 32, tiles = (unsigned)w->longs_tiles;
  const unsigned long long tasks = middles + (PASSES + 1ull) * tiles;
  for (unsigned task = take(&w->ticket); task < tasks; task = take(&w->ticket)) {
    if (task < middles) {
      const int start = offsets[middle[task]], count = offsets[middle[task] + 1] - start;
      sort_in_block(count, keys_in + start, values_in + start, keys_out + start, values_out + start);
      continue;
    }
    const unsigned step = (task - middles) / tiles, at = (task - middles) % tiles;
    const tile_of t(at, n, longs, offsets);
    if (step == 0) {
      count_tile(t, keys_in, counts, begins, arrived, done);
      continue;
    }
    const arrays all = {keys_in + t.start,  values_in + t.start,
                        keys_out + t.start, values_out + t.start,
                        keys_tmp + t.start, values_tmp + t.start};
    wait_for(done + t.index, step * t.tiles);
    move_long(t, at, step - 1, epoch + step, all, begins, words);
    if (step < PASSES) tell_done(done + t.index, 1);
  }
  if (is_last_block(&w->arrived, gridDim.x)) finish(w, n, done);
}
]==],

  -- Every key counts the keys of its segment that come before it.
  reference = {
    workspace = {
      { "was", "u8", "n * (" .. KEY .. ")" },
      { "was_values", "u8", "n * value_bytes" },
      { "segment", "i32", "n" },
    },
    stages = reference_stages,
    source = [[
@ local size = tonumber(dtype:match("%d+")) // 8
@ local unsigned = { "unsigned char", "unsigned short", nil, "unsigned", nil, nil, nil,
@   "unsigned long long" }
@ local float = dtype:find("f") ~= nil
using key = @{unsigned[size]};
using value = @{unsigned[value_bytes] or "unsigned"};

// The word by which a key is compared.
__device__ unsigned long long word_of(key k) {
  const bool negative = k >> @{8 * size - 1} & 1;
@ if float then
  if ((key)(k << 1) == 0) k = 0;  // zeros of either sign
  else if (negative) return (key)~k;
  return (unsigned long long)k | 1ull << @{8 * size - 1};
@ elseif dtype:sub(1, 1) == "i" then
  return (key)(k ^ (key)1 << @{8 * size - 1});
@ else
  return k;
@ end
}

// The last segment that begins at or before each key; -1 where none does or it has ended.
extern "C" __global__ void find_segments(long long n, long long segments, const int *offsets,
                                         int *segment) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    long long least = -1, most = segments - 1;
    while (least < most) {
      const long long s = (least + most + 1) / 2;
      if (offsets[s] <= i) least = s;
      else most = s - 1;
    }
    segment[i] = least >= 0 && i < offsets[least + 1] ? least : -1;
  }
}

__device__ void put(long long to, long long from, const key *x, const value *xv, key *y, value *yv) {
  y[to] = x[from];
@ if value_bytes > 0 then
  yv[to] = xv[from];
@ end
}

extern "C" __global__ void take(long long n, const int *segment, const key *x, const value *xv,
                                key *y, value *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    if (segment[i] >= 0) put(i, i, x, xv, y, yv);
  }
}

__device__ bool goes_before(key a, key b) {
  return word_of(a) @{order == "descending" and ">" or "<"} word_of(b);
}

// How many of n keys go before x; with ties, also those that tie with it.
__device__ long long rank(key x, const key *keys, long long n, bool ties) {
  long long least = 0, most = n;
  while (least < most) {
    const long long i = (least + most) / 2;
    if (ties ? !goes_before(x, keys[i]) : goes_before(keys[i], x)) least = i + 1;
    else most = i;
  }
  return least;
}

extern "C" __global__ void pass(long long n, long long run, const int *offsets, const int *segment,
                                const key *x, const value *xv, key *y, value *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    const int s = segment[i];
    if (s < 0) continue;
    const long long first = offsets[s], last = offsets[s + 1];
    const long long start = i - (i - first) % (2 * run), middle = min(start + run, last);
    const long long end = min(middle + run, last);
    const bool left = i < middle;
    const long long before = left ? rank(x[i], x + middle, end - middle, false)
                                  : rank(x[i], x + start, middle - start, true);
    put(start + (i - (left ? start : middle)) + before, i, x, xv, y, yv);
  }
}
]],
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "2 * n * (" .. KEY .. " + value_bytes)",

  sizes = {
    emu = { "n=3001 segments=40", "n=0 segments=3", "n=500 segments=300 dtype=f32 value_bytes=4",
      "n=9000 segments=3 dtype=i16 order=descending value_bytes=8",
      "n=4000 segments=60 value_bytes=4 words=16" },
    test = { "n=0", "n=1 segments=1", "n=1000 segments=0", "n=100000 segments=30000 value_bytes=4",
      "n=300000 segments=700 dtype=f32 order=descending value_bytes=8",
      "n=500000 segments=20 dtype=i64 value_bytes=4", "n=200003 segments=2000 dtype=u8",
      "n=200000 segments=1 dtype=f64 value_bytes=4", "n=100000 segments=300000 dtype=f16",
      "n=200000 segments=3000 words=16 value_bytes=4", "n=150000 segments=2 words=64 value_bytes=4" },
    bench = { "n=2^22 segments=2^12", "n=2^22 segments=2^16", "n=2^22 segments=2^20",
      "n=2^26 segments=2^12", "n=2^26 segments=2^16", "n=2^26 segments=2^20",
      "n=2^26 segments=16", "n=2^26 segments=2^16 value_bytes=4" },
  },
}
