// block_sum.cu -- the sum of n numbers by two kernels, with shared memory of a tuned size.
//
//   autotune block_sum.cu n=1000000
//@ problem n 1..2^31-1 default 2^22
//@ param BLOCK = 64..512*2
//@ param ITEMS = 1,4
//@ define TILE = BLOCK * ITEMS
//@ scratch partial:f32[ceildiv(n, TILE)]
//@ arg x:f32[n]:in:uniform(0,1)
//@ arg total:f32[1]:out
//@ kernel partial_sums
//@ grid ceildiv(n, TILE)
//@ block BLOCK
//@ shared 4 * BLOCK
//@ args x, partial, i64:n
//@ kernel sum_of<float, BLOCK>
//@ grid 1
//@ block BLOCK
//@ args partial, total, i32:ceildiv(n, TILE)
//@ tolerance rel 1e-5
//@ size emu n=10000

#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef TILE
#define TILE BLOCK
#endif

static __device__ void fold(float *s) {
  for (int half = BLOCK / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      s[threadIdx.x] += s[threadIdx.x + half];
    }
  }
}

__global__ void partial_sums(const float *x, float *partial, long long n) {
  extern __shared__ float s[];
  float sum = 0;
#pragma unroll
  for (int i = threadIdx.x; i < TILE; i += BLOCK) {
    const long long at = (long long)blockIdx.x * TILE + i;
    sum += at < n ? x[at] : 0;
  }
  s[threadIdx.x] = sum;
  fold(s);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
  }
}

template <class T, int threads> __global__ void sum_of(const T *partial, T *total, int n) {
  __shared__ T s[threads];
  T sum = 0;
  for (int i = threadIdx.x; i < n; i += threads) {
    sum += partial[i];
  }
  s[threadIdx.x] = sum;
  fold(s);
  if (threadIdx.x == 0) {
    *total = s[0];
  }
}
