// stencil_once.cuh -- a kernel that makes one step, where TSTEPS does not divide steps.
#pragma once
#include "stencil_points.cuh"

extern "C" __global__ void __launch_bounds__(256)
    stencil_once(int nx, int ny, int nz, double c0, double c1, double c2, double c3, double c4,
                 const stored *__restrict__ in, stored *__restrict__ out) {
  const weights w = weights_of(c0, c1, c2, c3, c4);
  const extents field = {nx, ny, nz};
  const int x = blockIdx.x * 32 + threadIdx.x;
  if (x >= nx) return;
  for (long long z = blockIdx.z; z < nz; z += gridDim.z) {
    for (long long y = blockIdx.y * 8 + threadIdx.y; y < ny; y += gridDim.y * 8) {
      out[field.at(x, y, z)] = compute_point(w, field, in, x, y, z);
    }
  }
}
