// sgemm_tensor.cu -- single precision by tensor cores, in three TF32 products or one; see split.cuh.
#include "sgemm_launch.cuh"
#include "split.cuh"
@ if ALG == "tf32x3_mma" then
#include "mma.cuh"
#include "tensor80.cuh"
@ else
#include "ptx90.cuh"
#include "tensor.cuh"
@ end
__device__ __forceinline__ bool has_sums() { return true; }
#include "sgemm_tiles.cuh"
#include "nonfinite.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, MINBLOCKS)
sgemm(int m, int n, int k, float alpha, const float *__restrict__ A, long long lda,
      const float *__restrict__ B, long long ldb, float beta, float *C, long long ldc,
      const float *scales, const float *biases, float *partial, unsigned *arrived, long long share) {
  extern __shared__ __align__(16) float dynamic[];
  // With alpha 0, A and B are not read, as in BLAS.
  const long long all = alpha == 0 ? 0 : k;
  const part p = SHARED_K ? part_of_block(all, share) : part{blockIdx.x, 0, all};
  if (FINISH == FINISH_two_launch) let_next_start();
  float c[CM][CN] = {};
  const corner tile(p.tile, m, n);
  product(c, (char *)dynamic, operand(A, lda, A_ALONG_K, tile.row, m, p.begin, p.depth),
          operand(B, ldb, B_ALONG_K, tile.column, n, p.begin, p.depth), p.depth);
  if constexpr (PARTS == 2) restore(c, m, n, A, lda, B, ldb, tile, p.begin, p.depth);
  put_part<0>(c, p, m, n, alpha, beta, C, ldc, scales, biases, partial, arrived);
}

@ if FINISH == "two_launch" then
#include "sgemm_finish.cuh"
@ elseif FINISH == "atomic" then
#include "sgemm_scale.cuh"
@ end
