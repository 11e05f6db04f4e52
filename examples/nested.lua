-- A sum by kernels that launch kernels, beside the same sum in one launch. Each block adds up the numbers of its share,
-- halving them step by step: in a loop (ALG=flat), by a grid for each block and step (nested), or by a grid for all
-- blocks and each step, the next one a tail launch of the last (together).
-- src: Cheng, Grossman, McKercher, Professional CUDA C Programming, ch. 3.6: 0.53 ms (flat), 59 and 0.80 ms on a K40c
return {
  name = "nested", version = 1, brief = "y = the sum of x", cite = "Professional CUDA C Programming, ch. 3.6",
  problem = { { "blocks", 1, 2^14, default = 2048, brief = "of 512 numbers" } },
  args = { { "x", "i32", "in", count = "512 * blocks", fill = { "uniform", 0, 255 } },
           { "y", "i32", "out", count = 1 } },
  space = { { "ALG", { "flat", "nested", "together" } } },
  derive = {},
  require = { { "launches need nvJitLink and libcudadevrt.a", "ALG == 'flat' or dev_links == 1" } },
  default = { ALG = "flat" },
  options = { { "-rdc=true", when = "ALG ~= 'flat'" } },
  workspace = { { "sums", "i32", "512 * blocks" } },
  stages = {
    { memset = "y", value = 0, nbytes = 4 },
    { copy = "sums", from = "x", nbytes = "2048 * blocks" },
    { kernel = "halve", when = "ALG == 'flat'", grid = "blocks", block = 256, args = { { "i32", 256 }, "sums" } },
    { kernel = "halve", when = "ALG ~= 'flat'", grid = "blocks", block = 256, pool = "max(2048, blocks)",
      args = { { "i32", 256 }, "sums" } },
    { kernel = "add", grid = "ceildiv(blocks, 256)", block = 256, args = { { "i32", "blocks" }, "sums", "y" } } },
  source = [[
// Numbers i and half + i of each block's 512 become their sum.
@ if ALG == "nested" then
extern "C" __global__ void halve_one(int half, int *mine) {
  mine[threadIdx.x] += mine[half + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0 && half > 1) halve_one<<<1, half / 2, 0, cudaStreamFireAndForget>>>(half / 2, mine);
}
@ end

extern "C" __global__ void halve(int half, int *sums) {
  int *mine = sums + 512 * blockIdx.x;
  mine[threadIdx.x] += mine[half + threadIdx.x];
@ if ALG == "flat" then
  for (half /= 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) mine[threadIdx.x] += mine[half + threadIdx.x];
  }
@ elseif ALG == "nested" then
  __syncthreads();
  if (threadIdx.x == 0) halve_one<<<1, half / 2, 0, cudaStreamFireAndForget>>>(half / 2, mine);
@ else
  if (blockIdx.x == 0 && threadIdx.x == 0 && half > 1)
    halve<<<gridDim.x, half / 2, 0, cudaStreamTailLaunch>>>(half / 2, sums);
@ end
}

extern "C" __global__ void add(int blocks, const int *sums, int *y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int sum = __reduce_add_sync(~0u, i < blocks ? sums[512 * i] : 0);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}
]],
  reference = {
    stages = { { memset = "y", value = 0, nbytes = 4 },
               { kernel = "slow", grid = "blocks", block = 256, args = { "x", "y" } } },
    source = [[
extern "C" __global__ void slow(const int *x, int *y) {
  const int i = blockIdx.x * 512 + threadIdx.x;
  atomicAdd(y, x[i] + x[256 + i]);
}
]] },
  tolerance = { abs = 0, rel = 0 }, flops = "512 * blocks", bytes = "2048 * blocks",
  sizes = { emu = { "blocks=3" }, test = { "blocks=1", "blocks=2048" }, bench = { "blocks=2048" } },
}
