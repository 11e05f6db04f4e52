-- An output whose length the launch finds: the elements of x above a limit. `valid` says which element of an output
-- counts those of `kept` that are compared; the rest is room. Blocks append in whatever order they come, so that kept
-- is compared with order = "any": the same elements, in any order.
return {
  name = "compact", version = 1, brief = "kept = the elements of x above limit", cite = "stream compaction",
  problem = { { "n", 0, 2^30, default = 2^20 } },
  args = { { "n", "i32", value = "n" }, { "limit", "f32", sample = 0.5 },
           { "x", "f32", "in", count = "n" },
           { "kept", "f32", "out", count = "n", valid = "count[0]", order = "any" },
           { "count", "u32", "out", count = 1 } },
  cases = { {}, { limit = -1 }, { limit = 2 } },
  space = { { "ALG", { "thread", "warp" }, "who adds to the count" }, { "BLOCK", { 128, 256, 512 } } },
  derive = {}, require = {}, default = { ALG = "warp", BLOCK = 256 },
  stages = { { memset = "count", value = 0, nbytes = 4 },
             { kernel = "compact", grid = "ceildiv(n, BLOCK)", block = "BLOCK",
               args = { "n", "limit", "x", "kept", "count" } } },
  source = [[
extern "C" __global__ void compact(int n, float limit, const float *__restrict__ x, float *kept, unsigned *count) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const bool keep = i < n && x[i < n ? i : 0] > limit;
  if constexpr (ALG == ALG_thread) {
    if (keep) kept[atomicAdd(count, 1)] = x[i];
  } else {
    const unsigned all = __ballot_sync(~0u, keep), lane = threadIdx.x % 32;
    unsigned first = 0;
    if (lane == 0 && all) first = atomicAdd(count, __popc(all));
    first = __shfl_sync(~0u, first, 0);
    if (keep) kept[first + __popc(all & ((1u << lane) - 1))] = x[i];
  }
}
]],
  reference = {
    stages = { { kernel = "slow", grid = 1, block = 1, args = { "n", "limit", "x", "kept", "count" } } },
    source = [[
extern "C" __global__ void slow(int n, float limit, const float *x, float *kept, unsigned *count) {
  *count = 0;
  for (int i = 0; i < n; i++)
    if (x[i] > limit) kept[(*count)++] = x[i];
}
]] },
  tolerance = { abs = 0, rel = 0 }, flops = "0", bytes = "5 * n",
  sizes = { emu = { "n=1000" }, test = { "n=0", "n=1", "n=1001" }, bench = { "n=2^26" } },
}
