-- A template for tests: NaNs, split for tensor cores, stay NaNs in what these look at.
return {
  name = "parts", version = 1, brief = "y = 1 where a part of a NaN is one", cite = "IEEE 754",
  problem = { { "n", 1, 2^20, default = 4096 } },
  args = { { "n", "i32", value = "n" }, { "y", "u32", "out", count = "n" } },
  space = {
    { "PARTS", { 1, 2 }, "parts of a number" },
    { "SWAP", { "no", "yes" } }, { "GROUPS", { 1 } }, { "EDGE", { "whole" } }, { "VEC", { 4 } },
  },
  derive = { { "HELD_ALONG_K", "VEC == 1" } },
  require = {},
  default = { PARTS = 1, SWAP = "no", GROUPS = 1, EDGE = "whole", VEC = 4 },
  stages = { { kernel = "parts", grid = "ceildiv(n, 128)", block = 128, args = { "n", "y" } } },
  source = [[
@include "ptx.cuh"
@include "split.cuh"
__device__ bool seen_as_nan(unsigned bits) { return (bits & 0x7fffe000) > 0x7f800000; }

extern "C" __global__ void parts(int n, unsigned *y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float x = __uint_as_float(0x7fffffffu - i % 2 * 0x400000u - i / 2 * (0x3ffffeu / n));
  const unsigned hi = hi_part(x);
  y[i] = seen_as_nan(hi) || (PARTS == 2 && seen_as_nan(lo_part(x, hi)));
}
]],
  reference = {
    stages = { { kernel = "ones", grid = "ceildiv(n, 128)", block = 128, args = { "n", "y" } } },
    source = [[
extern "C" __global__ void ones(int n, unsigned *y) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = 1;
}
]] },
  tolerance = { abs = 0, rel = 0 }, flops = "n", bytes = "4 * n",
  sizes = { emu = { "n=4096" }, test = { "n=4096" }, bench = { "n=4096" } },
}
