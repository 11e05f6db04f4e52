// mri_scatter.cuh -- a thread has a sample, and adds what it gives to all voxels.
#pragma once
#include "mri_trig.cuh"
#include "mri_samples.cuh"
#include "mri_voxels.cuh"
#include "mri_prepare.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    scatter(int m, const float *kx, const float *ky, const float *kz, const float *r,
            const float *i, const float *rd, const float *id, const float *packed, int nx, int ny,
            int nz, const float *x, const float *y, const float *z, float x0, float y0, float z0,
            float dx, float dy, float dz, float *re, float *im) {
  const volume v = {nx, ny, nz, x, y, z, x0, y0, z0, dx, dy, dz};
  const long long s = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (s >= m) return;
  const sample p = sample_at({kx, ky, kz, r, i, rd, id, packed, m}, 0, (int)s);
  for (long long n = 0; n < v.size(); n++) {
    const float3 at = place_of(v, n);
    float2 sum = {};
    add_sample<by_polynomial(0)>(sum, p, phase_at(p, at.x, at.y, at.z));
    atomicAdd(re + n, sum.x);
    atomicAdd(im + n, sum.y);
  }
}
