// For references: the sums over k of a block's 64 x 16 results, in double and in order of p. 256 threads;
// each has row i0 + threadIdx.x % 64 and the columns j0 + threadIdx.x / 64 + 4 c. Operands pass through
// shared memory in slices of 16, so that a product of thousands cubed is a matter of milliseconds.
template <typename element>
__device__ void reference_sums(int m, int n, int k, const element *A, long long lda, const element *B,
                               long long ldb, int i0, int j0, double (&sum)[4]) {
  __shared__ double a[16][65], b[16][17];
  const int row = threadIdx.x % 64, column = threadIdx.x / 64;
  for (int p0 = 0; p0 < k; p0 += 16) {
    __syncthreads();
    for (int e = threadIdx.x; e < 64 * 16; e += 256) {
      const int i = @{ta == "n" and "e % 64" or "e / 16"}, p = @{ta == "n" and "e / 64" or "e % 16"};
      const long long at = @{ta == "n" and "i0 + i + (p0 + p) * lda" or "p0 + p + (i0 + i) * lda"};
      a[p][i] = i0 + i < m && p0 + p < k ? (double)widen(A[at]) : 0;
    }
    const int j = @{tb == "n" and "threadIdx.x / 16" or "threadIdx.x % 16"};
    const int q = @{tb == "n" and "threadIdx.x % 16" or "threadIdx.x / 16"};
    const long long from = @{tb == "n" and "p0 + q + (j0 + j) * ldb" or "j0 + j + (p0 + q) * ldb"};
    b[q][j] = j0 + j < n && p0 + q < k ? (double)widen(B[from]) : 0;
    __syncthreads();
    for (int p = 0; p < 16 && p0 + p < k; p++) {
#pragma unroll
      for (int c = 0; c < 4; c++) sum[c] += a[p][row] * b[p][column + 4 * c];
    }
  }
}
