-- argmax: where the largest or the smallest of n numbers is, the first if there are several.
--
-- As reduce does it, with the number and its place together: every block folds its share in
-- registers, then across its threads (FOLD), and the blocks' results are folded by the last block to
-- arrive or by a second launch, or (accumulate) numbers of 4 bytes and their places are made one word of
-- 8 and atomics find the largest (FINISH). Which of two equal numbers comes first is told by their
-- places, so the order of folding does not matter and the result is always the same.

local GRID = "max(1, min(BLOCKS * dev_sms, ceildiv(n, STEP * VEC)))" -- blocks
local NBYTES = "sel(dtype == 'f64' or dtype == 'i64', 8, 4)"

-- For problems that nobody tuned: one launch, and many loads under way in every thread that there is
-- work for.
local SUGGESTED = {}
for _, vec in ipairs { 4, 2, 1 } do
  local function suggest(condition, config)
    for _, finish in ipairs { "accumulate", "last_block" } do -- the first is for 4 bytes
      local one = { when = "min(align, 16 // (" .. NBYTES .. ")) == " .. vec .. " and " .. condition,
        VEC = vec, FINISH = finish }
      for name, value in pairs(config) do one[name] = value end
      SUGGESTED[#SUGGESTED + 1] = one
    end
  end
  suggest("n <= 2^17", { BLOCK = 128, BLOCKS = 2, COARSE = 1 })
  suggest("n <= 2^20", { BLOCK = 256, BLOCKS = 4, COARSE = 2 })
  -- as many loads under way as leave all blocks room for their registers
  suggest("n > 2^20", { BLOCK = 512, BLOCKS = 4, COARSE = 16 // vec })
  suggest("n > 2^20", { BLOCK = 512, BLOCKS = 4, COARSE = 8 // vec })
end

return {
  name = "argmax",
  version = 1,
  brief = "the place of the largest or smallest of n numbers",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 10",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "op", { "max", "min" }, default = "max", brief = "which is looked for" },
    { "dtype", { "f32", "f64", "i32", "i64" }, default = "f32", brief = "type of the elements" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that x is aligned to" },
    { "keys", 1, 2^32, default = 2^32, brief = "different values of whole numbers in tests" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform",
      "sel(dtype == 'f32' or dtype == 'f64', -8, -(keys // 2))",
      "sel(dtype == 'f32' or dtype == 'f64', 8, keys - 1 - keys // 2)" } },
    { "y", "i64", "out", count = 1, brief = "from 0; -1 where there is nothing but NaNs" },
  },

  call = { "op", "dtype", "n", "x", "y", align = "pow2div(x // (" .. NBYTES .. "), 4)",
    keys = "2^32" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 4, 8, 16, 32 }, "blocks per multiprocessor at most" },
    { "VEC", { 1, 2, 4 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads under way per thread" },
    { "FOLD", { "shuffle", "shared" }, "across a block: between registers, or in shared memory" },
    { "FINISH", { "last_block", "two_launch", "accumulate" }, "across blocks" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "STEP", "BLOCK * COARSE" }, -- vectors a block takes at a time
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel ahead ends
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "more threads than a multiprocessor has", "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "loads under way exceed the registers", "COARSE * VEC * NBYTES <= 256" },
    { "a number and its place are no word", "FINISH ~= 'accumulate' or NBYTES == 4 and n < 2^32" },
  },

  default = { BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 4, FOLD = "shuffle",
    FINISH = "two_launch" },
  untuned = SUGGESTED,

  workspace = {
    -- One number and its place per block, or the best word so far.
    { "partial", "u64", "sel(FINISH == 'accumulate', 1, 2 * BLOCKS * dev_sms)" },
    { "arrived", "u32", "sel(FINISH == 'two_launch', 0, 1)" },
  },

  stages = {
    { kernel = "argmax", grid = GRID, block = "BLOCK", early = "EARLY",
      args = { "n", "x", "y", "partial", "arrived" } },
    { kernel = "argmax_finish", when = "FINISH == 'two_launch'", grid = 1, block = "BLOCK",
      args = { { "i32", GRID }, "partial", "y" } },
  },

  source = [[
@ local types = { f32 = "float", f64 = "double", i32 = "int", i64 = "long long" }
@ local most = { i32 = "2147483647", i64 = "9223372036854775807ll",
@   f32 = "__int_as_float(0x7f800000)", f64 = "__longlong_as_double(0x7ffll << 52)" }
@ local least = (dtype == "i32" or dtype == "i64") and "-" .. most[dtype] .. " - 1" or "-" .. most[dtype]
@include "pdl.cuh"
@include "last_block.cuh"

using value = @{types[dtype]};
#define WORST ((value)(@{op == "max" and least or most[dtype]}))  // no number is worse, and a NaN no better

struct alignas(VEC * sizeof(value)) vector {
  value e[VEC];
};

// A number, and where it is; nowhere is behind everything.
struct found {
  value v;
  long long at;
};
#define NOWHERE 0x7fffffffffffffffll

// Does x go before y?
__device__ __forceinline__ bool better(const found &x, const found &y) {
  if (x.at == NOWHERE || y.at == NOWHERE) return y.at == NOWHERE;
  return x.v == y.v ? x.at < y.at : x.v @{op == "max" and ">" or "<"} y.v;
}
__device__ __forceinline__ found combine(const found &x, const found &y) {
  return better(y, x) ? y : x;
}
__device__ __forceinline__ found nothing() { return {value(), NOWHERE}; }
__device__ __forceinline__ found from_lane(const found &x, int down) {
  return {__shfl_down_sync(0xffffffff, x.v, down), __shfl_down_sync(0xffffffff, x.at, down)};
}

// Of all the block's threads; thread 0 has the result.
__device__ __forceinline__ found fold_block(found f) {
@ if FOLD == "shuffle" then
  __shared__ value values[32];
  __shared__ long long places[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) f = combine(f, from_lane(f, d));
  if (lane == 0) {
    values[warp] = f.v;
    places[warp] = f.at;
  }
  __syncthreads();
  if (warp == 0) {
    f = lane < BLOCK / 32 ? found{values[lane], places[lane]} : nothing();
#pragma unroll
    for (int d = 16; d > 0; d /= 2) f = combine(f, from_lane(f, d));
  }
@ else
  __shared__ value values[BLOCK];
  __shared__ long long places[BLOCK];
  values[threadIdx.x] = f.v;
  places[threadIdx.x] = f.at;
#pragma unroll
  for (int d = BLOCK / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) {
      f = combine(f, found{values[threadIdx.x + d], places[threadIdx.x + d]});
      values[threadIdx.x] = f.v;
      places[threadIdx.x] = f.at;
    }
  }
@ end
  return f;
}

// One more number of a thread's share, behind those that it has seen: a NaN is nothing.
__device__ __forceinline__ void look(found &f, value v, long long at) {
  if (v == v && (f.at == NOWHERE || v @{op == "max" and ">" or "<"} f.v)) f = {v, at};
}

// Of this block's share of x: steps of STEP vectors, as far apart as there are blocks.
__device__ __forceinline__ found fold_share(long long n, const value *x) {
  const vector *from = reinterpret_cast<const vector *>(x);
  const long long vectors = n / VEC;
  found f = nothing();
  for (long long i = (long long)blockIdx.x * STEP + threadIdx.x; i < vectors;
       i += (long long)gridDim.x * STEP) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (i + c * BLOCK < vectors) v[c] = from[i + c * BLOCK];
    }
    // The best of the step, from back to front, so that the first of equal ones stays: one comparison
    // and a small number each, in place of a long one.
    value best = WORST;
    int which = -1;
#pragma unroll
    for (int c = COARSE - 1; c >= 0; c--) {
#pragma unroll
      for (int e = VEC - 1; e >= 0; e--) {
        if (i + c * BLOCK < vectors && v[c].e[e] @{op == "max" and ">=" or "<="} best) {
          best = v[c].e[e];
          which = c * VEC + e;
        }
      }
    }
    if (which >= 0) look(f, best, (i + which / VEC * BLOCK) * VEC + which % VEC);
  }
  const long long rest = vectors * VEC + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) look(f, x[rest], rest);
  return f;
}

@ if FINISH == "accumulate" then
// The larger the better; 0 is nothing.
__device__ __forceinline__ unsigned long long word_of(const found &f) {
@   if dtype == "f32" then
  const unsigned bits = __float_as_uint(f.v + 0.0f);  // of a zero without its sign
  const unsigned above = bits ^ (bits >> 31 ? 0xffffffff : 0x80000000);
@   else
  const unsigned above = (unsigned)f.v ^ 0x80000000;
@   end
  const unsigned better = @{op == "max" and "above" or "~above"};
  return f.at == NOWHERE ? 0 : (unsigned long long)better << 32 | (0xffffffff - (unsigned)f.at);
}

// By thread 0 of every block: the last tells the place, and leaves nothing for the next launch.
__device__ __forceinline__ void accumulate(const found &f, unsigned long long *best, unsigned *arrived,
                                           unsigned blocks, long long *y) {
  atomicMax(best, word_of(f));
  __threadfence();
  if (atomicInc(arrived, blocks - 1) < blocks - 1) return;
  __threadfence();
  const unsigned long long word = atomicExch(best, 0);
  *y = word ? 0xffffffff - (unsigned)word : -1ll;
}
@ else
// Of the results of all blocks, by one block.
__device__ __forceinline__ void finish(int blocks, const found *partial, long long *y) {
  found f = nothing();
  for (int i = threadIdx.x; i < blocks; i += BLOCK) f = combine(f, partial[i]);
  __syncthreads();  // fold_block's memory may be in use still
  f = fold_block(f);
  if (threadIdx.x == 0) *y = f.at == NOWHERE ? -1 : f.at;
}
@ end

extern "C" __global__ void __launch_bounds__(BLOCK)
argmax(long long n, const value *x, long long *y, found *partial, unsigned *arrived) {
  x += pdl_wait();
  const found f = fold_block(fold_share(n, x));
@ if FINISH == "accumulate" then
  if (threadIdx.x == 0) {
    accumulate(f, reinterpret_cast<unsigned long long *>(partial), arrived, gridDim.x, y);
  }
@ else
  if (threadIdx.x == 0) {
    partial[blockIdx.x].v = f.v;
    partial[blockIdx.x].at = f.at;
  }
@ end
@ if FINISH == "last_block" then
  if (is_last_block(arrived, gridDim.x)) finish(gridDim.x, partial, y);
@ end
}
@ if FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(BLOCK)
argmax_finish(int blocks, const found *partial, long long *y) {
  finish(blocks, partial, y);
}
@ end
]],

  -- One block: each thread a stretch from front to back, then thread 0 the 1024 results in order.
  reference = {
    stages = {
      { kernel = "reference", grid = 1, block = 1024, args = { "n", "x", "y" } },
    },
    source = [[
@ local types = { f32 = "float", f64 = "double", i32 = "int", i64 = "long long" }
using value = @{types[dtype]};

extern "C" __global__ void reference(long long n, const value *x, long long *y) {
  __shared__ long long all[1024];
  const long long stretch = (n + 1023) / 1024, first = threadIdx.x * stretch;
  long long at = -1;
  for (long long i = first; i < n && i < first + stretch; i++) {
    if (x[i] == x[i] && (at < 0 || x[i] @{op == "max" and ">" or "<"} x[at])) at = i;
  }
  all[threadIdx.x] = at;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int t = 1; t < 1024; t++) {
    const long long i = all[t];
    if (i >= 0 && (at < 0 || x[i] @{op == "max" and ">" or "<"} x[at])) at = i;
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
