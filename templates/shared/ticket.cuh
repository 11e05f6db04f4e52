// ticket.cuh -- blocks that wait for each other in one launch: they are numbered in the order in
// which they start, so whoever waits for a smaller number waits for a block that runs already, in
// whatever order blocks are started.
#pragma once

// The number of the launch and of the block: the high and low half of a counter, zero at first, which
// the block that takes the last number sets to the start of the next launch. All threads come here.
__device__ __forceinline__ unsigned take_ticket(unsigned long long *counter, unsigned *launch) {
  __shared__ unsigned long long taken;
  if (threadIdx.x == 0) {
    taken = atomicAdd(counter, 1);
    if ((unsigned)taken == gridDim.x - 1) atomicAdd(counter, (1ull << 32) - gridDim.x);
  }
  __syncthreads();
  *launch = (unsigned)(taken >> 32);
  return (unsigned)taken;
}
