-- connected.lua -- elements that are joined to their right neighbours form runs; each gets the index of the
-- first of its run. Every element takes the least of its neighbours' labels until none changes: it shows a
-- loop until a word on the device is 0, with each of its drivers.
--
--   autotune ./connected.lua n=1000000
--   autotune ./connected.lua n=1000000 blocking=yes     -- the caller lets a launch wait for the device

local args = { "n", "joined", "even", "odd", "state" }
local function spread(more)
  local s = { kernel = "spread", grid = "ceildiv(n, BLOCK)", block = "BLOCK", args = args }
  for k, v in pairs(more or {}) do s[k] = v end
  return s
end

return {
  name = "connected", version = 1, brief = "the first element of each run of joined ones",
  cite = "label propagation",
  problem = {
    { "n", 1, 2^30, default = 2^20 },
    { "blocking", { "yes", "no" }, default = "no", class = "promise", brief = "may a launch wait for the device?" },
  },
  args = {
    { "n", "i32", value = "n" },
    { "joined", "i32", "in", count = "n", fill = { "uniform", 0, 4 } },
    { "y", "i32", "out", count = "n" },
  },
  -- state: whether another iteration follows, how many may, whether a label changed, iterations so far; then
  -- the words of the kernel that drives the loop itself
  workspace = { { "even", "i32", "n" }, { "odd", "i32", "n" }, { "state", "u32", 8 }, { "arrived", "u64", 1 } },
  space = {
    { "LOOP", { "device", "graph", "ahead", "host" }, "what repeats the iterations" },
    { "BLOCK", { 128, 256, 512 } },
    { "AHEAD", { 2, 8 }, "iterations that are launched before the host reads the word", when = "LOOP == 'ahead'" },
  },
  require = {
    { "LOOP=host and LOOP=ahead wait for the device", "blocking == 'yes' or LOOP ~= 'host' and LOOP ~= 'ahead'" },
  },
  default = { LOOP = "device", BLOCK = 256, AHEAD = 8 },
  stages = {
    { kernel = "start", grid = "ceildiv(n, BLOCK)", block = "BLOCK", args = { "n", "even", "state" } },
    { loop = { while_word = "state", graph = "LOOP == 'graph'", ahead = "LOOP == 'ahead'", batch = "AHEAD" },
      when = "LOOP ~= 'device'",
      stages = { spread(), { kernel = "decide", grid = 1, block = 1, args = { { loop = "state" }, "state" } } } },
    { kernel = "settle", when = "LOOP == 'device'", cooperative = true, block = "BLOCK",
      grid = "min(ceildiv(n, BLOCK), dev_sms)",
      args = { "n", "joined", "even", "odd", "state", "arrived", { loop = "state" } } },
    { kernel = "finish", grid = "ceildiv(n, BLOCK)", block = "BLOCK", args = { "n", "even", "odd", "state", "y" } },
  },
  source = [==[
#include "grid_barrier.cuh"
#include "while_loop.cuh"

__device__ bool take_least(int n, int i, const int *joined, const int *from, int *to) {
  int label = from[i];
  if (i > 0 && joined[i - 1]) label = min(label, from[i - 1]);
  if (i + 1 < n && joined[i]) label = min(label, from[i + 1]);
  to[i] = label;
  return label != from[i];
}

extern "C" __global__ void __launch_bounds__(BLOCK) start(int n, int *even, unsigned *state) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) even[i] = i;
  if (i < 8) state[i] = i == 0;
}

// Iterations that were launched ahead find the word 0.
extern "C" __global__ void __launch_bounds__(BLOCK)
spread(int n, const int *joined, int *even, int *odd, unsigned *state) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const bool back = state[3] % 2;
  const bool changed =
      state[0] && i < n && take_least(n, i, joined, back ? odd : even, back ? even : odd);
  if (__syncthreads_or(changed) && threadIdx.x == 0) atomicOr(&state[2], 1u);
}

extern "C" __global__ void decide(while_loop w, unsigned *state) {
  if (!state[0]) return;
  state[0] = state[2];
  state[2] = 0;
  state[3]++;
  while_go_on(w, state);
}

// A word for each of three iterations in turn: one that is set, one that is read, one that is cleared.
extern "C" __global__ void __launch_bounds__(BLOCK)
settle(int n, const int *joined, int *even, int *odd, unsigned *state, unsigned long long *arrived, while_loop w) {
  volatile unsigned *words = state + 4;
  unsigned k = 0;
  for (bool go = true; go; k++) {
    bool changed = false;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
      changed |= take_least(n, i, joined, k % 2 ? odd : even, k % 2 ? even : odd);
    }
    if (__syncthreads_or(changed) && threadIdx.x == 0) atomicOr(&state[4 + k % 3], 1u);
    if (blockIdx.x == 0 && threadIdx.x == 0) words[(k + 1) % 3] = 0;
    grid_barrier(arrived);
    go = words[k % 3];
    if (go && k == n) {
      while_give_up(w);
      break;
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) state[3] = k;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
finish(int n, const int *even, const int *odd, const unsigned *state, int *y) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = (state[3] % 2 ? odd : even)[i];
}
]==],
  reference = {
    stages = { { kernel = "walk", grid = "ceildiv(n, 256)", block = 256, args = { "n", "joined", "y" } } },
    source = [==[
extern "C" __global__ void walk(int n, const int *joined, int *y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  int first = i;
  while (first > 0 && first <= n && joined[first - 1]) first--;
  if (i < n) y[i] = first;
}
]==] },
  tolerance = { abs = 0, rel = 0 }, flops = "3 * n", bytes = "12 * n",
  sizes = { emu = { "n=3000", "n=3000 blocking=yes" }, test = { "n=1", "n=2", "n=1001", "n=1001 blocking=yes" },
            bench = { "n=2^24" } },
}
