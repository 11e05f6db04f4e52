-- Kernels that launch kernels (CUDA Dynamic Parallelism): value i is repeated from starts[i] up to starts[i + 1].
-- With ALG=loop its thread writes them all; with ALG=launch the thread launches a grid for them. `-rdc=true` makes the
-- text one that is linked with the device runtime, which dev_links says is there; `pool` is how many of the launches
-- may be pending at once.
local LENGTH = "(n // longest) * (longest * (longest - 1) // 2) + (n % longest) * (n % longest - 1) // 2"

local function start(i, _, fields)
  local whole, rest = i // fields.longest, i % fields.longest
  return whole * (fields.longest * (fields.longest - 1) // 2) + rest * (rest - 1) // 2
end

return {
  name = "expand", version = 1, brief = "y[starts[i] .. starts[i+1]-1] = x[i]",
  cite = "CUDA Programming Guide, CUDA Dynamic Parallelism",
  problem = { { "n", 0, 2^16, default = 4096, brief = "values" },
              { "longest", 1, 4096, default = 64, brief = "value i is repeated i % longest times" } },
  args = { { "n", "i32", value = "n" },
           { "starts", "i32", "in", count = "n + 1", fill = { "lua", start } },
           { "x", "f32", "in", count = "n" },
           { "y", "f32", "out", count = LENGTH } },
  space = { { "ALG", { "loop", "launch" } },
            { "BLOCK", { 64, 128, 256 }, "threads per block of those that read x" },
            { "POOL", { 2048, 2^16 }, "launches that may be pending", when = "ALG == 'launch'" } },
  derive = {},
  require = { { "launches need nvJitLink and libcudadevrt.a", "ALG == 'loop' or dev_links == 1" },
              { "POOL is below n", "ALG == 'loop' or n <= POOL" } },
  default = { ALG = "loop", BLOCK = 128, POOL = 2048 },
  options = { { "-rdc=true", when = "ALG == 'launch'" } },
  stages = {
    { kernel = "expand", when = "ALG == 'loop'", grid = "ceildiv(n, BLOCK)", block = "BLOCK",
      args = { "n", "starts", "x", "y" } },
    { kernel = "expand", when = "ALG == 'launch'", grid = "ceildiv(n, BLOCK)", block = "BLOCK", pool = "POOL",
      args = { "n", "starts", "x", "y" } } },
  source = [[
extern "C" __global__ void fill(float value, float *y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    y[i] = value;
}

extern "C" __global__ void expand(int n, const int *__restrict__ starts, const float *__restrict__ x, float *y) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  const int first = starts[i], count = starts[i + 1] - first;
  if constexpr (ALG == ALG_loop) {
    for (int k = 0; k < count; k++)
      y[first + k] = x[i];
  } else if (count > 0) {
@ if ALG == "launch" then
    fill<<<1, 32, 0, cudaStreamFireAndForget>>>(x[i], y + first, count);
@ end
  }
}
]],
  reference = {
    stages = { { kernel = "slow", grid = "ceildiv(n, 256)", block = 256, args = { "n", "starts", "x", "y" } } },
    source = [[
extern "C" __global__ void slow(int n, const int *starts, const float *x, float *y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  for (int k = i < n ? starts[i] : 0; i < n && k < starts[i + 1]; k++)
    y[k] = x[i];
}
]] },
  tolerance = { abs = 0, rel = 0 }, flops = "0", bytes = "8 * n + 4 * (" .. LENGTH .. ")",
  sizes = { emu = { "n=300" }, test = { "n=0", "n=1", "n=2048", "n=2049" }, bench = { "n=2^16" } },
}
