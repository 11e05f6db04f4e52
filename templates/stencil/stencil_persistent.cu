// stencil_persistent.cu -- all steps in one launch: a barrier of the grid after every TSTEPS.
#include "stencil_sweep.cuh"
#include "grid_barrier.cuh"

extern __shared__ __align__(128) unsigned char memory[];

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    stencil(int nx, int ny, int nz, int depth, unsigned parts, int rounds, double c0, double c1,
            double c2, double c3, double c4, const stored *in, stored *other, stored *out,
            unsigned long long *arrived) {
  const weights c = weights_of(c0, c1, c2, c3, c4);
  const extents field = {nx, ny, nz};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned char *shared = memory + (DIMS == 2 ? warp * GROUP_NBYTES : 0);
  const unsigned groups = DIMS == 3 ? gridDim.x : gridDim.x * WARPS;
  const unsigned group = DIMS == 3 ? blockIdx.x : blockIdx.x * WARPS + warp;
  for (int round = rounds; round > 0; round--) {
    stored *to = round % 2 ? out : other;
    for (unsigned i = group; i < parts; i += groups) {
      sweep(i, field, c, depth, *in, to, shared, warp, lane);
    }
    if (round > 1) grid_barrier(arrived);
    in = to;
  }
}
