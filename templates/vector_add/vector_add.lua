-- vector_add: c = a + b, of vectors, or of matrices whose rows may lie apart.
--
-- The textbooks' kernels are points of this space. One thread an element: ALG=one_to_one with VEC=1 and COARSE=1; with
-- BLOCK=1 a block has one thread. A loop in steps of the grid: ALG=grid_stride, with PER=device and BLOCKS=1 one block.
-- The sum of matrices by a two-dimensional grid: ALG=grid2d, which also takes rows that lie apart. ALG=bulk copies tiles
-- to shared memory, several ahead.

local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f16' or dtype == 'bf16', 2, 4))"
local DENSE = "(rows <= 1 or ld == n)"
local TOTAL = "(n * rows)"
local WHOLE = { "uniform", "sel(dtype == 'i32', -2.0^31, -8)", "sel(dtype == 'i32', 2.0^31 - 1, 8)" }
local COUNT = "ld * max(0, rows - 1) + n"
local GRID = "sel(ALG == 'one_to_one', ceildiv(" .. TOTAL .. ", TILE), "
  .. "min(BLOCKS * sel(PER == 'device', 1, dev_sms), ceildiv(" .. TOTAL .. ", TILE)))"

-- For sizes without a tuned result: words of 16 bytes, in as many blocks as a small problem has work for; where the device
-- has it an early start, with fetches ahead where most blocks are on the device at once.
local SUGGESTED = {}
-- Of `vec` elements of `nbytes` per load.
local function suggest(nbytes, vec, condition, ahead, config)
  for _, start in ipairs { "early", "after" } do
    local one = { when = "NBYTES == " .. nbytes .. " and min(align, 16 // NBYTES) == " .. vec .. " and " .. condition,
      VEC = vec, START = start, AHEAD = start == "early" and ahead or 0 }
    for name, value in pairs(config) do one[name] = value end
    SUGGESTED[#SUGGESTED + 1] = one
  end
end
for _, nbytes in ipairs { 2, 4, 8 } do
  for _, vec in ipairs { 8, 4, 2, 1 } do
    if vec * nbytes <= 16 then
      local coarse = 16 // (vec * nbytes)
      suggest(nbytes, vec, "DENSE and n * rows * NBYTES <= 2^20", 1, { ALG = "one_to_one", BLOCK = 128, COARSE = 1 })
      suggest(nbytes, vec, "DENSE and n * rows * NBYTES <= 2^24", 1,
        { ALG = "one_to_one", BLOCK = 256, COARSE = coarse, STORE = "second" })
      suggest(nbytes, vec, "DENSE", 0, { ALG = "one_to_one", BLOCK = 256, COARSE = coarse, STORE = "streaming" })
      suggest(nbytes, vec, "rows > 1", 0,
        { ALG = "grid2d", BLOCK_X = 256, BLOCK_Y = 1, COARSE = coarse, STORE = "second" })
    end
  end
end

-- Words of 16 bytes, one a thread.
local BASE = {}
for _, vec in ipairs { 8, 4, 2 } do BASE[#BASE + 1] = { ALG = "one_to_one", VEC = vec, START = "early" } end

return {
  name = "vector_add",
  version = 1,
  brief = "c = a + b, of vectors or of the rows of matrices",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 2 and 6.3; "
    .. "Cheng, Grossman, McKercher, Professional CUDA C Programming, ch. 3",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements; of a matrix, columns" },
    { "rows", 0, 2^31 - 1, default = 1, brief = "rows of matrices; 1: vectors" },
    { "ld", 0, 2^36, default = "n", brief = "elements from one row to the next" },
    { "dtype", { "f32", "f64", "f16", "bf16", "i32" }, default = "f32", like = { i32 = "f32", bf16 = "f16" },
      brief = "type of the elements; whole numbers wrap" },
    { "align", { 8, 4, 2, 1 },
      default = "min(sel(dtype == 'f16' or dtype == 'bf16', 8, 4), sel(rows > 1, pow2div(ld, 8), 8))",
      brief = "elements that a, b, c and their rows are aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "rows", "i64", value = "rows" },
    { "ld", "i64", value = "ld" },
    { "a", "dtype", "in", count = COUNT, fill = WHOLE },
    { "b", "dtype", "in", count = COUNT, fill = WHOLE },
    -- What lies between rows is kept.
    { "c", "dtype", "inout", count = COUNT, overwritten = DENSE, brief = "may be a or b" },
  },

  call = { "dtype", "n", "a", "b", "c", rows = "1", ld = "n",
    align = "min(pow2div(a // (" .. NBYTES .. "), 8), pow2div(b // (" .. NBYTES .. "), 8), "
      .. "pow2div(c // (" .. NBYTES .. "), 8))" },

  space = {
    { "ALG", { "one_to_one", "grid_stride", "grid2d", "bulk" },
      "a thread takes one place, or places in steps of the grid; of a matrix; or tiles by bulk copies" },
    { "BLOCK", { 1, 32, 64, 128, 256, 512, 1024 }, "threads per block", when = "ALG ~= 'grid2d'" },
    { "VEC", { 1, 2, 4, 8 }, "elements per load and store" },
    { "COARSE", { 1, 2, 4, 8 }, "coarsening factor: vectors per thread and step" },
    { "LOAD", { "plain", "second", "streaming", "fetch_256" },
      "cache operator of loads, or 256 bytes a fetch from memory", when = "ALG ~= 'bulk'" },
    { "STORE", { "plain", "second", "streaming" }, "cache operator of stores" },
    { "START", { "early", "after" }, "blocks start while the kernel before still ends, or after it" },
    { "AHEAD", { 0, 1 }, "1: operands of a block's first tile are fetched to the second-level cache before the kernel before has ended",
      when = "START == 'early' and ALG ~= 'bulk'" },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 12, 16, 32, 128 }, "blocks at most, per PER",
      when = "ALG == 'grid_stride' or ALG == 'bulk'" },
    { "PER", { "multiprocessor", "device" }, "what BLOCKS counts the blocks of", when = "ALG == 'grid_stride'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "DENSE", DENSE }, -- no gaps between rows
    { "EARLY", "START == 'early' and dev_cc >= 90" }, -- pdl.cuh
  },

  require = {
    { "ld is less than n", "rows <= 1 or ld >= n" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "a, b and c are not aligned to VEC elements", "VEC <= align" },
    { "COARSE vectors of VEC elements exceed 64 bytes", "COARSE * VEC * NBYTES <= 64" },
    { "BLOCK has fewer threads than a vector has elements", "BLOCK >= VEC" },
    { "LOAD=fetch_256 needs compute capability 8.0", "LOAD ~= 'fetch_256' or dev_cc >= 80" },
    { "START=early needs compute capability 9.0", "START == 'after' or dev_cc >= 90" },
    { "BLOCKS blocks exceed the threads of a multiprocessor",
      "PER == 'device' or ALG ~= 'grid_stride' or BLOCKS == 1 or BLOCK * BLOCKS <= dev_threads_sm" },
    { "BLOCK < 32 leaves lanes of warps idle", "BLOCK >= 32", advice = "search" },
    { "fewer blocks than multiprocessors", "PER == 'multiprocessor' or BLOCKS >= dev_sms", advice = "search" },
  },

  default = { ALG = "grid2d", BLOCK = 256, VEC = 1, COARSE = 1, LOAD = "plain", STORE = "plain", START = "after", AHEAD = 0,
    BLOCKS = 8, PER = "multiprocessor" },
  base = BASE,
  untuned = SUGGESTED,

  algorithms = {
    one_to_one = {
      space = {}, default = {},
      derive = { { "TILE", "BLOCK * COARSE * VEC" }, { "LOOPS", "1 == 0" } },
      require = {
        { "rows that lie apart need ALG=grid2d", "DENSE" },
        { "a grid has fewer than 2^31 blocks", TOTAL .. " < 2^31 * TILE" },
      },
    },
    grid_stride = {
      space = {}, default = {},
      derive = { { "TILE", "BLOCK * COARSE * VEC" }, { "LOOPS", "1 == 1" } },
      require = { { "rows that lie apart need ALG=grid2d", "DENSE" } },
    },
    grid2d = {
      space = {
        { "BLOCK_X", { 16, 32, 64, 128, 256, 512, 1024 }, "threads of a block along a row" },
        { "BLOCK_Y", { 1, 2, 4, 8, 16, 32 }, "rows of a block" },
      },
      default = { BLOCK_X = 256, BLOCK_Y = 1 },
      derive = { { "TILE", "BLOCK_X * COARSE * VEC" } }, -- of a row
      require = {
        { "a block of BLOCK_X * BLOCK_Y threads exceeds the device's threads per block",
          "BLOCK_X * BLOCK_Y <= dev_threads_block" },
        { "a grid has fewer than 2^31 blocks", "n < 2^31 * TILE" },
        { "fewer than 32 threads per block", "BLOCK_X * BLOCK_Y >= 32", advice = "search" },
        { "BLOCK_Y has more rows than the matrix", "BLOCK_Y < 2 * rows or BLOCK_Y == 1", advice = "search" },
      },
      source = "vector_add_rows.cu",
      stages = {
        { kernel = "vector_add", block = { "BLOCK_X", "BLOCK_Y" }, early = "EARLY",
          grid = { "ceildiv(n, TILE)", "min(65535, ceildiv(rows, BLOCK_Y))" },
          args = { "n", "rows", "ld", "a", "b", "c" } },
      },
    },
    bulk = {
      space = { { "STAGES", { 1, 2, 3, 4, 6, 8 }, "tiles in shared memory at a time" } },
      default = { STAGES = 2 },
      derive = {
        { "TILE", "BLOCK * COARSE * VEC" },
        { "SMEM", "STAGES * TILE * NBYTES * 2" },
      },
      require = {
        { "ALG=bulk needs compute capability 9.0", "dev_cc >= 90" },
        { "rows that lie apart need ALG=grid2d", "DENSE" },
        { "ALG=bulk copies words of 16 bytes", "VEC * NBYTES == 16 and BLOCK >= 32" },
        { "SMEM of BLOCKS blocks exceeds a multiprocessor's shared memory",
          "SMEM + 128 <= dev_smem_block and (SMEM + 128 + dev_smem_reserved) * BLOCKS <= dev_smem_sm" },
        { "BLOCKS blocks exceed the threads of a multiprocessor", "BLOCK * BLOCKS <= dev_threads_sm" },
      },
      source = "vector_add_bulk.cu",
      stages = {
        { kernel = "vector_add", block = "BLOCK", smem = "SMEM", early = "EARLY",
          grid = "max(1, min(BLOCKS * dev_sms, " .. TOTAL .. " // TILE))",
          args = { { "i64", TOTAL }, "a", "b", "c" } },
      },
    },
  },

  stages = {
    { kernel = "vector_add", grid = GRID, block = "BLOCK", early = "EARLY",
      args = { { "i64", TOTAL }, "a", "b", "c" } },
  },

  source = "vector_add.cu",

  -- One thread per element.
  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(" .. TOTAL .. ", 256)", block = 256, args = { "n", "rows", "ld", "a", "b", "c" } },
    },
    source = [[
#include "elements.cuh"

using type = element<DTYPE>;
using wide = choose<type::INTEGER, long long, double>;

extern "C" __global__ void reference(long long n, long long rows, long long ld, const type::stored *a,
                                     const type::stored *b, type::stored *c) {
  const long long place = (long long)blockIdx.x * 256 + threadIdx.x;
  if (place >= n * rows) return;
  const long long i = place / n * ld + place % n;
  c[i] = type::narrow((type::number)((wide)type::widen(a[i]) + (wide)type::widen(b[i])));
}
]],
  },

  cases = { {} },

  -- Whole numbers wrap. A sum of f16 or bf16 is added in f32, of f32 in the reference in f64: as these have more than
  -- twice the digits, rounding twice gives what rounding once does.
  tolerance = { abs = 0, rel = 0 },

  flops = TOTAL,
  bytes = "3 * " .. TOTAL .. " * (" .. NBYTES .. ")",

  sizes = {
    emu = { "n=1000", "n=5003 dtype=f16", "n=777 dtype=i32 align=1", "n=301 dtype=f64", "n=70 rows=9 ld=77",
      "n=48 rows=20 ld=56 dtype=bf16", "n=33 rows=31" },
    test = { "n=0", "n=1", "n=3 dtype=f16", "n=33792 dtype=i32", "n=1000003", "n=1000003 dtype=bf16 align=1",
      "n=65537 dtype=f64", "n=2^24", "n=1000 rows=0", "n=0 rows=5", "n=1 rows=100003", "n=1001 rows=503 ld=1003",
      "n=1000 rows=300 ld=1024 dtype=f16", "n=512 rows=70001 ld=516" },
    bench = { "n=2^16", "n=2^18", "n=2^20", "n=2^24", "n=2^28", "n=16384 rows=16384", "n=2^26 dtype=f16" },
  },
}
