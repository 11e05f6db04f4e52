-- smooth.lua -- y[i] = sum of f[k] * x[i + k - r], where x is 0 outside. It shows a small array in the host's memory
-- (`host`), and the ways in which taps reach a kernel: as a buffer of the device, in constant memory, by value.
--
--   autotune ./smooth.lua n=1000000 r=3 taps=host

local function launch(kernel, when, taps)
  return { kernel = kernel, when = when, grid = "ceildiv(n, BLOCK)", block = "BLOCK", args = { "n", "x", taps, "y" } }
end

return {
  name = "smooth", version = 1, brief = "convolution along a line, taps on the device or the host",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 7",
  problem = {
    { "n", 0, 2^30, default = 2^20 }, { "r", 0, 8191, default = 3 },
    { "taps", { "device", "host" }, default = "device", brief = "whose memory f is in" },
  },
  args = {
    { "n", "i32", value = "n" },
    { "x", "f32", "in", count = "n" },
    { "f", "f32", "in", count = "2 * r + 1", host = "taps == 'host'" },
    { "y", "f32", "out", count = "n" },
  },
  space = {
    { "TAPS", { "buffer", "constant", "parameter" }, "where kernels read f" },
    { "BLOCK", { 128, 256, 512 } },
  },
  derive = { { "R", "r" } },
  require = {
    { "TAPS=parameter needs taps on the host", "TAPS ~= 'parameter' or taps == 'host'" },
    { "parameters of a kernel have 32,764 bytes", "TAPS ~= 'parameter' or 32 + 4 * (2 * r + 1) <= 32764" },
  },
  default = { TAPS = "constant", BLOCK = 256 },
  workspace = { { "kept", "f32", "sel(TAPS == 'buffer' and taps == 'host', 2 * r + 1, 0)" } },
  stages = {
    { constant = "constant_taps", from = "f", nbytes = "4 * (2 * r + 1)", when = "TAPS == 'constant'" },
    { copy = "kept", from = "f", nbytes = "4 * (2 * r + 1)", when = "TAPS == 'buffer' and taps == 'host'" },
    launch("smooth_buffer", "TAPS == 'buffer' and taps == 'host'", "kept"),
    launch("smooth_buffer", "TAPS == 'buffer' and taps == 'device'", "f"),
    { kernel = "smooth_constant", when = "TAPS == 'constant'", grid = "ceildiv(n, BLOCK)", block = "BLOCK",
      args = { "n", "x", "y" } },
    launch("smooth_parameter", "TAPS == 'parameter'", { parameter = "f", count = "2 * r + 1" }),
  },
  source = [==[
__device__ __forceinline__ void smooth(int n, const float *x, const float *f, float *y) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  float sum = 0;
  for (int k = 0; k <= 2 * R; k++) {
    const int from = i + k - R;
    sum += from >= 0 && from < n ? f[k] * x[from] : 0.0f;
  }
  if (i < n) y[i] = sum;
}

@ if TAPS == "buffer" then
extern "C" __global__ void __launch_bounds__(BLOCK)
smooth_buffer(int n, const float *x, const float *f, float *y) {
  smooth(n, x, f, y);
}
@ elseif TAPS == "constant" then
__constant__ float constant_taps[2 * R + 1];
extern "C" __global__ void __launch_bounds__(BLOCK) smooth_constant(int n, const float *x, float *y) {
  smooth(n, x, constant_taps, y);
}
@ else
struct taps_by_value { float at[2 * R + 1]; };
extern "C" __global__ void __launch_bounds__(BLOCK)
smooth_parameter(int n, const float *x, const __grid_constant__ taps_by_value f, float *y) {
  smooth(n, x, f.at, y);
}
@ end
]==],
  reference = {
    stages = { { kernel = "slow", grid = "ceildiv(n, 256)", block = 256,
      args = { "n", { "i32", "r" }, "x", "f", "y" } } },
    source = [==[
extern "C" __global__ void slow(int n, int r, const float *x, const float *f, float *y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  double sum = 0;
  for (int k = 0; k <= 2 * r; k++) {
    const int from = i + k - r;
    if (from >= 0 && from < n) sum += (double)f[k] * x[from];
  }
  if (i < n) y[i] = (float)sum;
}
]==] },
  tolerance = { abs = "(2 * r + 2) * (2 * r + 1) * 2^-24", rel = 0 }, -- taps and x are at most 1
  flops = "2 * n * (2 * r + 1)", bytes = "8 * n",
  sizes = { emu = { "n=5000 taps=host" }, test = { "n=0", "n=1 r=0", "n=1001 r=500 taps=host", "n=1001 r=3" },
            bench = { "n=2^26 taps=host", "n=2^26" } },
}
