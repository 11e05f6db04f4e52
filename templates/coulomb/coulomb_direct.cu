// coulomb_direct.cu -- each thread the energies of its own points: gather, and coarse with POINTS > 1.
#include "pdl.cuh"

#include "coulomb_pairs.cuh"

@ if ATOMS == "constant" then
__constant__ float4 part[CHUNK];
@ end

// The atoms: an array of 4 numbers each, or with ATOMS=soa arrays of each number, `pitch` long.
struct atom_list {
  const float *atoms;
  long long pitch;

  __device__ __forceinline__ float4 at(long long i) const {
    if constexpr (ATOMS == ATOMS_soa) {
      return make_float4(atoms[i], atoms[pitch + i], atoms[2 * pitch + i], atoms[3 * pitch + i]);
    }
    return load_atom(atoms, i);
  }
};

@ if ATOMS == "shared" then
__device__ __forceinline__ void add_tiles(const lattice &g, const column &p, const atom_list &list, long long from,
                                          long long to, float *sum) {
  __shared__ float4 tile[CHUNK];
  const int thread = threadIdx.y * BLOCK_X + threadIdx.x;
  for (long long i = from; i < to; i += CHUNK) {
    const int n = (int)min((long long)CHUNK, to - i);
    __syncthreads();
#pragma unroll 2
    for (int t = thread; t < n; t += BLOCK_X * BLOCK_Y) tile[t] = flatten(g, list.at(i + t));
    __syncthreads();
    add_atoms(g, p, n, sum, [&](int t) { return tile[t]; });
  }
}
@ end

// Atoms from `from` to before `to`.
__device__ __forceinline__ void add_list(const lattice &g, const column &p, const atom_list &list, long long from,
                                         long long to, float *sum) {
@ if ATOMS == "shared" then
  add_tiles(g, p, list, from, to, sum);
@ elseif ATOMS == "constant" then
  add_atoms(g, p, (int)(to - from), sum, [&](int i) { return part[(int)from + i]; });
@ else
  add_atoms(g, p, (int)(to - from), sum, [&](int i) { return list.at(from + i); });
@ end
}

@ if MAP == "grid" then
// Blocks are rectangles of threads, and take consecutive parts of the grid.
__device__ __forceinline__ column own_column(const lattice &g) {
  const int bx = blockIdx.x * BLOCK_X, by = blockIdx.y * BLOCK_Y, bz = blockIdx.z;
  const bool apart = PLACE == PLACE_apart;
  int x = bx + threadIdx.x, y = by + threadIdx.y, z = bz, stride = 1;
  if (AXIS == AXIS_x) x = apart ? bx * POINTS + threadIdx.x : x * POINTS;
  if (AXIS == AXIS_y) y = apart ? by * POINTS + threadIdx.y : y * POINTS;
  if (AXIS == AXIS_z) z = bz * POINTS;
  if (apart) stride = AXIS == AXIS_x ? BLOCK_X : AXIS == AXIS_y ? BLOCK_Y : 1;
  return column_of(g, x, y, z, stride);
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
coulomb(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, float soften, float cutoff, int n,
        const float *atoms, long long pitch, float *energy) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, soften, cutoff);
  const column p = own_column(g);
  float sum[POINTS] = {};
  atoms += pdl_wait();
  add_list(g, p, {atoms, pitch}, 0, n, sum);
  add_energies<false>(p, sum, energy);
}
@ else
// Threads take points by their number, whatever the extents of the grid.
__device__ __forceinline__ column column_at(const lattice &g, unsigned task) {
  const unsigned nx = AXIS == AXIS_x ? (g.nx + POINTS - 1) / POINTS : g.nx;
  const unsigned ny = AXIS == AXIS_y ? (g.ny + POINTS - 1) / POINTS : g.ny;
  const unsigned nz = AXIS == AXIS_z ? (g.nz + POINTS - 1) / POINTS : g.nz;
  const bool apart = PLACE == PLACE_apart;
  int x = task % nx, y = task / nx % ny, z = task / nx / ny, stride = 1;
  if (AXIS == AXIS_x) x = apart ? x : x * POINTS;
  if (AXIS == AXIS_y) y = apart ? y : y * POINTS;
  if (AXIS == AXIS_z && z < nz) z = apart ? z : z * POINTS;
  else if (AXIS == AXIS_z) z = g.nz;
  if (apart) stride = AXIS == AXIS_x ? nx : AXIS == AXIS_y ? ny : nz;
  column p = column_of(g, x, y, z, stride);
  if ((unsigned)(task / nx / ny) >= nz) p.length = 0;
  return p;
}

@ if FINISH == "parts" then
// Each block the columns of a group and a part of the atoms; where there are several parts, sums go to `partial`, of
// which each part has a copy of the grid.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, RESIDENT)
coulomb(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, float soften, float cutoff, int n,
        const float *atoms, long long pitch, float *energy, unsigned groups, int share, float *partial) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, soften, cutoff);
  const unsigned group = blockIdx.x % groups, part = blockIdx.x / groups;
  const column p = column_at(g, group * (BLOCK_X * BLOCK_Y) + threadIdx.y * BLOCK_X + threadIdx.x);
  const long long from = (long long)part * share, to = min((long long)n, from + share);
  float sum[POINTS] = {};
  atoms += pdl_wait();
  add_list(g, p, {atoms, pitch}, from, to, sum);
  if (gridDim.x == groups) {
    add_energies<false>(p, sum, energy);
  } else {
    put_energies(p, sum, partial + part * ((long long)nx * ny * nz));
  }
}

// Adds the parts' sums in their order.
extern "C" __global__ void __launch_bounds__(256)
coulomb_finish(long long points, int parts, const float *partial, float *energy) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  pdl_wait();
  if (i >= points) return;
  float sum = 0;
  for (int part = 0; part < parts; part++) sum += partial[part * points + i];
  energy[i] += sum;
}
@ else
// The pairs of points and atoms are divided evenly: each block takes `share` consecutive ones of groups * n, where a
// group is BLOCK_X * BLOCK_Y columns, which may begin and end amid a group's atoms.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y, RESIDENT)
coulomb(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, float soften, float cutoff, int n,
        const float *atoms, long long pitch, float *energy, long long pairs, long long share) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, soften, cutoff);
  const unsigned thread = threadIdx.y * BLOCK_X + threadIdx.x;
  long long at = blockIdx.x * share;
  const long long end = min(pairs, at + share);
  atoms += pdl_wait();
  while (at < end) {
    const unsigned group = (unsigned)(at / n);
    const long long from = at - (long long)group * n, to = min((long long)n, from + end - at);
    const column p = column_at(g, group * (BLOCK_X * BLOCK_Y) + thread);
    float sum[POINTS] = {};
    add_list(g, p, {atoms, pitch}, from, to, sum);
    if (to - from == n) {
      add_energies<false>(p, sum, energy);
    } else {
      add_energies<true>(p, sum, energy);
    }
    at += to - from;
  }
}
@ end
@ end

@ if ATOMS == "soa" then
// x, y, z and charge of all atoms, each in an array of its own.
extern "C" __global__ void __launch_bounds__(256)
coulomb_split(int n, const float *atoms, long long pitch, float *arrays) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  atoms += pdl_wait();
  if (i >= n) return;
  const float4 a = load_atom(atoms, i);
  arrays[i] = a.x;
  arrays[pitch + i] = a.y;
  arrays[2 * pitch + i] = a.z;
  arrays[3 * pitch + i] = a.w;
}
@ end
