// arrive.cuh -- which block comes last: it can finish what the others began, in one launch.

// Whether the other blocks - 1 blocks of this counter have arrived before; told to every thread of
// the block. What they wrote to global memory before they arrived is then visible here. The counter
// has to be zero at first and wraps to zero by itself, so the next launch finds it ready.
__device__ __forceinline__ bool last_to_arrive(unsigned *counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
  __syncthreads();
  __threadfence();
  return last;
}
