// grid_epoch.cuh -- a barrier of all blocks of a cooperative launch whose target every block knows by itself, so
// that arriving waits for no answer: one trip to the L2 less than grid_barrier.cuh, for loops of short steps.
#pragma once

struct grid_epoch {
  unsigned long long *counter,
      target;  // zero before the first launch; then a multiple of the number of blocks
};

// Each thread that calls grid_wait() has one; the counter cannot pass the next multiple before this block arrives.
__device__ __forceinline__ grid_epoch grid_epoch_open(unsigned long long *counter) {
  unsigned long long now;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(counter) : "memory");
  return {counter, now / gridDim.x * gridDim.x};
}

// Waits until all threads of the grid have come here; what they wrote to global memory before is then visible to
// all. src: PTX ISA, memory consistency model: release and acquire patterns are cumulative over bar.sync
__device__ __forceinline__ void grid_wait(grid_epoch &g) {
  __syncthreads();
  if (threadIdx.x == 0 && gridDim.x > 1) {
    g.target += gridDim.x;
    asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(g.counter) : "memory");
    unsigned long long now;
    do {
      asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(g.counter) : "memory");
    } while (now < g.target);
  }
  __syncthreads();
}
