// bezier_launch.cu -- a thread a curve launches a grid for its points: CUDA Dynamic Parallelism.
#include "bezier_counts.cuh"

extern "C" __global__ void __launch_bounds__(CHILD)
    bezier_child(const float *__restrict__ control, float *__restrict__ out, int count) {
  bezier_put_curve(control, out, count, blockIdx.x * CHILD + threadIdx.x, gridDim.x * CHILD);
}

// Curves [first, end).
extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_parent(long long first, long long end, const float *control, float *out,
                  const long long *starts) {
  const long long curve = first + (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (curve >= end) return;
  const long long from = starts[curve];
  const int count = (int)(starts[curve + 1] - from), blocks = (count + CHILD - 1) / CHILD;
@ if ALG == "device_streams" then
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  bezier_child<<<blocks, CHILD, 0, stream>>>(control + 6 * curve, out + 2 * from, count);
  cudaStreamDestroy(stream);
@ elseif ORDER == "forget" then
  bezier_child<<<blocks, CHILD, 0, cudaStreamFireAndForget>>>(control + 6 * curve, out + 2 * from,
                                                              count);
@ else
  bezier_child<<<blocks, CHILD>>>(control + 6 * curve, out + 2 * from, count);
@ end
}
