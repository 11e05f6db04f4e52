// prefetch.cuh -- loads memory into the second-level cache before it is used; compute capability 9.0.
#pragma once

// "cp.async.bulk.prefetch.L2": the address and the number of bytes are multiples of 16.
__device__ __forceinline__ void prefetch_second(const void *from, unsigned nbytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(nbytes) : "memory");
}
