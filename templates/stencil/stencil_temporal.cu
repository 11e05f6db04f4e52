// stencil_temporal.cu -- TSTEPS steps in a launch, by planes that cp.async brings.
#include "stencil_sweep.cuh"
#include "stencil_once.cuh"

extern __shared__ __align__(128) unsigned char memory[];

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    stencil(int nx, int ny, int nz, int depth, unsigned parts, double c0, double c1, double c2,
            double c3, double c4, const stored *__restrict__ in, stored *__restrict__ out) {
  const weights c = weights_of(c0, c1, c2, c3, c4);
  const extents field = {nx, ny, nz};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned char *shared = memory + (DIMS == 2 ? warp * GROUP_NBYTES : 0);
  const unsigned i = DIMS == 3 ? blockIdx.x : blockIdx.x * WARPS + warp;
  in += pdl_wait();
  if (i < parts) sweep(i, field, c, depth, *in, out, shared, warp, lane);
}
