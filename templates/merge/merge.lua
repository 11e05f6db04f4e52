-- merge: two sorted sequences, a of m keys and b of n, become one, c; values go along, if there are.
--
-- Stable: of keys that tie those of a come first, and each sequence keeps its order. All parts of c
-- are made at the same time: the co-rank of a place in c says which keys of a and b come before it
-- (merge_path.cuh). How a part is made is ALG:
--   corank      every thread searches and merges in global memory
--   tiled       a block takes a stretch of c: it loads a tile of a and one of b, merges as many keys as
--               a tile has, and loads both anew
--   circular    the same, but what was loaded and not used stays: only the rest of the tiles is loaded
--   merge_path  a block knows where its tile of c starts and ends in a and b, and loads just that
--               (merge_tile.cuh); its threads merge alone or in windows (merge_window.cuh), and blocks
--               may stay and merge one tile after the other (merge_stream.cuh)
-- The order is that of merge_order.cuh, which says how to merge by another.

local NBYTES = "sel(dtype == 'i64' or dtype == 'u64' or dtype == 'f64', 8, "
  .. "sel(dtype == 'i8' or dtype == 'u8', 1, sel(dtype == 'i16' or dtype == 'u16', 2, 4)))"
local PARTS = "ceildiv(m + n, STRETCH)" -- of c
local LEAST = "sel(dtype == 'i64' or dtype == 'i32' or dtype == 'i16' or dtype == 'i8', "
  .. "-(keys // 2), sel(dtype == 'f32' or dtype == 'f64', -1000, 0))"
local MOST = "sel(dtype == 'f32' or dtype == 'f64', 1000, " .. LEAST .. " + keys - 1)"

-- For problems that nobody tuned, as an H200 was fast with: keys aligned to vectors, then any.
local SUGGESTED = { { when = "m + n <= 2^17", ALG = "corank", PARTITION = "thread", BLOCK = 256,
  ITEMS = 2, STORE = "direct" } }
local function suggest(condition, config)
  config.when = condition
  SUGGESTED[#SUGGESTED + 1] = config
end
for _, nbytes in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // nbytes
  local aligned = "dev_cc >= 80 and value == 0 and NBYTES == " .. nbytes .. " and align >= "
  local function suggest_for(most, wide, config)
    config.VEC = math.min(vec, wide)
    suggest(aligned .. config.VEC .. " and m + n <= " .. most, config)
  end
  suggest_for("2^21", 4, { PARTITION = "block", BLOCK = 128, ITEMS = 12, STORE = "block",
    CACHE = "streaming" })
  if nbytes == 1 then
    suggest_for("2^37", 4, { PARTITION = "block", BLOCK = 128, ITEMS = 28, LOADER = "cpasync",
      STORE = "direct", CACHE = "streaming" })
  elseif nbytes <= 4 then
    suggest_for("2^25", 16, { PARTITION = "block", BLOCK = 256, ITEMS = 32, MERGE = "network",
      LOADER = "cpasync", STORE = "warp" })
    suggest_for("2^37 and dev_cc >= 90", 4, { BLOCK = 512, ITEMS = 20, LOADER = "cpasync",
      STORE = "warp", OVERLAP = "on" })
  else
    suggest_for("2^37 and dev_cc >= 90", 2, { BLOCK = 384, ITEMS = 24, LOADER = "cpasync",
      STORE = "warp", OVERLAP = "on" })
  end
end
suggest("m + n <= 2^21", { PARTITION = "block", BLOCK = 128, ITEMS = 9, STORE = "warp" })
suggest("value > 0", { BLOCK = 256, ITEMS = 5 })
suggest("m + n > 2^17", { BLOCK = 256, ITEMS = 15, STORE = "warp" })

return {
  name = "merge",
  version = 1,
  brief = "merges two sorted sequences, stable",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 12; "
    .. "Green, McColl, Bader, GPU merge path",

  problem = {
    { "m", 0, 2^36, default = 2^23, brief = "keys of a" },
    { "n", 0, 2^36, default = "m", brief = "keys of b" },
    { "dtype", { "i32", "u32", "i64", "u64", "f32", "f64", "i16", "u16", "i8", "u8" },
      default = "i32", brief = "type of the keys; floats that are numbers" },
    { "value", { 0, 4, 8 }, default = 0, brief = "bytes of the value that goes with a key" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "keys that a, b and c are aligned to" },
    { "keys", 1, 2^32, default = "sel(dtype == 'i8' or dtype == 'u8', 256, "
      .. "sel(dtype == 'i16' or dtype == 'u16', 2^16, 2^32))",
      brief = "different keys that integers in tests and timing have" },
  },

  args = {
    { "m", "i64", value = "m" },
    { "n", "i64", value = "n" },
    { "a", "dtype", "in", count = "m", fill = { "sorted", LEAST, MOST } },
    { "b", "dtype", "in", count = "n", fill = { "sorted", LEAST, MOST } },
    { "c", "dtype", "out", count = "m + n" },
    { "av", "u8", "in", count = "m * value", fill = { "uniform", 0, 255 }, brief = "values of a" },
    { "bv", "u8", "in", count = "n * value", fill = { "uniform", 0, 255 }, brief = "values of b" },
    { "cv", "u8", "out", count = "(m + n) * value", brief = "values of c" },
  },

  call = { "dtype", "value", "m", "n", "a", "av", "b", "bv", "c", "cv",
    align = "min(min(pow2div(a // (" .. NBYTES .. "), 16), pow2div(b // (" .. NBYTES .. "), 16)), "
      .. "pow2div(c // (" .. NBYTES .. "), 16))",
    keys = "2^32" },

  space = {
    { "ALG", { "corank", "tiled", "circular", "merge_path" }, "how a part of c is made" },
    { "PARTITION", { "launch", "block", "thread" },
      "who finds where parts start: a launch before, a warp of the block, or each thread" },
    { "SEARCH", { 1, 4, 8, 32 }, "lanes of that launch that look for one: the more, the fewer loads that "
      .. "wait for each other, and the more of them", when = "PARTITION == 'launch'" },
    { "BLOCK", { 64, 128, 192, 256, 384, 512, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 28, 32 },
      "coarsening factor: keys of c per thread and tile" },
    { "TILES", { 1, 2, 4, 8, 16 }, "tiles of a block's stretch of c" },
    { "MERGE", { "serial", "network" },
      "a thread merges its part key by key, or a group of threads theirs by a network of exchanges",
      when = "ALG == 'merge_path'" },
    { "MADS", { 0, 1, 2 }, "of three exchanges those that find the later key by multiplications, "
      .. "which another unit does than that which compares", when = "MERGE == 'network'" },
    { "VEC", { 1, 2, 4, 8, 16 }, "keys per load and store" },
    { "LOADER", { "register", "cpasync", "bulk" },
      "into shared memory through registers, or past them, or as bulk copies" },
    { "STAGES", { 1, 2, 3 },
      "tiles that a block holds; with more than one, blocks stay, and a warp more has the next tiles "
        .. "copied while the others merge", when = "ALG == 'merge_path'" },
    { "RESIDENT", { 1, 2, 3, 4, 5, 6, 8 }, "blocks of a multiprocessor that stay",
      when = "STAGES > 1" },
    { "STORE", { "direct", "block", "warp" },
      "threads store their own keys, or exchange them in a block's or a warp's shared memory" },
    { "CACHE", { "plain", "streaming" }, "operator of stores to c" },
    { "OVERLAP", { "off", "on" },
      "blocks of a launch start while the last of the launch before run",
      when = "PARTITION == 'launch' and ALG == 'merge_path'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "TILE", "BLOCK * ITEMS" },
    { "STRETCH", "TILE * TILES" }, -- of a block
    { "UNITS", "ITEMS // VEC" }, -- vectors of c per thread and tile
    { "ROW", "UNITS + 1 - UNITS % 2" }, -- odd, so that rows of vectors start in different banks
    -- Of merge_path: the tile's keys, with up to VEC - 1 more at both ends of its parts of a and b.
    { "ROOM", "sel(ALG == 'merge_path', TILE + 4 * VEC, 2 * TILE)" },
    { "ITEM", "sel(value == 0, NBYTES, 2 * max(2, NBYTES))" }, -- a key and where it came from
    { "ROWS", "sel(MERGE == 'network', roundup(TILE * ITEM + sel(ITEMS % 2 == 0, "
      .. "ceildiv(TILE * ITEM, 128) * max(4, ITEM), 0), 16), 0)" },
    { "TILE_SMEM", "sel(ALG == 'corank', 0, max(max(ROOM * NBYTES, ROWS), sel(STORE == 'direct', 0, "
      .. "max(BLOCK * ROW * VEC * NBYTES, sel(value > 0, BLOCK * (ITEMS + 1) * 4, 0)))))" },
    { "STAGE", "roundup(TILE_SMEM, 128)" },
    { "SHARED", "STAGES * STAGE" },
    { "THREADS", "BLOCK + sel(STAGES > 1, 32, 0)" },
  },

  require = {
    { "tiles are brought as bulk copies, by who knows where they start",
      "STAGES == 1 or LOADER == 'bulk' and BLOCK < dev_threads_block" },
    { "more blocks than a multiprocessor has room for", "STAGES == 1 or "
      .. "RESIDENT * (SHARED + 256 * STAGES + dev_smem_reserved) <= dev_smem_sm and "
      .. "RESIDENT * THREADS <= dev_threads_sm and RESIDENT * THREADS * "
      .. "(ITEMS * max(4, NBYTES) // 4 * sel(value > 0, 2, 1) + 24) <= dev_regs_sm" },
    { "launches overlap from compute capability 9.0 on", "OVERLAP == 'off' or dev_cc >= 90" },
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "a thread's keys are no whole number of vectors", "ITEMS % VEC == 0" },
    { "threads of so few keys mostly search", "ITEMS >= 4 or ALG == 'corank' or m + n <= 2^18" },
    { "only tiles and circular buffers are repeated",
      "TILES == 1 or ALG == 'tiled' or ALG == 'circular'" },
    { "one tile of a stretch is what merge_path does",
      "TILES > 1 or ALG == 'corank' or ALG == 'merge_path'" },
    { "each thread searches only without tiles", "(PARTITION == 'thread') == (ALG == 'corank')" },
    { "loads of single keys, except of exact parts", "VEC == 1 or ALG == 'merge_path'" },
    { "asynchronous copies need compute capability 8.0 and 4, 8 or 16 bytes",
      "LOADER ~= 'cpasync' or ALG == 'merge_path' and dev_cc >= 80 and VEC * NBYTES >= 4" },
    { "bulk copies need compute capability 9.0 and vectors of 16 bytes",
      "LOADER ~= 'bulk' or ALG == 'merge_path' and dev_cc >= 90 and VEC * NBYTES == 16" },
    { "only exact parts leave shared memory to exchange keys in",
      "STORE == 'direct' or ALG == 'merge_path'" },
    { "multiplications are of keys of 32 bits", "MADS == 0 or value == 0 and NBYTES == 4" },
    { "windows need a power of two of keys",
      "MERGE == 'serial' or ispow2(ITEMS) and ITEMS >= 4" },
    { "a thread's keys exceed the registers", "ITEMS * max(4, NBYTES) <= 192" },
    { "a block's keys exceed the registers",
      "BLOCK * (ITEMS * max(4, NBYTES) // 4 * sel(value > 0, 2, 1) + 28) <= dev_regs_block" },
    { "more shared memory than a block may have", "SHARED + 256 * STAGES <= dev_smem_block" },
    { "more parts than a grid may have", PARTS .. " < 2^31" },
  },

  default = { ALG = "merge_path", PARTITION = "launch", SEARCH = 1, BLOCK = 256, ITEMS = 8, TILES = 1,
    MERGE = "serial", MADS = 0, VEC = 1, LOADER = "register", STORE = "block", CACHE = "plain",
    OVERLAP = "off", STAGES = 1, RESIDENT = 1 },
  untuned = SUGGESTED,

  workspace = {
    { "splits", "i64", "sel(PARTITION == 'launch', " .. PARTS .. " + 1, 0)" },
  },

  stages = {
    { kernel = "merge_split", when = "PARTITION == 'launch'",
      grid = "sel(m + n == 0, 0, ceildiv((" .. PARTS .. " + 1) * SEARCH, 128))", block = 128,
      args = { "m", "n", "a", "b", { "i64", PARTS }, "splits" } },
    { kernel = "merge", block = "THREADS", smem = "SHARED", overlap = "OVERLAP == 'on'",
      grid = "min(" .. PARTS .. ", sel(STAGES > 1, RESIDENT * dev_sms, 2^31))",
      args = { "m", "n", "a", "b", "c", "av", "bv", "cv", "splits" } },
  },

  source = [[
@ local load_keys, ways, neighbours = "load_constant", 2, false
@include "ptx.cuh"
@include "words.cuh"
@ if OVERLAP == "on" then
@include "lanes.cuh"
@ end
@ if LOADER == "bulk" then
@include "ptx90.cuh"
@include "bulk.cuh"
@ end

@include "merge_key.cuh"
@ if value > 0 then
using value = @{value == 4 and "unsigned" or "uint2"};  // bits
@ else
using value = unsigned char;  // there are none
@ end

@include "merge_path.cuh"
@ if MERGE == "network" then
@include "merge_item.cuh"
@include "merge_window.cuh"
@ end
@include "merge_tile.cuh"
@ if STAGES > 1 then
@include "merge_stream.cuh"
@ end

struct sequences {
  long long m, n;
  const key *__restrict__ a, *__restrict__ b;
  key *__restrict__ c;
  const value *__restrict__ av, *__restrict__ bv;
  value *__restrict__ cv;
};

@ if PARTITION == "launch" then
extern "C" __global__ void __launch_bounds__(128)
merge_split(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
            long long parts, long long *splits) {
@   if OVERLAP == "on" then
  griddepcontrol_launch_dependents();
@   end
  const long long part = (blockIdx.x * 128ll + threadIdx.x) / SEARCH, d = min(part * STRETCH, m + n);
@   if SEARCH == 1 then
  const long long i = co_rank(d, a, m, b, n);
@   else
  const long long i = co_rank_group<SEARCH>(d, a, m, b, n);
@   end
  if (threadIdx.x % SEARCH == 0 && part <= parts) splits[part] = i;
}

@ end
@ if ALG == "corank" then
extern "C" __global__ void __launch_bounds__(BLOCK)
merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
      key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
      value *__restrict__ cv, const long long *splits) {
  const long long first = ((long long)blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
  const long long end = min(first + ITEMS, m + n);
  if (first >= end) return;
  long long i = co_rank(first, a, m, b, n), j = first - i;
  for (long long k = first; k < end; k++) {
    const bool from_a = j >= n || (i < m && !before(b[j], a[i]));
    c[k] = from_a ? a[i] : b[j];
@   if value > 0 then
    cv[k] = from_a ? av[i] : bv[j];
@   end
    (from_a ? i : j)++;
  }
}
@ else
// Where a block's stretch of c starts and ends in a; all its threads must come here.
__device__ __forceinline__ void split(long long first, long long end, const sequences &s,
                                      const long long *splits, long long *from, long long *to) {
@   if PARTITION == "launch" then
@     if OVERLAP == "on" then
  griddepcontrol_wait();
@     end
  *from = splits[blockIdx.x];
  *to = splits[blockIdx.x + 1];
@   else
  __shared__ long long found[2];
  const int warp = threadIdx.x / 32;
  if (warp < 2) {
    const long long i = co_rank_warp(warp == 0 ? first : end, s.a, s.m, s.b, s.n);
    if (threadIdx.x % 32 == 0) found[warp] = i;
  }
  __syncthreads();
  *from = found[0];
  *to = found[1];
@   end
}

@   if value > 0 then
// The value of a place in the tile of c that starts at `first`.
struct fetch {
  const sequences &s;
  long long first, a_first, b_first;
  int a_count;

  __device__ __forceinline__ void operator()(int place, int source) const {
    s.cv[first + place] =
        source < a_count ? s.av[a_first + source] : s.bv[b_first + source - a_count];
  }
};

@   end
@   if ALG == "merge_path" then
@     if STAGES > 1 then
struct tile_finder {
  const sequences &s;
@       if PARTITION == "launch" then
  const long long *splits;
  unsigned tile;  // the next

  __device__ __forceinline__ void next(piece (&p)[2], int *count, long long *to) {
    const long long first = (long long)tile * TILE, end = min(first + TILE, s.m + s.n);
    const long long from = splits[tile], until = splits[tile + 1];
    tile += gridDim.x;
@       else
  long long first, from;  // the next tile, and its co-rank; not known yet: -1

  __device__ __forceinline__ void next(piece (&p)[2], int *count, long long *to) {
    const long long end = min(first + TILE, s.m + s.n);
    if (from < 0) from = co_rank_warp(first, s.a, s.m, s.b, s.n);
    const long long until = co_rank_warp(end, s.a, s.m, s.b, s.n, from, from + TILE);
@       end
    const int of_a = keys_of_a(from, until, (int)(end - first));
    p[0] = {s.a, s.m, from, of_a};
    p[1] = {s.b, s.n, first - from, (int)(end - first) - of_a};
    *count = (int)(end - first);
    *to = first;
@       if PARTITION ~= "launch" then
    first = end;
    from = until;
@       end
  }
};

struct merge_tile {
  const sequences &s;

  __device__ __forceinline__ void operator()(unsigned char *memory, const stage &t) const {
    key v[ITEMS];
    int source[ITEMS];
    const loaded<2> keys = t.keys;
    merge_loaded(memory, keys, v, source);
    sync_merging();
    store_tile(v, s.c + t.to, t.count, memory);
@       if value > 0 then
    const fetch take = {s, t.to, t.first[0], t.first[1], keys.count[0]};
    take_values(source, t.count, memory, take);
@       end
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
      key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
      value *__restrict__ cv, const long long *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  const sequences s = {m, n, a, b, c, av, bv, cv};
  const share mine((m + n + TILE - 1) / TILE);
@       if PARTITION == "launch" then
@         if OVERLAP == "on" then
  griddepcontrol_wait();
@         end
  tile_finder of_mine = {s, splits, mine.first};
@       else
  tile_finder of_mine = {s, (long long)mine.first * TILE, -1};
@       end
  mine.run(of_mine, merge_tile{s}, memory);
}
@     else
extern "C" __global__ void __launch_bounds__(BLOCK)
merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
      key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
      value *__restrict__ cv, const long long *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  const sequences s = {m, n, a, b, c, av, bv, cv};
  const long long first = (long long)blockIdx.x * TILE, end = min(first + TILE, m + n);
  long long from, to;
  split(first, end, s, splits, &from, &to);
  const int count = (int)(end - first);
  const int of_a = keys_of_a(from, to, count);
  const piece pieces[2] = {{a, m, from, of_a}, {b, n, first - from, count - of_a}};
  key v[ITEMS];
  int source[ITEMS];
  merge_pieces(memory, pieces, v, source);
  __syncthreads();
  store_tile(v, c + first, count, memory);
@       if value > 0 then
  const fetch take = {s, first, from, first - from, of_a};
  take_values(source, count, memory, take);
@       end
}
@     end
@   else
// A buffer of TILE keys of which `start` is the next; with ALG circular it wraps around.
struct buffer {
  const key *keys;
  int start;

  __device__ __forceinline__ const key &operator[](int i) const {
    const int at = start + i;
    return keys[at < TILE ? at : at - TILE];
  }
};

struct buffers {  // a's keys and, behind them, those of b
  buffer a, b;
  int a_count;

  __device__ __forceinline__ const key &operator[](int i) const {
    return i < a_count ? a[i] : b[i - a_count];
  }
};

// Adds keys `from`.. of a sequence, behind the `kept` ones that are in the buffer.
__device__ __forceinline__ void refill(key *keys, int start, int kept, const key *from, int count) {
  for (int i = threadIdx.x; i < count; i += BLOCK) {
    const int at = start + kept + i;
    keys[at < TILE ? at : at - TILE] = from[i];
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
      key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
      value *__restrict__ cv, const long long *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  key *const a_keys = reinterpret_cast<key *>(memory), *const b_keys = a_keys + TILE;
  const sequences s = {m, n, a, b, c, av, bv, cv};
  const long long stretch = (long long)blockIdx.x * STRETCH, end = min(stretch + STRETCH, m + n);
  long long i, i_end;  // the next key of a, and where the stretch ends in a
  split(stretch, end, s, splits, &i, &i_end);
  long long j = stretch - i;
  const long long j_end = end - i_end;
  int a_start = 0, b_start = 0, a_kept = 0, b_kept = 0;
  for (long long first = stretch; first < end; first += TILE) {
    const int a_count = (int)min(i_end - i, (long long)TILE);
    const int b_count = (int)min(j_end - j, (long long)TILE);
    refill(a_keys, a_start, a_kept, a + i + a_kept, a_count - a_kept);
    refill(b_keys, b_start, b_kept, b + j + b_kept, b_count - b_kept);
    __syncthreads();
    const int count = (int)min(end - first, (long long)TILE);
    const buffers all = {{a_keys, a_start}, {b_keys, b_start}, a_count};
    const int used = co_rank(count, all.a, a_count, all.b, b_count);  // of a; the same in all threads
    const int d = min((int)threadIdx.x * ITEMS, count);
    const int at = co_rank(d, all.a, a_count, all.b, b_count);
    key v[ITEMS];
    int source[ITEMS];
    const int both = a_count + b_count;
    merger<key, buffers> from(all, at, a_count, a_count + d - at, both, both - 1);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) v[k] = from.next(&source[k]);
    store_tile(v, c + first, count, memory);
@     if value > 0 then
    const fetch take = {s, first, i, j, a_count};
    take_values(source, count, memory, take);
@     end
    __syncthreads();  // all have merged before the buffers are filled again
@     if ALG == "circular" then
    a_start = (a_start + used) % TILE;
    b_start = (b_start + count - used) % TILE;
    a_kept = a_count - used;
    b_kept = b_count - (count - used);
@     end
    i += used;
    j += count - used;
  }
}
@   end
@ end
]],

  -- One thread per key: it comes behind as many of its own sequence as are before it, and behind those
  -- of the other that go before it.
  reference = {
    stages = {
      { kernel = "reference", grid = "min(65536, ceildiv(m + n, 256))", block = 256,
        args = { "m", "n", "a", "b", "c", "av", "bv", "cv" } },
    },
    source = [[
@include "merge_key.cuh"

// How many of n keys go before x; with ties, also those that tie with it.
__device__ long long rank(key x, const key *keys, long long n, bool ties) {
  long long least = 0, most = n;
  while (least < most) {
    const long long i = (least + most) / 2;
    if (ties ? !before(x, keys[i]) : before(keys[i], x)) least = i + 1;
    else most = i;
  }
  return least;
}

__device__ void put(long long to, key x, const unsigned char *v, long long from, key *c,
                    unsigned char *cv) {
  c[to] = x;
  for (int e = 0; e < @{value}; e++) cv[to * @{value} + e] = v[from * @{value} + e];
}

extern "C" __global__ void reference(long long m, long long n, const key *a, const key *b, key *c,
                                     const unsigned char *av, const unsigned char *bv,
                                     unsigned char *cv) {
  for (long long t = blockIdx.x * 256ll + threadIdx.x; t < m + n; t += gridDim.x * 256ll) {
    if (t < m) put(t + rank(a[t], b, n, false), a[t], av, t, c, cv);
    else put(t - m + rank(b[t - m], a, m, true), b[t - m], bv, t - m, c, cv);
  }
}
]],
  },

  cases = { {} },

  tolerance = { abs = 0, rel = 0 },

  flops = "m + n",
  bytes = "2 * (m + n) * (" .. NBYTES .. " + value)",

  sizes = {
    emu = { "m=1000", "m=0 n=700", "m=1111 n=2222 keys=50 value=4 align=1",
      "m=2000 n=900 dtype=f64 value=8 align=2", "m=5000 n=3000 dtype=u8" },
    test = { "m=0 n=0", "m=1 n=0", "m=1 n=1", "m=65537 n=1000", "m=1000003 n=999999 align=1",
      "m=3000000 n=17 keys=3", "m=2^22 dtype=f32", "m=2^20 n=2^21 value=4 keys=1000",
      "m=1500000 n=1500001 dtype=u64 value=8 keys=5", "m=2^22 dtype=i8", "m=2^21 n=2^20 dtype=u16",
      "m=2^21 dtype=f64" },
    bench = { "m=2^15", "m=2^19", "m=2^23", "m=2^26", "m=2^26 dtype=f32", "m=2^27 dtype=i64",
      "m=2^27 dtype=i8", "m=2^25 value=4", "m=2^24 n=50331648" },
  },
}
