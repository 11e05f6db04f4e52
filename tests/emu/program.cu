// The kernels of tests/emu/test_run_program.sh: reverse without waiting and out_of_bounds have faults.
#ifndef BLOCK
#define BLOCK 64
#endif

__constant__ float factors[2];
__device__ int launches;
__managed__ int seen;

extern "C" __global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = factors[1] * x[i];
  }
  if (i == 0) {
    launches++;
    seen = launches;
  }
}

extern "C" __global__ void reverse(float *x, int wait) {
  __shared__ float s[BLOCK];
  s[threadIdx.x] = x[threadIdx.x];
  if (wait) {
    __syncthreads();
  }
  x[threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
}

extern "C" __global__ void out_of_bounds(float *x, int n) {
  x[n + threadIdx.x] = 1;
}

extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);

extern "C" __global__ void countdown(int *n, unsigned long long handle) {
  cudaGraphSetConditional(handle, --*n);
}

extern "C" __global__ void look(float *x, cudaTextureObject_t texture) {
  x[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 1.5f);
}
