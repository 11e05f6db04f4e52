// transpose_direct.cu -- from global memory to global memory: either the loads or the stores of a warp
// are coalesced, the others are a row apart.
#include "transpose_common.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    transpose(int rows, int cols, int batch, const stored *__restrict__ x, stored *__restrict__ y) {
  const tile_origin tile = find_tile<TM, TN>(rows, cols);
  x += pdl_wait();
  for (long long m = blockIdx.y; m < batch; m += gridDim.y) {
    const long long matrix = m * rows * cols;
#pragma unroll
    for (int s = 0; s < TM * TN / BLOCK; s++) {
      const int i = s * BLOCK + threadIdx.x;
      const int row = tile.row + (ALG == ALG_read ? i / TN : i % TM);
      const int column = tile.column + (ALG == ALG_read ? i % TN : i / TM);
      if (row < rows && column < cols) {
        const stored v = load(x + matrix + (long long)row * cols + column);
        store(y + matrix + (long long)column * rows + row, v);
      }
    }
  }
}
