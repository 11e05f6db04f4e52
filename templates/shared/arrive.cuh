// arrive.cuh -- which block comes last: it can finish what the others began, in one launch.

// Whether the other blocks - 1 blocks of this counter have arrived before; told to every thread of
// the block, or of its first THREADS, if only they take part. What they wrote to global memory before they arrived is then visible here. The counter
// has to be zero at first and wraps to zero by itself, so the next launch finds it ready.
template <int THREADS = 0>
__device__ __forceinline__ bool last_to_arrive(unsigned *counter, unsigned blocks) {
  __shared__ bool last;
  const auto barrier = [] {
    if constexpr (THREADS == 0) {
      __syncthreads();
    } else {
      asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
    }
  };
  __threadfence();
  barrier();
  if (threadIdx.x == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
  barrier();
  __threadfence();
  return last;
}
