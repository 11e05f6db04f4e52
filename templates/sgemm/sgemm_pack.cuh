// sgemm_pack.cuh -- copies operands for the tensor maps, a launch ahead of the product.
#pragma once

// 32 x 32 of a matrix to rows of `width` elements along its `rows`, one row an element along k.
template <bool ALONG_K>
__device__ __forceinline__ void pack(const float *from, long long ld, int rows, int k,
                                     unsigned tile, float *to) {
  __shared__ float square[32][33];
  const unsigned across = (unsigned)(rows + 31) / 32, x = threadIdx.x % 32, y = threadIdx.x / 32;
  const int row = (int)(tile % across * 32), depth = (int)(tile / across * 32);
  const long long width = (rows + 3LL) / 4 * 4;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    const int r = row + (ALONG_K ? y + i : x), p = depth + (ALONG_K ? x : y + i);
    if (r < rows && p < k) {
      const float v = from[ALONG_K ? p + r * ld : r + p * ld];
      if (ALONG_K) {
        square[y + i][x] = v;
      } else {
        to[r + p * width] = v;
      }
    }
  }
  if (!ALONG_K) return;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    const int r = row + x, p = depth + y + i;
    if (r < rows && p < k) to[r + p * width] = square[x][y + i];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    sgemm_pack(int m, int n, int k, const float *A, long long lda, const float *B, long long ldb,
               float *packed_a, float *packed_b) {
  const unsigned a_tiles = A_PACKED ? ((k + 31u) / 32) * ((m + 31u) / 32) : 0;
  let_next_start();
  if (blockIdx.x < a_tiles) {
    pack<TA == TA_t>(A, lda, m, k, blockIdx.x, packed_a);
  } else {
    pack<TB == TB_n>(B, ldb, n, k, blockIdx.x - a_tiles, packed_b);
  }
}
