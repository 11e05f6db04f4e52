// grid_barrier.cuh -- a barrier of all blocks of a cooperative launch (a stage with cooperative = true).
// cooperative_groups.h has one, too, but needs headers that NVRTC does not find by itself.
#pragma once

// Waits until all threads of the grid have come here; what they wrote to global memory before is then
// visible to all. The counter is zero before the first launch and stays a multiple of the number of
// blocks, so that the next launch of the same grid can use it as it is.
__device__ __forceinline__ void grid_barrier(unsigned long long *counter) {
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    const unsigned long long blocks = (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    __threadfence();
    const unsigned long long before = atomicAdd(counter, 1ull),
                             all = (before / blocks + 1) * blocks;
    unsigned long long now;
    do {
      asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(counter) : "memory");
    } while (now < all);
    __threadfence();
  }
  __syncthreads();
}
