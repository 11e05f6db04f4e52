-- potential.lua -- the electric potential of water at the points of a plane through it, the sum of q/r
-- over all atoms. It shows inputs with a structure, bounds of errors (charges of both signs cancel), and
-- launches of parts of the atoms, which fit into constant memory.
--
--   autotune ./potential.lua side=256 atoms=10000

return {
  name = "potential", version = 1, brief = "potential of point charges at the points of a plane",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 18",
  problem = { { "side", 1, 4096, default = 256, brief = "points in each direction, a tenth of a nanometre apart" },
              { "atoms", 0, 2^20, default = 10000 } },
  args = {
    { "side", "i32", value = "side" }, { "atoms", "i32", value = "atoms" },
    { "z", "f32", sample = 0.123 },
    { "atom", "f32", "in", count = "4 * atoms", brief = "x, y, z and charge of each",
      fill = { "atoms", "water", parts = "xyzq", size = { "side", "side", "max(1, 10 * atoms / side^2)" } } },
    { "energy", "f32", "out", count = "side^2" },
  },
  space = {
    { "BLOCK", { 64, 128, 256 } },
    { "POINTS", { 1, 2, 4, 8 }, "coarsening factor: points of a thread, BLOCK apart" },
    { "UNROLL", { 1, 4, 8 }, "atoms of an iteration" },
    { "ATOMS", { "global", "constant" }, "the memory that they are read from" },
    { "CHUNK", { 16, 1024, 4000 }, "atoms of a launch", when = "ATOMS == 'constant'" },
  },
  default = { BLOCK = 128, POINTS = 4, UNROLL = 4, ATOMS = "global", CHUNK = 1024 },
  derive = { { "CHUNKS", "sel(ATOMS == 'constant', max(1, ceildiv(atoms, CHUNK)), 1)" } },
  stages = {
    { loop = { times = "CHUNKS", index = "chunk" }, stages = {
      { constant = "part", from = "atom", when = "ATOMS == 'constant'", from_at = "16 * CHUNK * chunk",
        nbytes = "16 * min(CHUNK, atoms - CHUNK * chunk)" },
      { kernel = "potential", grid = { "ceildiv(side, BLOCK * POINTS)", "side" }, block = "BLOCK",
        args = { "side", { "i32", "sel(ATOMS == 'constant', min(CHUNK, atoms - CHUNK * chunk), atoms)" },
                 { "i32", "chunk" }, "z", "atom", "energy" } } } },
  },
  source = [[
__constant__ float4 part[CHUNK];

extern "C" __global__ void __launch_bounds__(BLOCK)
potential(int side, int atoms, int chunk, float z, const float4 *__restrict__ atom, float *energy) {
  const int x = blockIdx.x * BLOCK * POINTS + threadIdx.x, y = blockIdx.y;
  float sum[POINTS] = {};
#pragma unroll UNROLL
  for (int a = 0; a < atoms; a++) {
    const float4 p = ATOMS == ATOMS_constant ? part[a] : atom[a];
    const float dy = y - p.y, dz = z - p.z, r2 = dy * dy + dz * dz;
#pragma unroll
    for (int i = 0; i < POINTS; i++) {
      const float dx = x + i * BLOCK - p.x;
      sum[i] += p.w * rsqrtf(dx * dx + r2);
    }
  }
#pragma unroll
  for (int i = 0; i < POINTS; i++) {
    float *const to = &energy[y * side + x + i * BLOCK];
    if (x + i * BLOCK < side) *to = chunk ? *to + sum[i] : sum[i];
  }
}
]],
  reference = {
    workspace = { { "magnitude", "f32", "side^2" } },
    stages = { { kernel = "slow", grid = "ceildiv(side^2, 128)", block = 128,
                 args = { "side", "atoms", "z", "atom", "energy", "magnitude" } } },
    source = [[
extern "C" __global__ void slow(int side, int atoms, float z, const float4 *atom, float *energy, float *magnitude) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= side * side) return;
  double sum = 0, all = 0;
  for (int a = 0; a < atoms; a++) {
    const float4 p = atom[a];
    const double dx = i % side - (double)p.x, dy = i / side - (double)p.y, dz = z - (double)p.z;
    const double part = p.w / sqrt(dx * dx + dy * dy + dz * dz);
    sum += part;
    all += fabs(part);
  }
  energy[i] = (float)sum;
  magnitude[i] = (float)all;
}
]] },
  -- each term is off by 8 * 2^-24 of itself at most (differences, squares, sums, a root of 2 ulp, a product), each sum
  -- by 2^-24 of the magnitudes so far
  tolerance = { bound = "magnitude", factor = "(atoms + 8) * 2^-24" },
  flops = "10 * side^2 * atoms", bytes = "16 * atoms + 4 * side^2",
  sizes = { emu = { "side=20 atoms=30" }, test = { "side=1 atoms=0", "side=67 atoms=301" }, bench = { "side=1024" } },
}
