// convolve.cu -- a 1-D convolution whose filter is in constant memory.
//
//   autotune convolve.cu n=1000000
//@ problem n 1..2^30 default 2^22
//@ param BLOCK = 64,128,256
//@ param ITEMS = 1,2,4
//@ constant filter:f32[17]:uniform(-1,1)
//@ arg x:f32[n]:in
//@ arg y:f32[n]:out
//@ arg n:i32
//@ kernel convolve
//@ grid ceildiv(n, BLOCK * ITEMS)
//@ block BLOCK
//@ reference slow
//@ grid ceildiv(n, 256)
//@ block 256
//@ flops 34 * n
//@ size emu n=5000

#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef ITEMS
#define ITEMS 1
#endif

enum { RADIUS = 8 };
__constant__ float filter[2 * RADIUS + 1];

__global__ void convolve(const float *x, float *y, int n) {
  __shared__ float tile[BLOCK * ITEMS + 2 * RADIUS];
  const int from = blockIdx.x * BLOCK * ITEMS;
  for (int i = threadIdx.x; i < BLOCK * ITEMS + 2 * RADIUS; i += BLOCK) {
    const int at = from + i - RADIUS;
    tile[i] = at >= 0 && at < n ? x[at] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int i = threadIdx.x + k * BLOCK;
    float sum = 0;
#pragma unroll
    for (int j = 0; j <= 2 * RADIUS; j++) {
      sum += filter[j] * tile[i + j];
    }
    if (from + i < n) {
      y[from + i] = sum;
    }
  }
}

__global__ void slow(const float *x, float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0;
  for (int j = -RADIUS; j <= RADIUS; j++) {
    sum += i + j >= 0 && i + j < n ? (double)filter[j + RADIUS] * x[i + j] : 0;
  }
  if (i < n) {
    y[i] = (float)sum;
  }
}
