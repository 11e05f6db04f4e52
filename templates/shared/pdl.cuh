// pdl.cuh -- programmatic dependent launch: a kernel whose blocks start while the kernel before it in the
// stream, whoever launched that, still ends. Its stage asks for that with "early", when EARLY holds.
#pragma once

// Call it first, in every thread: lets the next kernel start as early, then waits until the one before
// has ended and its writes are visible. Returns 0, to be added to a pointer that is read from: the
// compiler may move loads of data that nothing writes ahead of the wait otherwise.
// src: PTX ISA, "griddepcontrol"; compute capability 9.0
__device__ __forceinline__ int pdl_wait() {
  int zero = 0;
  if constexpr (EARLY) {
    asm volatile(
        "griddepcontrol.launch_dependents;\n\t"
        "griddepcontrol.wait;\n\t"
        "mov.b32 %0, 0;"
        : "=r"(zero)::"memory");
  }
  return zero;
}
