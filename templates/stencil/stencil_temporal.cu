// stencil_temporal.cu -- TSTEPS steps in a launch; stencil_once makes one, where TSTEPS does not divide steps.
#include "stencil_sweep.cuh"

extern __shared__ __align__(16) unsigned char memory[];

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    stencil(int nx, int ny, int nz, int depth, unsigned parts, number c0, number c1, number c2,
            number c3, number c4, const stored *__restrict__ in, stored *__restrict__ out) {
  const weights c = {{c0, c1, c2, c3, c4}};
  const extents field = {nx, ny, nz};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  stored *shared = reinterpret_cast<stored *>(memory) + (DIMS == 2 ? warp * GROUP_SHARED : 0);
  const unsigned i = DIMS == 3 ? blockIdx.x : blockIdx.x * WARPS + warp;
  in += pdl_wait();
  if (i < parts) sweep(i, field, c, depth, in, out, shared, warp, lane);
}

extern "C" __global__ void __launch_bounds__(256)
    stencil_once(int nx, int ny, int nz, number c0, number c1, number c2, number c3, number c4,
                 const stored *__restrict__ in, stored *__restrict__ out) {
  const weights w = {{c0, c1, c2, c3, c4}};
  const extents field = {nx, ny, nz};
  const int x = blockIdx.x * 32 + threadIdx.x;
  if (x >= nx) return;
  for (long long z = blockIdx.z; z < nz; z += gridDim.z) {
    for (long long y = blockIdx.y * 8 + threadIdx.y; y < ny; y += gridDim.y * 8) {
      out[field.at(x, y, z)] = compute_point(w, field, in, x, y, z);
    }
  }
}
