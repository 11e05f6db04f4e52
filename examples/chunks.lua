-- chunks.lua -- y[i] = x[i]^2 + 1 where x and y are in the host's memory. It shows copies from and to the host in a
-- plan, in chunks on several streams, so that copies in both directions and kernels run at the same time (with pinned
-- memory).
--
--   autotune ./chunks.lua n=100000000

local start, count = "c * CHUNK", "min(CHUNK, n - c * CHUNK)"
local function copy(to, from)
  return { copy = to, from = from, at = "4 * c * CHUNK", from_at = "4 * c * CHUNK", nbytes = "4 * " .. count,
           stream = "1 + c % STREAMS" }
end

return {
  name = "chunks", version = 1, brief = "squares plus one, from host memory to host memory",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 20",
  problem = { { "n", 0, 2^30, default = 2^20 } },
  args = { { "x", "f32", "in", count = "n", host = true }, { "y", "f32", "out", count = "n", host = true } },
  workspace = { { "on_device", "f32", "n" } },
  space = {
    { "CHUNKS", { 1, 2, 4, 8, 16, 32 } },
    { "STREAMS", { 1, 2, 3, 4 }, "on which chunks take turns" },
    { "BLOCK", { 256 } },
  },
  derive = { { "CHUNK", "max(64, roundup(ceildiv(n, CHUNKS), 64))" } },
  require = { { "STREAMS of at most CHUNKS", "STREAMS <= CHUNKS" } },
  default = { CHUNKS = 8, STREAMS = 3, BLOCK = 256 },
  stages = {
    { loop = { times = "ceildiv(n, CHUNK)", index = "c" }, when = "n > 0", stages = {
      copy("on_device", "x"),
      { kernel = "square", grid = "ceildiv(" .. count .. ", BLOCK)", block = "BLOCK", stream = "1 + c % STREAMS",
        args = { { "i64", start }, { "i64", start .. " + " .. count }, "on_device" } },
      copy("y", "on_device"),
    } },
  },
  source = [==[
extern "C" __global__ void __launch_bounds__(BLOCK) square(long long first, long long end, float *x) {
  const long long i = first + (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i < end) x[i] = x[i] * x[i] + 1;
}
]==],
  reference = {
    stages = { { kernel = "slow", grid = "ceildiv(n, 256)", block = 256, args = { { "i64", "n" }, "x", "y" } } },
    source = [==[
extern "C" __global__ void slow(long long n, const float *x, float *y) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = (float)((double)x[i] * x[i] + 1);
}
]==] },
  tolerance = { abs = 2^-23, rel = 0 }, -- two roundings of values up to 2
  flops = "2 * n", bytes = "8 * n",
  sizes = { emu = { "n=5000" }, test = { "n=0", "n=1", "n=1001" }, bench = { "n=2^26" } },
}
