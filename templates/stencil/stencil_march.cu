// stencil_march.cu -- a block of TILE_X x TILE_Y threads marches through planes. SHARED_PLANES planes around the
// one that is computed are in shared memory, the others are values of each thread's own column, in registers.
// In 2-D a plane is an image, without neighbours in other planes.
#include "stencil_points.cuh"

constexpr int OUT_X = TILE_X - 2 * ORDER, OUT_Y = TILE_Y - 2 * ORDER, SIDE = DIMS == 3 ? ORDER : 0;
// Planes -BELOW to ABOVE are in shared memory, counted from the one that is computed.
constexpr int BELOW = SHARED_PLANES > 0 ? (SHARED_PLANES - 1) / 2 : -1, ABOVE = SHARED_PLANES / 2;
constexpr int RING = SHARED_PLANES > 0 ? SHARED_PLANES : 1;

__device__ __forceinline__ unsigned slot(int plane) { return (unsigned)(plane + 8 * RING) % RING; }

// The points x, y of planes first to last - 1; tx, ty is the thread's place in the tile.
__device__ __forceinline__ void march(const weights &w, const extents &field, int x, int y, int tx,
                                      int ty, int first, int last, const stored *in, stored *out) {
  __shared__ number tile[RING][TILE_Y][TILE_X];
  const bool computes = tx >= ORDER && tx < ORDER + OUT_X && ty >= ORDER && ty < ORDER + OUT_Y &&
                        x < field.nx && y < field.ny;
  number column[2 * SIDE + 1];  // planes m - SIDE to m + SIDE
#pragma unroll
  for (int k = 0; k < 2 * SIDE; k++) {
    column[k + 1] = field.load(in, x, y, first - SIDE + k);
    if (SHARED_PLANES > 1 && k - SIDE > -BELOW - 2 && k - SIDE < ABOVE) {
      tile[slot(first - SIDE + k)][ty][tx] = column[k + 1];
    }
  }
  for (int m = first; m < last; m++) {
#pragma unroll
    for (int k = 0; k < 2 * SIDE; k++) {
      const bool leaves = SHARED_PLANES > 1 && k - SIDE == -BELOW - 1;
      column[k] = leaves ? tile[slot(m - BELOW - 1)][ty][tx] : column[k + 1];
    }
    column[2 * SIDE] = field.load(in, x, y, m + SIDE);
    if constexpr (SHARED_PLANES > 0) {
      tile[slot(m + ABOVE)][ty][tx] = column[SIDE + ABOVE];
      __syncthreads();
    }
    auto neighbour = [&](int dx, int dy, int dz) -> number {
      const bool outside = dz < -BELOW || dz > ABOVE || SHARED_PLANES <= 1;
      if (dx == 0 && dy == 0 && outside) return column[SIDE + dz];
      if constexpr (SHARED_PLANES > 0) return tile[slot(m + dz)][ty + dy][tx + dx];
      return field.load(in, x + dx, y + dy, m + dz);
    };
    if (computes) {
      out[field.at(x, y, m)] = element<DTYPE>::narrow(
          field.keeps(x, y, m) ? neighbour(0, 0, 0) : sum_point(w, neighbour));
    }
    // With one plane, and of a box, the next one overwrites what other threads still read.
    if constexpr (BELOW == 0 || SHAPE == SHAPE_box) __syncthreads();
  }
  if constexpr (SHARED_PLANES > 0) __syncthreads();
}

extern "C" __global__ void __launch_bounds__(TILE_X *TILE_Y)
    stencil(int nx, int ny, int nz, int depth, double c0, double c1, double c2, double c3,
            double c4, const stored *__restrict__ in, stored *__restrict__ out) {
  const weights w = weights_of(c0, c1, c2, c3, c4);
  const extents field = {nx, ny, nz};
  const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * OUT_X + tx - ORDER;
  in += pdl_wait();
  for (long long first = blockIdx.z * (long long)depth; first < nz;
       first += gridDim.z * (long long)depth) {
    const int last = min((long long)nz, first + depth);
    for (long long y = blockIdx.y * OUT_Y; y < ny; y += gridDim.y * OUT_Y) {
      march(w, field, x, (int)y + ty - ORDER, tx, ty, first, last, in, out);
    }
  }
}
