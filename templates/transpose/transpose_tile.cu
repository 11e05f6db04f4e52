// transpose_tile.cu -- a tile goes through shared memory, so that loads and stores are both coalesced.
//
// A thread transposes squares of VEC x VEC elements in its registers: VEC vectors of rows of x become VEC
// vectors of rows of y. Shared memory holds these: the transposed tile, rows of ROW vectors.
#include "transpose_common.cuh"
#include "register_square.cuh"

// Where vector r of row c of the transposed tile lies in shared memory. Neighbouring threads write the
// same r of rows VEC apart, which therefore have to be in different banks.
__device__ __forceinline__ int place(int c, int r) {
  if constexpr (LAYOUT == LAYOUT_padded) return c * ROW + c / VEC + r;
  if constexpr (LAYOUT == LAYOUT_swizzled) return c * ROW + (r ^ c / VEC % ROW);
  return c * ROW + r;
}

// This thread's squares of x.
__device__ __forceinline__ void load_squares(square (&v)[SQUARES], const stored *x, int rows,
                                             int cols, tile_origin tile) {
#pragma unroll
  for (int s = 0; s < SQUARES; s++) {
    const int i = s * BLOCK + threadIdx.x;
    const int row = tile.row + i / (TN / VEC) * VEC, column = tile.column + i % (TN / VEC) * VEC;
    if (row < rows && column < cols) {
#pragma unroll
      for (int a = 0; a < VEC; a++) {
        v[s].row[a] =
            load(reinterpret_cast<const vector *>(x + (long long)(row + a) * cols + column));
      }
    }
  }
}

// Transposed, to shared memory. What is outside of x is neither written nor read later.
__device__ __forceinline__ void transpose_squares(square (&v)[SQUARES], vector *shared, int rows,
                                                  int cols, tile_origin tile) {
#pragma unroll
  for (int s = 0; s < SQUARES; s++) {
    const int i = s * BLOCK + threadIdx.x;
    const int r = i / (TN / VEC), c = i % (TN / VEC) * VEC;
    if (tile.row + r * VEC < rows && tile.column + c < cols) {
      v[s].transpose();
#pragma unroll
      for (int b = 0; b < VEC; b++) store_plain(shared + place(c + b, r), v[s].row[b]);
    }
  }
}

__device__ __forceinline__ void store_tile(const vector *shared, stored *y, int rows, int cols,
                                           tile_origin tile) {
#pragma unroll
  for (int s = 0; s < SQUARES * VEC; s++) {
    const int i = s * BLOCK + threadIdx.x, c = i / ROW, r = i % ROW;
    const int row = tile.row + r * VEC, column = tile.column + c;
    if (row < rows && column < cols) {
      store(reinterpret_cast<vector *>(y + (long long)column * rows + row),
            load_plain(shared + place(c, r)));
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    transpose(int rows, int cols, int batch, const stored *__restrict__ x, stored *__restrict__ y) {
  extern __shared__ __align__(16) unsigned char tile_memory[];
  vector *shared = reinterpret_cast<vector *>(tile_memory);
  const tile_origin tile = find_tile<TM, TN>(rows, cols);
  x += pdl_wait();
  for (long long m = blockIdx.y; m < batch; m += gridDim.y) {
    const long long matrix = m * rows * cols;
    square v[SQUARES];
    load_squares(v, x + matrix, rows, cols, tile);
    transpose_squares(v, shared, rows, cols, tile);
    __syncthreads();
    store_tile(shared, y + matrix, rows, cols, tile);
    __syncthreads();
  }
}
