// stencil_tile3d.cu -- a block loads a tile with its halo to shared memory, a point a thread; the threads of the
// halo then rest.
#include "stencil_points.cuh"

constexpr int HALO_Z = DIMS == 3 ? ORDER : 0;
constexpr int OUT_X = TILE_X - 2 * ORDER, OUT_Y = TILE_Y - 2 * ORDER, OUT_Z = TILE_Z - 2 * HALO_Z;

extern "C" __global__ void __launch_bounds__(TILE_X *TILE_Y *TILE_Z)
    stencil(int nx, int ny, int nz, double c0, double c1, double c2, double c3, double c4,
            const stored *__restrict__ in, stored *__restrict__ out) {
  __shared__ number tile[TILE_Z][TILE_Y][TILE_X];
  const weights w = weights_of(c0, c1, c2, c3, c4);
  const extents field = {nx, ny, nz};
  const int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
  const int x = blockIdx.x * OUT_X + tx - ORDER;
  const bool computes = tx >= ORDER && tx < ORDER + OUT_X && ty >= ORDER && ty < ORDER + OUT_Y &&
                        tz >= HALO_Z && tz < HALO_Z + OUT_Z;
  in += pdl_wait();
  for (long long first_z = blockIdx.z * OUT_Z; first_z < nz; first_z += gridDim.z * OUT_Z) {
    for (long long first_y = blockIdx.y * OUT_Y; first_y < ny; first_y += gridDim.y * OUT_Y) {
      const int y = first_y + ty - ORDER, z = first_z + tz - HALO_Z;
      const number own = field.load(in, x, y, z);
      tile[tz][ty][tx] = own;
      __syncthreads();
      if (computes && field.contains(x, y, z)) {
        out[field.at(x, y, z)] = element<DTYPE>::narrow(
            field.keeps(x, y, z) ? own : sum_point(w, [&](int dx, int dy, int dz) {
              return tile[tz + dz][ty + dy][tx + dx];
            }));
      }
      __syncthreads();
    }
  }
}
