// early_fetch.cuh -- operands come to the second-level cache while the kernel before this one still ends; with pdl.cuh,
// which comes first, where EARLY holds.
#pragma once

// "griddepcontrol.launch_dependents": the next kernel may start, which fetches likewise.
__device__ __forceinline__ void let_next_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// "cp.async.bulk.prefetch.L2", by one thread: the whole words of 16 bytes in `nbytes` bytes. What the kernel before still
// writes there goes to the same cache, so nothing stale is read later.
__device__ __forceinline__ void early_fetch(const void *from, long long nbytes) {
  const unsigned long long begin = (unsigned long long)from, first = (begin + 15) / 16 * 16;
  const long long whole = (long long)(begin + nbytes - first) / 16 * 16;
  if (whole > 0) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first), "r"((unsigned)whole)
                 : "memory");
  }
}
