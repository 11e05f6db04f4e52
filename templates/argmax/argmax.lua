-- argmax: the position of the largest or the smallest of n numbers, of the first if several are equal.
--
-- Like reduce, with a number and its position together: each block combines its share in registers, then across its
-- threads (FOLD); blocks combine in one of three ways (FINISH): the last block to finish does it, a second launch
-- does, or numbers of 4 bytes and their positions form words of 8 bytes, whose maximum atomics find (accumulate).
-- Positions decide between equal numbers, so the result does not depend on the order.

local GRID = "max(1, min(BLOCKS * dev_sms, ceildiv(n, STEP * VEC)))" -- blocks
local NBYTES = "sel(dtype == 'f64' or dtype == 'i64', 8, 4)"

-- For sizes without a tuned result: one launch, and many loads under way in as many threads as n has work for.
local SUGGESTED = {}
for _, vec in ipairs { 4, 2, 1 } do
  local function suggest(condition, config)
    for _, finish in ipairs { "accumulate", "last_block" } do -- accumulate where it is valid
      local one = { when = "min(align, 16 // NBYTES) == " .. vec .. " and " .. condition,
        VEC = vec, FINISH = finish }
      for name, value in pairs(config) do one[name] = value end
      SUGGESTED[#SUGGESTED + 1] = one
    end
  end
  suggest("n <= 2^17", { BLOCK = 128, BLOCKS = 2, COARSE = 1 })
  suggest("n <= 2^20", { BLOCK = 256, BLOCKS = 4, COARSE = 2 })
  -- as many loads under way as registers allow with BLOCKS blocks per multiprocessor
  suggest("n > 2^20", { BLOCK = 512, BLOCKS = 4, COARSE = 16 // vec })
  suggest("n > 2^20", { BLOCK = 512, BLOCKS = 4, COARSE = 8 // vec })
end

return {
  name = "argmax",
  version = 1,
  brief = "the position of the largest or smallest of n numbers",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 10",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "op", { "max", "min" }, default = "max", like = "max", brief = "largest or smallest" },
    { "dtype", { "f32", "f64", "i32", "i64" }, default = "f32", like = { i32 = "f32", i64 = "f64" },
      brief = "type of the elements" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that x is aligned to" },
    { "keys", 1, 2^32, default = 2^32, brief = "distinct values of integers in tests" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform",
      "sel(dtype == 'f32' or dtype == 'f64', -8, -(keys // 2))",
      "sel(dtype == 'f32' or dtype == 'f64', 8, keys - 1 - keys // 2)" },
      shift = "sel(align < 4, align, 0) * (" .. NBYTES .. ")" },
    { "y", "i64", "out", count = 1, brief = "from 0; -1 if x has nothing but NaNs" },
  },

  call = { "op", "dtype", "n", "x", "y", align = "pow2div(x // (" .. NBYTES .. "), 4)",
    keys = "2^32" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 4, 8, 16, 32 }, "blocks per multiprocessor at most" },
    { "VEC", { 1, 2, 4 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads under way per thread" },
    { "FOLD", { "shuffle", "shared" },
      "how a block's threads combine: warp shuffles, or a tree in shared memory" },
    { "FINISH", { "last_block", "two_launch", "accumulate" },
      "how blocks combine: the last one to finish, a second launch, or atomics on scratch memory" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "STEP", "BLOCK * COARSE" }, -- vectors a block takes at a time
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCKS blocks exceed the threads of a multiprocessor",
      "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "x is not aligned to VEC elements", "VEC <= align" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "COARSE vectors of VEC elements exceed the registers", "COARSE * VEC * NBYTES <= 256" },
    { "FINISH=accumulate needs elements of 4 bytes and n < 2^32",
      "FINISH ~= 'accumulate' or NBYTES == 4 and n < 2^32" },
  },

  default = { BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 4, FOLD = "shuffle",
    FINISH = "two_launch" },
  untuned = SUGGESTED,

  workspace = {
    -- One number and its position per block, or the best word so far.
    { "partial", "u64", "sel(FINISH == 'accumulate', 1, 2 * BLOCKS * dev_sms)" },
    { "arrived", "u32", "sel(FINISH == 'two_launch', 0, 1)" },
  },

  stages = {
    { kernel = "argmax", grid = GRID, block = "BLOCK", early = "EARLY",
      args = { "n", "x", "y", "partial", "arrived" } },
    { kernel = "argmax_finish", when = "FINISH == 'two_launch'", grid = 1, block = "BLOCK",
      args = { { "i32", GRID }, "partial", "y" } },
  },

  source = "argmax.cu",

  -- One block: each thread a range of neighbours, then thread 0 the 1024 results in order.
  reference = {
    stages = {
      { kernel = "reference", grid = 1, block = 1024, args = { "n", "x", "y" } },
    },
    source = [[
#include "elements.cuh"

using value = element<DTYPE>::stored;

__device__ bool beats(value x, value y) { return OP == OP_max ? x > y : x < y; }

extern "C" __global__ void reference(long long n, const value *x, long long *y) {
  __shared__ long long all[1024];
  const long long range = (n + 1023) / 1024, first = threadIdx.x * range;
  long long at = -1;
  for (long long i = first; i < n && i < first + range; i++) {
    if (x[i] == x[i] && (at < 0 || beats(x[i], x[at]))) at = i;
  }
  all[threadIdx.x] = at;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int t = 1; t < 1024; t++) {
    const long long i = all[t];
    if (i >= 0 && (at < 0 || beats(x[i], x[at]))) at = i;
  }
  *y = at;
}
]],
  },

  cases = { {} },

  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "n * (" .. NBYTES .. ")",

  sizes = {
    emu = { "n=1000", "n=5003 dtype=i32 op=min keys=20" },
    test = { "n=0", "n=1", "n=31", "n=65537 dtype=i64 keys=3", "n=1000003 op=min",
      "n=100001 dtype=f64", "n=2^24 dtype=i32 keys=100", "n=2^22" },
    bench = { "n=2^16", "n=2^20", "n=2^24", "n=2^27" },
  },
}
