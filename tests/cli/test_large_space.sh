#!/bin/sh
# test_large_space.sh -- a template with 10^10 valid configurations, from the command line: counted,
# tuned with several strategies, continued, shown. AUTOTUNE names the program.
set -u
. tests/fixtures/cli_fixture.sh

cat >"$folder/large.lua" <<'END'
return {
  name = "large", version = 1, brief = "x = a*x in far too many ways", cite = "BLAS level 1",
  problem = { { "n", 0, 2^31 - 1, default = 2^12 } },
  args = { { "n", "i32", value = "n" }, { "a", "f32", sample = 0.5 },
           { "x", "f32", "inout", count = "n", fill = { "uniform", -1, 1 } } },
  space = { { "BX", { 8, 16, 24, 32, 48, 64, 96, 128, 192, 256 } }, { "BY", { 1, 2, 3, 4, 6, 8 } },
    { "BZ", { 1, 2, 3, 4, 6, 8 } }, { "TX", { 1, 2, 3, 4, 5, 6, 7, 8 } }, { "TY", { 1, 2, 3, 4, 5, 6, 7, 8 } },
    { "TZ", { 1, 2, 3, 4 } }, { "STAGES", { 1, 2, 3, 4, 5, 6 } }, { "VEC", { 1, 2, 4 } },
    { "UX", { 1, 2, 3, 4, 5, 6, 7, 8 } }, { "UY", { 1, 2, 3, 4, 5, 6, 7, 8 } }, { "UZ", { 1, 2, 3, 4 } },
    { "ORDER", { "xyz", "xzy", "yxz", "yzx", "zxy", "zyx" } }, { "SWIZZLE", { 0, 1, 2, 3, 4, 5, 6, 7 } },
    { "PAD", { 0, 1, 2, 3, 4, 8 } }, { "CACHE", { "all", "global", "stream" } } },
  derive = { { "THREADS", "BX * BY * BZ" }, { "TILE", "THREADS * TX * TY * TZ" },
    { "SMEM", "4 * STAGES * (BX * TX + PAD) * BY * TY" } },
  require = { { "block", "THREADS <= dev_threads_block and THREADS % 32 == 0" },
    { "shared memory", "SMEM <= dev_smem_block" }, { "unrolled", "UX * UY * UZ <= 32" },
    { "whole", "TX % UX == 0 and TY % UY == 0" }, { "vector", "TX % VEC == 0 or CACHE == 'all'" },
    { "swizzle", "SWIZZLE == 0 or PAD == 0 or ORDER ~= 'xyz'" }, { "tile", "TILE <= 65536" } },
  default = { BX = 32, BY = 1, BZ = 1, TX = 1, TY = 1, TZ = 1, STAGES = 1, VEC = 1, UX = 1, UY = 1, UZ = 1,
    ORDER = "xyz", SWIZZLE = 0, PAD = 0, CACHE = "all" },
  stages = { { kernel = "scale", grid = "ceildiv(n, TILE)", block = { "BX", "BY", "BZ" }, args = { "n", "a", "x" } } },
  source = [[
extern "C" __global__ void scale(int n, float a, float *x) {
  const int thread = (threadIdx.z * BY + threadIdx.y) * BX + threadIdx.x;
#pragma unroll UX
  for (int c = 0; c < TX * TY * TZ; c++) {
    const int i = (blockIdx.x * TX * TY * TZ + c) * THREADS + thread;
    if (i < n) x[i] *= a;
  }
}
]],
  reference = {
    stages = { { kernel = "slow", grid = "ceildiv(n, 256)", block = 256, args = { "n", "a", "x" } } },
    source = [[
extern "C" __global__ void slow(int n, float a, float *x) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) x[i] = (float)((double)a * x[i]);
}
]] },
  tolerance = { abs = 0, rel = 2^-23 }, flops = "n", bytes = "8 * n",
  sizes = { emu = { "n=1000" }, test = { "n=0", "n=1", "n=1001" }, bench = { "n=2^26" } },
}
END
large="$folder/large.lua"

prints "stored as a decision diagram" "$autotune" space "$large" n=4096
valid=$("$autotune" space "$large" n=4096 --json | sed 's/.*"valid":\([0-9]*\).*/\1/')
[ "$valid" -gt 1000000000 ] || complain "only $valid valid points"
for strategy in forest random evolve; do
  prints "6 trials, 0 failed" "$autotune" "$large" n=4096 --budget 6 --strategy $strategy --db "$folder/$strategy.db"
done
prints "9 trials, 0 failed" "$autotune" "$large" n=4096 --budget 9 --db "$folder/forest.db"
prints "9 right, 0 failed" "$autotune" show "$large" n=4096 --db "$folder/forest.db"
prints "0 wrong" "$autotune" check "$large" n=1001 --sample 8

[ $bad = 0 ] || echo "$bad complaints"
[ $bad = 0 ]
