-- heat.lua -- steps of the heat equation along a rod, u'[i] = w0*u[i-1] + w1*u[i] + w2*u[i+1]; the ends
-- keep their temperature. It shows weights in constant memory, a cooperative launch with a barrier of
-- the grid, and a loop of launches in which two buffers change places.
--
--   autotune ./heat.lua n=1000000 steps=100

local stages = { { constant = "weights", from = "w", nbytes = 12 } }
local function launch(kernel, when, args)
  return { kernel = kernel, when = when, grid = "ceildiv(n, BLOCK)", block = "BLOCK", args = args }
end
stages[2] = launch("keep", "steps == 0", { "n", "x", "y" })
stages[3] = { kernel = "march", when = "LOOP == 'device' and steps > 0", cooperative = true,
  grid = "min(ceildiv(n, BLOCK), dev_sms * BLOCKS_SM)", block = "BLOCK",
  args = { "n", "steps", "x", "other", "y", "arrived" } }
-- The last step writes y, so the first one writes y where their number is odd.
for _, way in ipairs { { 1, "y", "other" }, { 0, "other", "y" } } do
  local when = "LOOP ~= 'device' and steps > 0 and steps % 2 == " .. way[1]
  stages[#stages + 1] = launch("once", when, { "n", "x", way[2] })
  stages[#stages + 1] = {
    loop = { times = "steps - 1", swap = { { "y", "other" } }, graph = "LOOP == 'graph'" }, when = when,
    stages = { launch("once", nil, { "n", way[2], way[3] }) },
  }
end

return {
  name = "heat", version = 1, brief = "steps of a three-point stencil",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 8",
  problem = { { "n", 2, 2^30, default = 2^20 }, { "steps", 0, 1000, default = 10 } },
  args = {
    { "n", "i32", value = "n" }, { "steps", "i32", value = "steps" },
    { "w", "f32", "in", count = 3, fill = { "uniform", 0.2, 0.3 } },
    { "x", "f32", "in", count = "n", fill = { "uniform", 0, 1 } },
    { "y", "f32", "out", count = "n" },
  },
  workspace = { { "other", "f32", "n" }, { "arrived", "u64", 1 } },
  space = {
    { "LOOP", { "device", "host", "graph" },
      "what repeats the steps: a barrier of the grid, launches, a graph of them" },
    { "BLOCK", { 128, 256, 512, 1024 } },
    { "BLOCKS_SM", { 1, 2 }, "blocks on each multiprocessor that march", when = "LOOP == 'device'" },
  },
  require = {
    { "BLOCKS_SM blocks of BLOCK threads do not fit", "BLOCK * BLOCKS_SM <= dev_threads_sm" },
  },
  default = { LOOP = "device", BLOCK = 256, BLOCKS_SM = 1 },
  stages = stages,
  source = [[
#include "grid_barrier.cuh"

__constant__ float weights[3];

__device__ void step(int n, const float *from, float *to) {
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
    const bool end = i == 0 || i == n - 1;
    to[i] = end ? from[i] : weights[0] * from[i - 1] + weights[1] * from[i] + weights[2] * from[i + 1];
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK) keep(int n, const float *x, float *y) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" __global__ void __launch_bounds__(BLOCK) once(int n, const float *from, float *to) {
  step(n, from, to);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_SM)
march(int n, int steps, const float *x, float *other, float *y, unsigned long long *arrived) {
  const float *from = x;
  for (int s = 0; s < steps; s++) {
    float *to = (steps - s) % 2 ? y : other;
    step(n, from, to);
    grid_barrier(arrived);
    from = to;
  }
}
]],
  reference = {
    workspace = { { "one", "f64", "n" }, { "two", "f64", "n" } },
    stages = { { kernel = "slow", grid = 1, block = 1024, args = { "n", "steps", "w", "x", "one", "two", "y" } } },
    source = [[
extern "C" __global__ void slow(int n, int steps, const float *w, const float *x, double *from, double *to, float *y) {
  for (int i = threadIdx.x; i < n; i += 1024) from[i] = x[i];
  __syncthreads();
  for (int s = 0; s < steps; s++) {
    for (int i = threadIdx.x; i < n; i += 1024) {
      const bool end = i == 0 || i == n - 1;
      to[i] = end ? from[i] : w[0] * from[i - 1] + w[1] * from[i] + w[2] * from[i + 1];
    }
    __syncthreads();
    double *const last = from;
    from = to;
    to = last;
  }
  for (int i = threadIdx.x; i < n; i += 1024) y[i] = (float)from[i];
}
]] },
  -- each step rounds three times, and what it rounds is at most 1
  tolerance = { abs = "(3 * steps + 1) * 2^-24", rel = 0 },
  flops = "5 * n * steps", bytes = "8 * n * steps",
  sizes = { emu = { "n=5000 steps=5" }, test = { "n=2 steps=3", "n=1001 steps=0", "n=1001 steps=1", "n=1001 steps=6" },
            bench = { "n=2^24 steps=100" } },
}
