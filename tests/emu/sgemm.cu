// C = A B, 64 x 64 tiles, 8 x 8 elements per thread, float4 from shared memory: used to measure the
// speed of the emulator. m, n and k are multiples of 64, 64 and 16.
constexpr int BM = 64, BN = 64, BK = 16, T = 8;

extern "C" __global__ void __launch_bounds__(64)
sgemm(int m, int n, int k, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
  __shared__ __align__(16) float as[BK][BM], bs[BK][BN];
  const int row = blockIdx.y * BM, column = blockIdx.x * BN;
  const int tx = threadIdx.x % (BN / T), ty = threadIdx.x / (BN / T);
  float sum[T][T] = {};
  for (int k0 = 0; k0 < k; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += 64) as[i % BK][i / BK] = a[(row + i / BK) * k + k0 + i % BK];
    for (int i = threadIdx.x; i < BN * BK; i += 64) bs[i / BN][i % BN] = b[(k0 + i / BN) * n + column + i % BN];
    __syncthreads();
#pragma unroll
    for (int p = 0; p < BK; p++) {
      float x[T], y[T];
#pragma unroll
      for (int i = 0; i < T; i += 4) {
        *reinterpret_cast<float4 *>(x + i) = *reinterpret_cast<const float4 *>(&as[p][ty * T + i]);
        *reinterpret_cast<float4 *>(y + i) = *reinterpret_cast<const float4 *>(&bs[p][tx * T + i]);
      }
#pragma unroll
      for (int i = 0; i < T; i++)
#pragma unroll
        for (int j = 0; j < T; j++) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < T; i++)
#pragma unroll
    for (int j = 0; j < T; j += 4)
      *reinterpret_cast<float4 *>(&c[(row + ty * T + i) * n + column + tx * T + j]) =
          make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}
