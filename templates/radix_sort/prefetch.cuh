// prefetch.cuh -- asks for memory before it is used; compute capability 9.0.

// "cp.async.bulk.prefetch.L2": to the second-level cache; both the address and the count of bytes are
// multiples of 16.
__device__ __forceinline__ void prefetch_second(const void *from, unsigned nbytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(nbytes) : "memory");
}
