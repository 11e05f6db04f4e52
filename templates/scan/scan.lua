-- scan: all prefix sums, products, maxima or minima of n numbers; inclusive or exclusive.
--
-- Every block scans a tile: each thread its own ITEMS numbers in registers (with one a thread this is
-- the textbook's section scan, with more its coarsened, three-phase scan), then the threads' totals
-- are scanned across the block (SECTION). How a tile learns what came before it is ALG:
--   one_block     a single block walks from tile to tile
--   three_launch  tiles are scanned, then the tiles' totals, then these are added to the tiles
--   reduce_scan   the same with less traffic: totals first, and only then are the tiles scanned
--   chained       in one pass: a tile waits for the sum up to and with its predecessor
--   lookback      in one pass: a warp sums up totals of predecessors, 32 at a time, back to the
--                 nearest tile that knows its whole sum already
--   gather        in one pass: every block sums up the totals of all tiles before it by itself
--   pipelined     the same by blocks that stay for several tiles: bulk copies fetch tiles ahead,
--                 and a warp sums up only what came since the block's tile before
-- In one pass tiles are numbered in the order in which blocks start, by a counter: whoever waits,
-- waits for tiles that run already, in whatever order blocks are started.

-- Those of a pipeline may begin up to a vector ahead of the numbers.
local ANYWHERE = "ALG == 'pipelined' and align < VEC"
local TILES = "sel(n == 0, 0, ceildiv(n + sel(" .. ANYWHERE .. ", VEC - 1, 0), TILE))"
local ONE_PASS = "(ALG == 'chained' or ALG == 'lookback' or ALG == 'gather')"
local PIPELINED = "ALG == 'pipelined'"
local WORDS = "(" .. ONE_PASS .. " or " .. PIPELINED .. ")" -- tiles tell each other something
local GRID = "min(" .. TILES .. ", BLOCKS * dev_sms)" -- of blocks that stay
local TOTALS = "(ALG == 'three_launch' or ALG == 'reduce_scan')"
local NBYTES = "sel(dtype == 'i64' or dtype == 'f64', 8, "
  .. "sel(dtype == 'i32' or dtype == 'f32', 4, sel(dtype == 'i8', 1, 2)))"
local HALF = "(dtype == 'f16' or dtype == 'bf16')"
local WHOLE = "(dtype == 'i8' or dtype == 'i16' or dtype == 'i32' or dtype == 'i64')"
local EXACT = "(op == 'max' or op == 'min' or " .. WHOLE .. ")"
local CHUNK = "max(16, ceildiv(n, 65536))" -- of a thread of the reference

-- Numbers of tests: of products so near to 1 that they stay there, and whole ones that are odd, since a
-- product of even ones is soon 0.
local function bound(sign)
  local near_1 = "1 " .. sign .. " 0.5 / (n + 1)^0.5"
  return "sel(op == 'product', sel(" .. WHOLE .. ", 3, " .. near_1 .. "), 0 " .. sign
    .. " sel(" .. HALF .. ", 0.125, sel(dtype == 'i64', 2^40, 100)))"
end

-- For problems that nobody tuned: numbers of `narrow` bytes in vectors of 16 bytes, then any.
local SUGGESTED = {}
local function suggest(condition, config)
  config.when, config.SECTION = condition, "shuffle"
  SUGGESTED[#SUGGESTED + 1] = config
end
for _, narrow in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // narrow
  local aligned = "NARROW == " .. narrow .. " and align >= " .. vec
  suggest(aligned .. " and n <= " .. 1024 * vec,
    { ALG = "one_block", BLOCK = 1024, VEC = vec, ITEMS = vec, EXCHANGE = "none" })
  suggest(aligned .. " and n <= 2^17",
    { ALG = "gather", BLOCK = 128, VEC = vec, ITEMS = 2 * vec, EXCHANGE = "warp" })
  suggest(aligned .. " and n <= 2^22",
    { ALG = "gather", BLOCK = 256, VEC = vec, ITEMS = 5 * vec, EXCHANGE = "warp" })
  suggest(aligned,
    { ALG = "pipelined", BLOCK = 256, VEC = vec, ITEMS = 5 * vec, BLOCKS = 1, LOADS = 3, LAG = 6 })
  suggest(aligned,
    { ALG = "lookback", BLOCK = 256, VEC = vec, ITEMS = math.max(16, 2 * vec), EXCHANGE = "warp" })
end
suggest("n <= 4096", { ALG = "one_block", BLOCK = 512, VEC = 1, ITEMS = 8 })
suggest("n <= 2^17", { ALG = "gather", BLOCK = 128, VEC = 1, ITEMS = 8, EXCHANGE = "warp" })
suggest("n <= 2^22", { ALG = "gather", BLOCK = 384, VEC = 1, ITEMS = 12, EXCHANGE = "warp" })
for _, narrow in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // narrow
  suggest("n > 2^22 and NARROW == " .. narrow,
    { ALG = "pipelined", BLOCK = 256, VEC = vec, ITEMS = 5 * vec, BLOCKS = 1, LOADS = 3, LAG = 6 })
end
suggest("n > 2^22", { ALG = "lookback", BLOCK = 256, VEC = 1, ITEMS = 16, EXCHANGE = "warp" })

return {
  name = "scan",
  version = 1,
  brief = "prefix sums, products, maxima or minima of n numbers",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 11; "
    .. "Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "kind", { "inclusive", "exclusive" }, default = "inclusive",
      brief = "with or without the element itself; the first exclusive result is the identity" },
    { "op", { "sum", "max", "min", "product" }, default = "sum",
      brief = "sums and products of integers wrap" },
    { "dtype", { "i32", "f32", "i64", "f64", "i8", "i16", "f16", "bf16" }, default = "i32",
      brief = "type of the elements; those of f16 and bf16 are combined in f32" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "elements that x and y are aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n",
      fill = { "uniform", bound("-"), bound("+") } },
    { "y", "dtype", "out", count = "n", brief = "not x itself" },
  },

  call = { "kind", "op", "dtype", "n", "x", "y",
    align = "min(pow2div(x // (" .. NBYTES .. "), 16), pow2div(y // (" .. NBYTES .. "), 16))" },

  space = {
    { "ALG",
      { "one_block", "three_launch", "reduce_scan", "chained", "lookback", "gather", "pipelined" },
      "how a tile learns what came before it" },
    { "SECTION", { "kogge_stone", "double_buffered", "brent_kung", "shuffle" },
      "across the threads of a block", when = "ALG ~= 'pipelined'" },
    { "BLOCK", { 64, 128, 192, 256, 384, 512, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 22, 24, 28, 32, 36, 40, 44, 48, 56, 64, 80, 112 },
      "coarsening factor: neighbouring elements per thread" },
    { "VEC", { 1, 2, 4, 8, 16 }, "elements per load and store" },
    { "EXCHANGE", { "none", "block", "warp" },
      "threads load their own elements, or exchange them in a block's or a warp's shared memory",
      when = "ALG ~= 'pipelined'" },
    { "CACHE", { "plain", "streaming" }, "operator of loads and stores",
      when = "ALG ~= 'pipelined'" },
    { "DELAY", { 0, 32, 128, 512 }, "nanoseconds between two looks at a tile that is waited for",
      when = ONE_PASS },
    { "BLOCKS", { 1, 2 }, "blocks per multiprocessor that stay", when = PIPELINED },
    { "LOADS", { 1, 2, 3 }, "tiles of a block on their way", when = PIPELINED },
    { "LAG", { 1, 3, 4, 6, 8, 12 }, "tiles whose totals are told before an earlier one is finished",
      when = PIPELINED },
  },

  derive = {
    { "NARROW", NBYTES }, -- bytes of a number in memory
    { "WIDE", "max(4, NARROW)" }, -- and in registers
    { "TILE", "BLOCK * ITEMS" },
    { "UNITS", "ITEMS // VEC" }, -- vectors per thread
    { "ROW", "UNITS + 1 - UNITS % 2" }, -- odd, so that rows of vectors start in different banks
    { "QUEUE", "LAG + LOADS + 2" }, -- tiles of a block in shared memory
    { "SMEM", "sel(" .. PIPELINED .. ", QUEUE * TILE * NARROW, "
      .. "sel(EXCHANGE == 'none', 0, BLOCK * ROW * VEC * NARROW))" },
    { "THREADS", "sel(" .. PIPELINED .. ", BLOCK + 64, BLOCK)" },
    { "ANYWHERE", ANYWHERE },
    { "EARLY", "dev_cc >= 90 and not " .. TOTALS }, -- one launch starts while the kernel ahead ends
  },

  require = {
    { "more threads than a block may have", "THREADS <= dev_threads_block" },
    { "bulk copies are of compute capability 9.0", "ALG ~= 'pipelined' or dev_cc >= 90" },
    { "bulk copies are of aligned vectors of 16 bytes",
      "ALG ~= 'pipelined' or VEC * NARROW == 16" },
    { "rows of an even number of vectors begin in the same banks",
      "ALG ~= 'pipelined' or UNITS % 2 == 1" },
    { "that many blocks exceed a multiprocessor",
      "ALG ~= 'pipelined' or BLOCKS * THREADS <= dev_threads_sm "
        .. "and BLOCKS * (SMEM + 2048 + dev_smem_reserved) <= dev_smem_sm" },
    { "a Brent-Kung tree has a power of two of leaves",
      "SECTION ~= 'brent_kung' or ispow2(BLOCK)" },
    { "many elements a thread leave a block's scan no weight",
      "ITEMS <= 16 or SECTION == 'shuffle' or SECTION == 'kogge_stone'" },
    { "a thread's elements exceed the registers", "ALG == 'pipelined' or ITEMS * WIDE <= 256" },
    { "a block's elements exceed the registers",
      "ALG == 'pipelined' or BLOCK * (ITEMS * WIDE // 4 + 24) <= dev_regs_block" },
    { "a long chain of small tiles is slow, and would cost sums of f32 their accuracy",
      "TILE >= 512 or n <= 2^20" },
    { "vectors wider than the alignment", "VEC <= align or ALG == 'pipelined'" },
    { "vectors of more than 16 bytes", "VEC * NARROW <= 16" },
    { "a thread's elements are no whole number of vectors", "ITEMS % VEC == 0" },
    { "one vector a thread needs no exchange",
      "EXCHANGE == 'none' or ALG == 'pipelined' or ITEMS > VEC" },
    { "more shared memory than a block may have",
      "SMEM + 2 * WIDE * BLOCK + 1024 <= dev_smem_block" },
    { "one block for so much would leave the others idle", "ALG ~= 'one_block' or n <= 16 * TILE" },
    { "one tile has nothing before it",
      "ALG == 'one_block' or ALG == 'reduce_scan' or n > TILE" },
    { "too many tiles to sum up all before each", "ALG ~= 'gather' or n <= 4 * BLOCK * TILE" },
    { "too many tiles for a chain", "ALG ~= 'chained' or n <= 2^14 * TILE" },
    { "sums of f16 or bf16 would be rounded twice",
      "ALG ~= 'three_launch' or not " .. HALF .. " or op ~= 'sum'" },
  },

  default = { ALG = "reduce_scan", SECTION = "shuffle", BLOCK = 256, ITEMS = 16, VEC = 1,
    EXCHANGE = "block", CACHE = "plain", DELAY = 0, BLOCKS = 1, LOADS = 2, LAG = 4 },
  untuned = SUGGESTED,

  workspace = {
    { "totals", "u64", "sel(" .. TOTALS .. ", " .. TILES .. ", 0)" },
    -- What tiles tell each other: a word for every 4 bytes of a number.
    { "words", "u64", "sel(" .. WORDS .. ", " .. TILES .. " * WIDE // 4, 0)" },
    { "counter", "u64", "sel(" .. WORDS .. ", 1, 0)" },
  },

  stages = {
    { kernel = "scan", when = "ALG == 'one_block'", grid = "min(n, 1)", block = "BLOCK",
      smem = "SMEM", early = "EARLY", args = { "n", "x", "y" } },
    { kernel = "scan", when = ONE_PASS, grid = TILES, block = "BLOCK", smem = "SMEM",
      early = "EARLY", args = { "n", "x", "y", "words", "counter" } },
    { kernel = "scan", when = PIPELINED, grid = GRID, block = "THREADS", smem = "SMEM",
      early = "EARLY", args = { "n", "x", "y", "words", "counter" } },
    { kernel = "scan_tiles", when = "ALG == 'three_launch'", grid = TILES, block = "BLOCK",
      smem = "SMEM", args = { "n", "x", "y", "totals" } },
    { kernel = "scan_reduce", when = "ALG == 'reduce_scan'", grid = TILES, block = "BLOCK",
      args = { "n", "x", "totals" } },
    { kernel = "scan_totals", when = TOTALS, grid = "min(n, 1)", block = "BLOCK",
      args = { { "i64", TILES }, "totals" } },
    { kernel = "scan_add", when = "ALG == 'three_launch'", grid = TILES, block = "BLOCK",
      args = { "n", "y", "totals" } },
    { kernel = "scan", when = "ALG == 'reduce_scan'", grid = TILES, block = "BLOCK",
      smem = "SMEM", args = { "n", "x", "y", "totals" } },
  },

  source = [[
@ local stored = { i8 = "signed char", i16 = "short", i32 = "int", i64 = "long long",
@   f16 = "unsigned short", bf16 = "unsigned short", f32 = "float", f64 = "double" }
@ local wraps = op == "sum" or op == "product"
@ local sign = wraps and "unsigned " or ""
@ local wide = { i64 = sign .. "long long", f16 = "float", bf16 = "float", f32 = "float",
@   f64 = "double" }
@ local infinity = dtype == "f64" and "__longlong_as_double(0x7ffll << 52)"
@   or "__int_as_float(0x7f800000)"
@ local most = { i8 = "127", i16 = "32767", i32 = "2147483647", i64 = "9223372036854775807ll" }
@ local identity = op == "sum" and "0" or op == "product" and "1"
@   or op == "min" and (most[dtype] or infinity) or most[dtype] and "-" .. most[dtype] .. " - 1" or "-" .. infinity
@include "ptx.cuh"
@include "pdl.cuh"
@include "words.cuh"
@ if dtype == "bf16" then
@include "bfloat.cuh"
@ end
@ local one_pass = ALG == "chained" or ALG == "lookback" or ALG == "gather"
@ if one_pass then
@include "ticket.cuh"
@ elseif ALG == "pipelined" then
@include "ptx90.cuh"
@include "bulk.cuh"
@ end

using stored = @{stored[dtype]};                    // in memory
using wide = @{wide[dtype] or sign .. "int"};  // in registers

#define IDENTITY ((wide)(@{identity}))
@ if op == "sum" then
__device__ __forceinline__ wide combine(wide a, wide b) { return a + b; }
@ elseif op == "product" then
__device__ __forceinline__ wide combine(wide a, wide b) { return a * b; }
@ elseif op == "max" then
__device__ __forceinline__ wide combine(wide a, wide b) { return a > b ? a : b; }
@ else
__device__ __forceinline__ wide combine(wide a, wide b) { return a < b ? a : b; }
@ end
@ if dtype == "bf16" then
__device__ __forceinline__ wide widen(stored v) { return bfloat_to_float(v); }
__device__ __forceinline__ stored narrow(wide v) { return float_to_bfloat(v); }
@ elseif dtype == "f16" then
__device__ __forceinline__ wide widen(stored v) { return half_to_float(v); }
__device__ __forceinline__ stored narrow(wide v) { return float_to_half(v); }
@ else
__device__ __forceinline__ wide widen(stored v) { return (wide)v; }
__device__ __forceinline__ stored narrow(wide v) { return (stored)v; }
@ end

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

@ if ALG ~= "pipelined" then
// ---- a tile between memory and registers -------------------------------------------------------

// The tile's vector that this thread loads and stores k-th.
__device__ __forceinline__ int unit(int k) {
  const int lane = threadIdx.x % 32;
  return EXCHANGE == EXCHANGE_none    ? threadIdx.x * UNITS + k
         : EXCHANGE == EXCHANGE_block ? k * BLOCK + threadIdx.x
                                      : (threadIdx.x - lane) * UNITS + k * 32 + lane;
}

// Where a vector of the tile lies in shared memory: each thread has a row.
__device__ __forceinline__ int place(int u) { return u / UNITS * ROW + u % UNITS; }

__device__ __forceinline__ void exchanged() {
  if (EXCHANGE == EXCHANGE_warp) __syncwarp();
  if (EXCHANGE == EXCHANGE_block) __syncthreads();
}

// Vector u of a tile of which `room` elements exist; the identity beyond.
template <bool WHOLE>
__device__ __forceinline__ vector load_unit(const stored *tile, int u, long long room) {
  vector v;
  if (WHOLE || (u + 1) * VEC <= room) {
    v = load_@{CACHE}(reinterpret_cast<const vector *>(tile) + u);
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      v.e[e] = u * VEC + e < room ? tile[u * VEC + e] : narrow(IDENTITY);
    }
  }
  return v;
}

template <bool WHOLE>
__device__ __forceinline__ void store_unit(stored *tile, int u, long long room, vector v) {
  if (WHOLE || (u + 1) * VEC <= room) {
    store_@{CACHE}(reinterpret_cast<vector *>(tile) + u, v);
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      if (u * VEC + e < room) tile[u * VEC + e] = v.e[e];
    }
  }
}

// Between the rows in which threads compute and the order in which they access memory. A thread
// writes only where it alone has read before, so tiles may follow each other without a barrier.
__device__ __forceinline__ void to_rows(vector (&v)[UNITS]) {
@ if EXCHANGE ~= "none" then
  extern __shared__ __align__(16) unsigned char shared[];
  vector *rows = reinterpret_cast<vector *>(shared);
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_plain(rows + place(unit(k)), v[k]);
  exchanged();
#pragma unroll
  for (int k = 0; k < UNITS; k++) v[k] = load_plain(rows + threadIdx.x * ROW + k);
@ end
}

__device__ __forceinline__ void from_rows(vector (&v)[UNITS]) {
@ if EXCHANGE ~= "none" then
  extern __shared__ __align__(16) unsigned char shared[];
  vector *rows = reinterpret_cast<vector *>(shared);
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_plain(rows + threadIdx.x * ROW + k, v[k]);
  exchanged();
#pragma unroll
  for (int k = 0; k < UNITS; k++) v[k] = load_plain(rows + place(unit(k)));
@ end
}

template <bool WHOLE>
__device__ __forceinline__ void load_tile(vector (&v)[UNITS], const stored *tile, long long room) {
#pragma unroll
  for (int k = 0; k < UNITS; k++) v[k] = load_unit<WHOLE>(tile, unit(k), room);
}

template <bool WHOLE>
__device__ __forceinline__ void store_tile(const vector (&v)[UNITS], stored *tile,
                                           long long room) {
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_unit<WHOLE>(tile, unit(k), room, v[k]);
}

// This thread's elements of the tile.
__device__ __forceinline__ void get(wide (&v)[ITEMS], long long n, const stored *x,
                                    long long tile) {
  const long long room = n - tile * TILE;
  vector raw[UNITS];
  if (room >= TILE) {
    load_tile<true>(raw, x + tile * TILE, room);
  } else {
    load_tile<false>(raw, x + tile * TILE, room);
  }
  to_rows(raw);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) v[i] = widen(raw[i / VEC].e[i % VEC]);
}

// v: the inclusive scan of this thread's elements; before: of everything before them.
__device__ __forceinline__ void put(const wide (&v)[ITEMS], wide before, long long n, stored *y,
                                    long long tile) {
  const long long room = n - tile * TILE;
  vector raw[UNITS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
@ if kind == "inclusive" then
    raw[i / VEC].e[i % VEC] = narrow(combine(before, v[i]));
@ else
    raw[i / VEC].e[i % VEC] = narrow(i == 0 ? before : combine(before, v[i > 0 ? i - 1 : 0]));
@ end
  }
  from_rows(raw);
  if (room >= TILE) {
    store_tile<true>(raw, y + tile * TILE, room);
  } else {
    store_tile<false>(raw, y + tile * TILE, room);
  }
}

@ end
// ---- across the threads of a block -------------------------------------------------------------

@ if SECTION == "shuffle" then
// The inclusive scan across WIDTH lanes.
template <int WIDTH>
__device__ __forceinline__ wide scan_lanes(wide v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < WIDTH; d *= 2) {
    const wide left = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v = combine(left, v);
  }
  return v;
}

@ end
@ if ALG ~= "pipelined" then
// What the threads before this one have together, and what all have. A barrier has to separate two
// calls.
__device__ __forceinline__ wide scan_block(wide v, wide *total) {
@ if SECTION == "shuffle" then
  constexpr int WARPS = BLOCK / 32;
  __shared__ wide warps[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = scan_lanes<32>(v);
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  // every warp scans the warps' totals for itself, which saves a barrier
  const wide sums = scan_lanes<WARPS>(lane < WARPS ? warps[lane] : IDENTITY);
  *total = __shfl_sync(0xffffffff, sums, WARPS - 1);
  const wide before = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  const wide left = __shfl_up_sync(0xffffffff, v, 1);
  return combine(warp > 0 ? before : IDENTITY, lane > 0 ? left : IDENTITY);
@ else
@   local last = "all"
@   if SECTION == "kogge_stone" then
  __shared__ wide all[BLOCK];
  all[threadIdx.x] = v;
#pragma unroll
  for (int stride = 1; stride < BLOCK; stride *= 2) {
    __syncthreads();
    if (threadIdx.x >= stride) v = combine(all[threadIdx.x - stride], v);
    __syncthreads();  // all have read before any writes
    all[threadIdx.x] = v;
  }
@   elseif SECTION == "double_buffered" then
@     last = "all[from]"
  __shared__ wide all[2][BLOCK];
  int from = 0;
  all[from][threadIdx.x] = v;
#pragma unroll
  for (int stride = 1; stride < BLOCK; stride *= 2) {
    __syncthreads();
    if (threadIdx.x >= stride) v = combine(all[from][threadIdx.x - stride], v);
    from = 1 - from;
    all[from][threadIdx.x] = v;
  }
@   else
  __shared__ wide all[BLOCK];
  all[threadIdx.x] = v;
#pragma unroll
  for (int stride = 1; stride < BLOCK; stride *= 2) {  // totals of ever larger groups
    __syncthreads();
    const int i = (threadIdx.x + 1) * 2 * stride - 1;
    if (i < BLOCK) all[i] = combine(all[i - stride], all[i]);
  }
#pragma unroll
  for (int stride = BLOCK / 4; stride > 0; stride /= 2) {  // handed down to what lies between
    __syncthreads();
    const int i = (threadIdx.x + 1) * 2 * stride - 1;
    if (i + stride < BLOCK) all[i + stride] = combine(all[i], all[i + stride]);
  }
@   end
  __syncthreads();
  *total = @{last}[BLOCK - 1];
  return threadIdx.x > 0 ? @{last}[threadIdx.x - 1] : IDENTITY;
@ end
}

// Scans each thread's elements; returns what the threads before have, and the total of all.
__device__ __forceinline__ wide scan_threads(wide (&v)[ITEMS], wide *total) {
#pragma unroll
  for (int i = 1; i < ITEMS; i++) v[i] = combine(v[i - 1], v[i]);
  return scan_block(v[ITEMS - 1], total);
}

@ end
@ if one_pass or ALG == "pipelined" then
// ---- between tiles, in one pass ----------------------------------------------------------------

@ local bits = dtype == "f64" and "__double_as_longlong(v)" or NARROW == 8 and "v"
@   or wide[dtype] == "float" and "__float_as_uint(v)" or "(unsigned)v"
@ local of_bits = dtype == "f64" and "__longlong_as_double(v)"
@   or wide[dtype] == "float" and "__uint_as_float((unsigned)v)" or "(wide)v"
__device__ __forceinline__ unsigned long long bits_of(wide v) { return @{bits}; }
__device__ __forceinline__ wide of_bits(unsigned long long v) { return @{of_bits}; }

@include "tile_state.cuh"
@ if ALG == "pipelined" then
@include "scan_pipeline.cuh"
@ else
// The sum of all tiles before this one, told to every thread; and others are told this one's.
__device__ __forceinline__ wide before_tile(const tile_states &all, long long tile, wide total) {
@ if ALG == "gather" then
  if (threadIdx.x == 0) all.publish(tile, AGGREGATE, total);
  wide sum = IDENTITY, whole;
  for (long long i = threadIdx.x; i < tile; i += BLOCK) {
    wide v;
    all.wait(i, &v);
    sum = combine(sum, v);
  }
  __syncthreads();
  scan_block(sum, &whole);
  return whole;
@ else
  __shared__ wide shared_sum;
@   if ALG == "chained" then
  if (threadIdx.x == 0) {
    wide sum = IDENTITY;
    if (tile > 0) all.wait(tile - 1, &sum);
    all.publish(tile, PREFIX, combine(sum, total));
    shared_sum = sum;
  }
@   else
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) all.publish(tile, tile > 0 ? AGGREGATE : PREFIX, total);
    const wide sum = look_back(all, tile);
    if (threadIdx.x == 0) {
      if (tile > 0) all.publish(tile, PREFIX, combine(sum, total));
      shared_sum = sum;
    }
  }
@   end
  __syncthreads();
  return shared_sum;
@ end
}

extern "C" __global__ void __launch_bounds__(BLOCK)
scan(long long n, const stored *__restrict__ x, stored *__restrict__ y, unsigned long long *words,
     unsigned long long *counter) {
  unsigned launch;
  x += pdl_wait();
  const long long tile = take_ticket(counter, &launch);
  const tile_states all = {words, launch};
  wide v[ITEMS], total;
  get(v, n, x, tile);
  const wide before = scan_threads(v, &total);
  put(v, combine(before_tile(all, tile, total), before), n, y, tile);
}
@ end
@ elseif ALG == "one_block" then
extern "C" __global__ void __launch_bounds__(BLOCK)
scan(long long n, const stored *__restrict__ x, stored *__restrict__ y) {
  wide sum = IDENTITY;
  x += pdl_wait();
  for (long long tile = 0; tile * TILE < n; tile++) {
    wide v[ITEMS], total;
    get(v, n, x, tile);
    const wide before = scan_threads(v, &total);
    put(v, combine(sum, before), n, y, tile);
    sum = combine(sum, total);
    __syncthreads();
  }
}
@ else
// ---- between tiles, by launches ----------------------------------------------------------------

// The tiles' totals become what is before each; one block.
extern "C" __global__ void __launch_bounds__(BLOCK)
scan_totals(long long tiles, unsigned long long *totals) {
  wide *t = reinterpret_cast<wide *>(totals);
  wide sum = IDENTITY;
  for (long long first = 0; first < tiles; first += BLOCK) {
    const long long i = first + threadIdx.x;
    wide total;
    const wide before = scan_block(i < tiles ? t[i] : IDENTITY, &total);
    if (i < tiles) t[i] = combine(sum, before);
    sum = combine(sum, total);
    __syncthreads();
  }
}

@   if ALG == "three_launch" then
extern "C" __global__ void __launch_bounds__(BLOCK)
scan_tiles(long long n, const stored *__restrict__ x, stored *__restrict__ y,
           unsigned long long *totals) {
  wide v[ITEMS], total;
  get(v, n, x, blockIdx.x);
  const wide before = scan_threads(v, &total);
  put(v, before, n, y, blockIdx.x);
  if (threadIdx.x == 0) reinterpret_cast<wide *>(totals)[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
scan_add(long long n, stored *y, const unsigned long long *totals) {
  const wide before = reinterpret_cast<const wide *>(totals)[blockIdx.x];
  const long long first = (long long)blockIdx.x * TILE, room = n - first;
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u * VEC >= room) break;
    vector v = load_unit<false>(y + first, u, room);
#pragma unroll
    for (int e = 0; e < VEC; e++) v.e[e] = narrow(combine(before, widen(v.e[e])));
    store_unit<false>(y + first, u, room, v);
  }
}
@   else
extern "C" __global__ void __launch_bounds__(BLOCK)
scan_reduce(long long n, const stored *__restrict__ x, unsigned long long *totals) {
  const long long first = (long long)blockIdx.x * TILE, room = n - first;
  wide sum = IDENTITY, total;
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const vector v = load_unit<false>(x + first, k * BLOCK + threadIdx.x, room);
#pragma unroll
    for (int e = 0; e < VEC; e++) sum = combine(sum, widen(v.e[e]));
  }
  scan_block(sum, &total);
  if (threadIdx.x == 0) reinterpret_cast<wide *>(totals)[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
scan(long long n, const stored *__restrict__ x, stored *__restrict__ y,
     const unsigned long long *totals) {
  wide v[ITEMS], total;
  get(v, n, x, blockIdx.x);
  const wide before = scan_threads(v, &total);
  put(v, combine(reinterpret_cast<const wide *>(totals)[blockIdx.x], before), n, y, blockIdx.x);
}
@   end
@ end
]],

  -- Chunks of neighbouring elements: their totals, these scanned by one thread, then each chunk by
  -- one thread; in double or, of integers, exactly (they wrap).
  reference = {
    workspace = { { "sums", "u64", "ceildiv(n, " .. CHUNK .. ")" } },
    stages = {
      { kernel = "total", grid = "ceildiv(n, 256 * " .. CHUNK .. ")", block = 256,
        args = { "n", { "i64", CHUNK }, "x", "sums" } },
      { kernel = "exclude", grid = "min(n, 1)", block = 1,
        args = { { "i64", "ceildiv(n, " .. CHUNK .. ")" }, "sums" } },
      { kernel = "reference", grid = "ceildiv(n, 256 * " .. CHUNK .. ")", block = 256,
        args = { "n", { "i64", CHUNK }, "x", "y", "sums" } },
    },
    source = [[
@ local stored = { i8 = "signed char", i16 = "short", i32 = "int", i64 = "long long",
@   f16 = "unsigned short", bf16 = "unsigned short", f32 = "float", f64 = "double" }
@ local most = { i8 = "127", i16 = "32767", i32 = "2147483647", i64 = "9223372036854775807ll" }
@ local float = not most[dtype]
@ local infinity = "__longlong_as_double(0x7ffll << 52)"
@ local wraps = op == "sum" or op == "product"
@ local identity = op == "sum" and "0" or op == "product" and "1"
@   or op == "min" and (most[dtype] or infinity) or float and "-" .. infinity or "-" .. tostring(most[dtype]) .. " - 1"
@ local combine = { sum = "a + b", product = "a * b", max = "a > b ? a : b", min = "a < b ? a : b" }
@ local to_wide = { f16 = "half_to_float(v)", bf16 = "bfloat_to_float(v)" }
@ local from_wide = { f16 = "float_to_half((float)v)", bf16 = "float_to_bfloat((float)v)" }
@include "ptx.cuh"
@include "bfloat.cuh"

using stored = @{stored[dtype]};
using wide = @{float and "double" or wraps and "unsigned long long" or "long long"};
#define IDENTITY ((wide)(@{identity}))

__device__ wide combine(wide a, wide b) { return @{combine[op]}; }
__device__ wide widen(stored v) { return (wide)@{to_wide[dtype] or "v"}; }
__device__ stored narrow(wide v) { return @{from_wide[dtype] or "(stored)v"}; }

extern "C" __global__ void total(long long n, long long chunk, const stored *x, wide *sums) {
  const long long first = (blockIdx.x * 256ll + threadIdx.x) * chunk;
  if (first >= n) return;
  wide sum = IDENTITY;
  for (long long i = first; i < n && i < first + chunk; i++) sum = combine(sum, widen(x[i]));
  sums[first / chunk] = sum;
}

extern "C" __global__ void exclude(long long chunks, wide *sums) {
  wide sum = IDENTITY;
  for (long long i = 0; i < chunks; i++) {
    const wide own = sums[i];
    sums[i] = sum;
    sum = combine(sum, own);
  }
}

extern "C" __global__ void reference(long long n, long long chunk, const stored *x, stored *y,
                                     const wide *sums) {
  const long long first = (blockIdx.x * 256ll + threadIdx.x) * chunk;
  if (first >= n) return;
  wide sum = sums[first / chunk];
  for (long long i = first; i < n && i < first + chunk; i++) {
    const wide with = combine(sum, widen(x[i]));
    y[i] = narrow(@{kind == "inclusive" and "with" or "sum"});
    sum = with;
  }
}
]],
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  -- Maxima and integers are exact. Of a sum of numbers uniform in [-h, h], of standard deviation
  -- s = h / sqrt(3), a chain of L additions leaves an error of standard deviation
  -- u s sqrt(n L / 6), since roundings are independent of sign and the sums along a chain a random
  -- walk; the chains of the levels (thread, block, tiles) add up their L. Within a tile, and where
  -- totals are added up by a block or a warp, L is below 128: eight standard deviations are below
  -- 2^5 u h sqrt(n). A chain of tiles has L = n / TILE: eight are 1.9 u h n / sqrt(TILE), with
  -- TILE >= 64 up to n = 2^20 less than u h n / 4, and beyond, with TILE >= 512, than u h n / 8.
  -- h is 100, less than 2^7, or for f16 and bf16 2^-3; u is 2^-24, for f64 2^-53. rel is the last
  -- rounding, and of a product those of its n multiplications, u sqrt(n / 3) at one standard deviation.
  tolerance = {
    abs = "sel(" .. EXACT .. " or op == 'product', 0, sel(dtype == 'f64', 2.0^-53, 2.0^-24) * sel(" .. HALF
      .. ", 2.0^-3, 2.0^7) * (32 * n^0.5 + n * sel(n <= 2^20, 0.25, 0.125)))",
    rel = "sel(" .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-52, sel(dtype == 'bf16', 2.0^-7, "
      .. "sel(dtype == 'f16', 2.0^-10, 2.0^-23)))"
      .. " + sel(op == 'product', sel(dtype == 'f64', 2.0^-50, 2.0^-21) * n^0.5, 0))",
  },

  flops = "n",
  bytes = "2 * n * (" .. NBYTES .. ")",

  sizes = {
    emu = { "n=1000", "n=0", "n=1", "n=5003 kind=exclusive", "n=4096 op=max kind=exclusive",
      "n=2777 dtype=f32 align=1", "n=3001 dtype=i64 kind=exclusive align=2", "n=2500 dtype=f64",
      "n=7001 dtype=i8", "n=3000 dtype=i16 op=max", "n=4100 dtype=f16 kind=exclusive",
      "n=2000 dtype=f16 op=max kind=exclusive", "n=3100 dtype=bf16",
      "n=2100 dtype=i8 op=min kind=exclusive", "n=2050 op=product",
      "n=1900 dtype=f32 op=product kind=exclusive" },
    test = { "n=0", "n=1", "n=31 kind=exclusive", "n=1025 op=max", "n=65537", "n=1000003 align=1",
      "n=1000000 kind=exclusive", "n=2^24", "n=16777215 dtype=f32", "n=4194309 dtype=i64",
      "n=1000001 dtype=f64 kind=exclusive", "n=8388611 dtype=i8", "n=3000001 dtype=i16 op=max",
      "n=2^22 dtype=f16", "n=2^22 dtype=bf16 kind=exclusive", "n=1000003 dtype=f32 op=min",
      "n=1000003 dtype=i64 op=product", "n=2^20 dtype=f64 op=product kind=exclusive",
      "n=1000000 dtype=f16 op=product" },
    bench = { "n=2^12", "n=2^16", "n=2^20", "n=2^24", "n=2^28", "n=2^28 dtype=f32",
      "n=2^28 dtype=i8", "n=2^27 dtype=i64", "n=2^28 dtype=f16" },
  },
}
