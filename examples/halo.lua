-- halo.lua -- steps of a stencil on a ring of cells, v[i] = u[i-1]/4 + u[i]/2 + u[i+1]/4. After each step the H cells
-- at either end go to the host, as a program does that exchanges them with its neighbours. It shows streams in a loop:
-- the ends are computed and copied on one stream while another computes what is inside.
--
--   autotune ./halo.lua n=100000000 steps=10

local H = 64

local function step(from, to)
  local last = "4 * (n - " .. H .. ")"
  return {
    { kernel = "ends", grid = 1, block = 2 * H, stream = "STREAMS - 1", args = { "n", from, to } },
    { copy = "sent", from = to, nbytes = 4 * H, stream = "STREAMS - 1" },
    { copy = "sent", from = to, at = 4 * H, from_at = last, nbytes = 4 * H, stream = "STREAMS - 1" },
    { kernel = "inside", grid = "ceildiv(n - 2 * " .. H .. ", BLOCK)", block = "BLOCK", args = { "n", from, to } },
  }
end

-- The last step writes y, so the first one writes y where their number is odd.
local stages = {}
for _, way in ipairs { { 1, "y", "other" }, { 0, "other", "y" } } do
  local when = "steps % 2 == " .. way[1]
  stages[#stages + 1] = { loop = { times = 1 }, when = when, stages = step("x", way[2]) }
  stages[#stages + 1] = {
    loop = { times = "steps - 1", swap = { { "y", "other" } }, graph = "LOOP == 'graph'" }, when = when,
    stages = step(way[2], way[3]),
  }
end

return {
  name = "halo", version = 1, brief = "steps of a stencil on a ring whose ends go to the host",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 20",
  problem = { { "n", 2 * H, 2^30, default = 2^20 }, { "steps", 1, 1000, default = 10 } },
  args = {
    { "n", "i32", value = "n" },
    { "x", "f32", "in", count = "n" }, { "y", "f32", "out", count = "n" },
    { "sent", "f32", "out", count = 2 * H, host = true },
  },
  workspace = { { "other", "f32", "n" } },
  space = {
    { "LOOP", { "host", "graph" }, "what repeats the steps" },
    { "STREAMS", { 1, 2 } },
    { "BLOCK", { 128, 256, 512 } },
  },
  derive = {}, require = {}, default = { LOOP = "host", STREAMS = 2, BLOCK = 256 },
  stages = stages,
  source = [==[
constexpr int H = 64;

__device__ __forceinline__ void cell(int n, int i, const float *u, float *v) {
  v[i] = 0.25f * u[i ? i - 1 : n - 1] + 0.5f * u[i] + 0.25f * u[i < n - 1 ? i + 1 : 0];
}

extern "C" __global__ void __launch_bounds__(2 * H) ends(int n, const float *u, float *v) {
  const int t = threadIdx.x;
  cell(n, t < H ? t : n - 2 * H + t, u, v);
}

extern "C" __global__ void __launch_bounds__(BLOCK) inside(int n, const float *u, float *v) {
  const int i = H + blockIdx.x * BLOCK + threadIdx.x;
  if (i < n - H) cell(n, i, u, v);
}
]==],
  reference = {
    workspace = { { "one", "f64", "n" }, { "two", "f64", "n" } },
    stages = { { kernel = "slow", grid = 1, block = 1024,
      args = { "n", { "i32", "steps" }, "x", "one", "two", "y", "sent" } } },
    source = [==[
extern "C" __global__ void slow(int n, int steps, const float *x, double *from, double *to, float *y, float *sent) {
  for (int i = threadIdx.x; i < n; i += 1024) from[i] = x[i];
  __syncthreads();
  for (int s = 0; s < steps; s++) {
    for (int i = threadIdx.x; i < n; i += 1024) {
      to[i] = 0.25 * from[i ? i - 1 : n - 1] + 0.5 * from[i] + 0.25 * from[i < n - 1 ? i + 1 : 0];
    }
    __syncthreads();
    double *const last = from;
    from = to;
    to = last;
  }
  for (int i = threadIdx.x; i < n; i += 1024) y[i] = (float)from[i];
  for (int i = threadIdx.x; i < 64; i += 1024) {
    sent[i] = (float)from[i];
    sent[64 + i] = (float)from[n - 64 + i];
  }
}
]==] },
  tolerance = { abs = "(3 * steps + 1) * 2^-24", rel = 0 }, -- each step rounds three numbers of at most 1
  flops = "5 * n * steps", bytes = "8 * n * steps",
  sizes = { emu = { "n=3000 steps=3" }, test = { "n=128 steps=1", "n=129 steps=2", "n=1001 steps=5" },
            bench = { "n=2^26 steps=10" } },
}
