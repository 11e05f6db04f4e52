// matmul.cu -- C = A*B, tiled: an ordinary CUDA program that autotune tunes as it stands.
//
//   autotune matmul.cu n=1024
//
// The //@ lines say how. nvcc takes the file as well; its main() is no business of autotune.
//@ problem n 1..16384 default 1024
//@ param BLOCK = 8,16,32
//@ param ROWS = 1,2,4,8
//@ require BLOCK % ROWS == 0 && BLOCK * BLOCK / ROWS >= 32
//@ kernel matmul
//@ grid ceildiv(n, BLOCK), ceildiv(n, BLOCK)
//@ block BLOCK, BLOCK / ROWS
//@ arg A:f32[n][n]:in
//@ arg B:f32[n][n]:in
//@ arg C:f32[n][n]:out
//@ arg n:i32
//@ reference naive
//@ grid ceildiv(n, 16), ceildiv(n, 16)
//@ block 16, 16
//@ tolerance abs 1e-3 rel 1e-5
//@ flops 2 * n^3
//@ size emu n=128
#include <cstdio>

#ifndef BLOCK
#define BLOCK 16 // side of a tile of C
#endif
#ifndef ROWS
#define ROWS 1 // rows of C that a thread computes
#endif

__global__ void matmul(const float *A, const float *B, float *C, int n) {
  __shared__ float a[BLOCK][BLOCK], b[BLOCK][BLOCK];
  const int step = BLOCK / ROWS, x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * BLOCK + x, row = blockIdx.y * BLOCK + y;
  float sum[ROWS] = {};
  for (int k = 0; k < n; k += BLOCK) {
#pragma unroll
    for (int r = 0; r < BLOCK; r += step) {
      a[y + r][x] = row + r < n && k + x < n ? A[(row + r) * n + k + x] : 0;
      b[y + r][x] = k + y + r < n && column < n ? B[(k + y + r) * n + column] : 0;
    }
    __syncthreads();
    for (int i = 0; i < BLOCK; i++) {
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        sum[r] += a[y + r * step][i] * b[i][x];
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < ROWS; r++) {
    if (row + r * step < n && column < n) {
      C[(row + r * step) * n + column] = sum[r];
    }
  }
}

__global__ void naive(const float *A, const float *B, float *C, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  double sum = 0;
  for (int i = 0; i < n && row < n && column < n; i++) {
    sum += (double)A[row * n + i] * B[i * n + column];
  }
  if (row < n && column < n) {
    C[row * n + column] = (float)sum;
  }
}

int main() {
  const int n = 256;
  float *A, *B, *C, c;
  cudaMallocManaged(&A, sizeof(float) * n * n);
  cudaMallocManaged(&B, sizeof(float) * n * n);
  cudaMallocManaged(&C, sizeof(float) * n * n);
  for (int i = 0; i < n * n; i++) {
    A[i] = B[i] = 1;
  }
  matmul<<<dim3(n / BLOCK, n / BLOCK), dim3(BLOCK, BLOCK / ROWS)>>>(A, B, C, n);
  cudaDeviceSynchronize();
  c = C[0];
  printf("%g, expected %d\n", c, n);
  return c != n;
}
