// stencil_basic.cu -- a thread a point, all neighbours from global memory.
#include "stencil_points.cuh"

extern "C" __global__ void __launch_bounds__(TILE_X *TILE_Y *TILE_Z)
    stencil(int nx, int ny, int nz, double c0, double c1, double c2, double c3, double c4,
            const stored *__restrict__ in, stored *__restrict__ out) {
  const weights w = weights_of(c0, c1, c2, c3, c4);
  const extents field = {nx, ny, nz};
  const int x = blockIdx.x * TILE_X + threadIdx.x;
  in += pdl_wait();
  if (x >= nx) return;
  for (long long z = blockIdx.z * TILE_Z + threadIdx.z; z < nz; z += gridDim.z * TILE_Z) {
    for (long long y = blockIdx.y * TILE_Y + threadIdx.y; y < ny; y += gridDim.y * TILE_Y) {
      out[field.at(x, y, z)] = compute_point(w, field, in, x, y, z);
    }
  }
}
