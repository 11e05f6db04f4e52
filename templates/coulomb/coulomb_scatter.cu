// coulomb_scatter.cu -- each thread an atom, which it adds to all points with atomics.
#include "pdl.cuh"

#include "coulomb_pairs.cuh"

@ if ATOMS == "constant" then
__constant__ float4 part[CHUNK];
@ end

extern "C" __global__ void __launch_bounds__(BLOCK_X)
coulomb(int nx, int ny, int nz, float spacing, float x0, float y0, float z0, float soften, float cutoff, int n,
        const float *atoms, float *energy) {
  const lattice g = lattice_of(nx, ny, nz, spacing, x0, y0, z0, soften, cutoff);
  const int i = blockIdx.x * BLOCK_X + threadIdx.x;
  atoms += pdl_wait();
  if (i >= n) return;
@ if ATOMS == "constant" then
  const float4 a = part[i];
@ else
  const float4 a = load_atom(atoms, i);
@ end
  for (int z = 0; z < nz; z++) {
    const float dz = g.z(z) - a.z, rz = fmaf(dz, dz, g.soft2);
    for (int y = 0; y < ny; y++) {
      const float dy = g.y(y) - a.y, ry = fmaf(dy, dy, rz);
      float *const row = energy + ((long long)z * ny + y) * nx;
      for (int x = 0; x < nx; x++) {
        const float dx = g.x(x) - a.x, r2 = fmaf(dx, dx, ry);
        if (!CUT || r2 <= g.most) atomicAdd(row + x, a.w * rsqrt_unit(r2));
      }
    }
  }
}
