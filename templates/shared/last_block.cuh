// last_block.cuh -- the last block to finish combines the results of all, in the same launch.
#pragma once

// True in all threads of the block that comes last of `blocks` that count in `counter`; what the others
// wrote to global memory before is then visible there. All threads of the block call it, or its first
// THREADS. The counter is zero before the first launch and wraps to zero by itself.
template <int THREADS = 0>
__device__ __forceinline__ bool is_last_block(unsigned *counter, unsigned blocks) {
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
