-- normalise.lua -- y = (x - least) / (greatest - least), and a copy of x. It shows stages on two streams:
-- the least and the greatest element are found beside each other, and the copy needs neither.
--
--   autotune ./normalise.lua n=1000000
local function extreme(kernel, stream)
  return { kernel = kernel, grid = "min(ceildiv(n, BLOCK), 4 * dev_sms)", block = "BLOCK", stream = stream,
    args = { "n", "x", "ends" } }
end

return {
  name = "normalise", version = 1, brief = "a vector scaled to 0 to 1", cite = "",
  problem = { { "n", 1, 2^30, default = 2^20 } },
  args = {
    { "n", "i32", value = "n" }, { "x", "f32", "in", count = "n", fill = { "normal", 3, 2 } },
    { "y", "f32", "out", count = "n" }, { "kept", "f32", "out", count = "n" },
  },
  workspace = { { "ends", "u32", 2 } },
  space = { { "STREAMS", { 1, 2 } }, { "BLOCK", { 128, 256, 512 } } },
  default = { STREAMS = 2, BLOCK = 256 },
  stages = {
    { memset = "ends", value = 0 },
    extreme("least", 0),
    extreme("greatest", "STREAMS - 1"),
    { copy = "kept", from = "x", nbytes = "4 * n", stream = "STREAMS - 1" },
    { kernel = "scale", grid = "ceildiv(n, BLOCK)", block = "BLOCK", after = "STREAMS - 1",
      args = { "n", "x", "ends", "y" } },
  },
  source = [[
// Numbers in the order of their values, 0 below all of them.
__device__ unsigned ordered(float v) {
  const unsigned bits = __float_as_uint(v);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ float number(unsigned order) {
  return __uint_as_float(order >> 31 ? order & 0x7fffffffu : ~order);
}

template <class F> __device__ void find(int n, const float *x, unsigned *end, F order) {
  unsigned most = 0;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) most = max(most, order(x[i]));
  most = __reduce_max_sync(~0u, most);
  if (threadIdx.x % 32 == 0) atomicMax(end, most);
}

extern "C" __global__ void __launch_bounds__(BLOCK) least(int n, const float *x, unsigned *ends) {
  find(n, x, ends, [](float v) { return ~ordered(v); });
}
extern "C" __global__ void __launch_bounds__(BLOCK) greatest(int n, const float *x, unsigned *ends) {
  find(n, x, ends + 1, [](float v) { return ordered(v); });
}

extern "C" __global__ void __launch_bounds__(BLOCK) scale(int n, const float *x, const unsigned *ends, float *y) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const float least = number(~ends[0]), greatest = number(ends[1]);
  if (i < n) y[i] = greatest > least ? (x[i] - least) / (greatest - least) : 0;
}
]],
  reference = {
    workspace = { { "ends", "f32", 2 } },
    stages = {
      { kernel = "both", grid = 1, block = 1, args = { "n", "x", "ends" } },
      { kernel = "slow", grid = "ceildiv(n, 256)", block = 256, args = { "n", "x", "ends", "y", "kept" } },
    },
    source = [[
extern "C" __global__ void both(int n, const float *x, float *ends) {
  float least = x[0], greatest = x[0];
  for (int i = 1; i < n; i++) {
    least = min(least, x[i]);
    greatest = max(greatest, x[i]);
  }
  ends[0] = least;
  ends[1] = greatest;
}
extern "C" __global__ void slow(int n, const float *x, const float *ends, float *y, float *kept) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = ends[1] > ends[0] ? (float)(((double)x[i] - ends[0]) / ((double)ends[1] - ends[0])) : 0;
  kept[i] = x[i];
}
]] },
  -- two differences, a quotient and its rounding
  tolerance = { abs = 0, rel = 4 * 2^-24 },
  flops = "3 * n", bytes = "24 * n",
  sizes = { emu = { "n=5000" }, test = { "n=1", "n=33", "n=5001" }, bench = { "n=2^26" } },
}
