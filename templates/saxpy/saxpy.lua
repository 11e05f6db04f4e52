-- saxpy: y = a*x + y, the smallest real template and the one to read first.
--
-- A template is one Lua file that returns one table. Lists are ordered: the first field is the first
-- word of a problem, the last parameter of the space varies fastest. Whatever stands in quotes as a
-- number (a count, a grid, a requirement) is an EXPRESSION over the fields of the problem, the
-- parameters, the derived values before it and the device's limits (dev_...), in Lua's syntax, whole
-- numbers, with ceildiv, roundup, min, max, log2, ispow2, pow2div and sel(condition, then, else).

return {
  name = "saxpy",
  version = 1,
  brief = "y = a*x + y, single precision",
  cite = "BLAS level 1; Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 2 and 6.3",

  -- { name, least, most, default } for whole numbers, { name, {values}, default } for choices.
  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "align", { 4, 2, 1 }, default = "pow2div(n, 4)",
      brief = "elements that x and y are both aligned to" },
  },

  -- { name, type }: a scalar. `value`: always this; `sample`: the caller's, and what tests pass.
  -- { name, type, "in" | "out" | "inout", count, fill }: a buffer of count elements.
  args = {
    { "n", "i64", value = "n" },
    { "a", "f32", sample = 2.5 },
    { "x", "f32", "in", count = "n", fill = { "uniform", -1, 1 },
      shift = "sel(align < pow2div(n, 4), align, 0) * 4" },
    { "y", "f32", "inout", count = "n", fill = { "uniform", -1, 1 } },
  },

  -- The typed C call, tuned_saxpy(context, stream, n, a, x, y, error): its arguments in order, by
  -- the names of fields and args, and the fields that are computed from them; buffers are addresses.
  call = { "n", "a", "x", "y",
    align = "min(pow2div(x // 4, 4), pow2div(y // 4, 4), pow2div(n, 4))" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4 }, "floats per load and store" },
    { "COARSE", { 1, 2, 4, 8 }, "coarsening factor: vectors per thread" },
    { "ORDER", { "interleaved", "contiguous" },
      "a thread's vectors: BLOCK apart, or one beside the other" },
  },

  -- Values that follow; later expressions and the CUDA text may use them.
  derive = {
    { "TILE", "BLOCK * VEC * COARSE" },
  },

  -- A point is valid when all of these hold; the reason is what a rejected point reports.
  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "x and y are not aligned to VEC floats", "VEC <= align" },
    { "ORDER makes a difference only with COARSE > 1", "COARSE > 1 or ORDER == 'interleaved'" },
  },

  -- Valid for every problem of the family.
  default = { BLOCK = 256, VEC = 1, COARSE = 1, ORDER = "interleaved" },

  -- The launches in order.
  stages = {
    { kernel = "saxpy", grid = "ceildiv(n, TILE)", block = "BLOCK", args = { "n", "a", "x", "y" } },
  },

  -- The kernels, CUDA C++ in a file beside this one (or the text itself, [[ ... ]]). Parameters and
  -- derived values are constants there; ORDER is an enum with the values ORDER_interleaved and so on.
  source = "saxpy.cu",

  -- One thread per output element, accumulating in double; the same arguments.
  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(n, 256)", block = 256, args = { "n", "a", "x", "y" } },
    },
    source = [[
extern "C" __global__ void reference(long long n, float a, const float *x, float *y) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (float)((double)a * x[i] + y[i]);
}
]],
  },

  -- What else to check with; the first case (the samples as they are) is the one that is timed.
  cases = { {}, { a = 0 }, { a = -0.375 } },

  -- One fused or two separate roundings against the exact value: at most one unit in the last
  -- place of |a x| and one of the result.
  tolerance = { abs = 2^-22, rel = 2^-23 },

  flops = "2 * n",
  bytes = "12 * n",

  sizes = {
    emu = { "n=1000", "n=4096" },
    test = { "n=0", "n=1", "n=1027", "n=65536", "n=1000000" },
    bench = { "n=2^24", "n=2^27" },
  },
}
