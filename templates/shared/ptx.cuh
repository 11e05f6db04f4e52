// ptx.cuh -- PTX instructions that CUDA C++ does not reach, one wrapper each, named after the
// instruction; with the title of its section in the PTX ISA, whose numbers change between versions.
#pragma once

// An address in the shared state space, as the instructions below take it.
__device__ __forceinline__ unsigned shared_address(const void *p) {
  return (unsigned)__cvta_generic_to_shared(p);
}

// "cp.async" under "Asynchronous copy: non-bulk copy": global to shared memory without passing
// through registers; compute capability 8.0. Reads `given` of the NBYTES bytes, the others become
// zeros. 16 bytes go past the first-level cache (.cg); 4 and 8 have to go through it (.ca).
template <int NBYTES>
__device__ __forceinline__ void cp_async(unsigned to, const void *from, int given) {
  if constexpr (NBYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(given)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(NBYTES),
                 "r"(given)
                 : "memory");
  }
}

// "cp.async.commit_group": this thread's copies so far, not yet in a group, become one.
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// "cp.async.wait_group": until no more than the NEWEST latest groups of this thread are under way.
template <int NEWEST>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(NEWEST) : "memory");
}

// "ld" and "st", .relaxed and .acquire or .release at the scope of the device: how blocks tell each
// other something while they run.
__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long *p) {
  unsigned long long v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_relaxed(unsigned long long *p, unsigned long long v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
// What this thread reads afterwards is at least as new as what the releasing thread wrote before.
__device__ __forceinline__ unsigned load_acquire(const unsigned *p) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ void store_release(unsigned *p, unsigned v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

#if __CUDA_ARCH__ >= 900
// "red" of a vector: each element is added atomically, in one access; compute capability 9.0.
__device__ __forceinline__ void red_add(float *to, const float (&v)[2]) {
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(v[0]), "f"(v[1]) : "memory");
}
__device__ __forceinline__ void red_add(float *to, const float (&v)[4]) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v[0]), "f"(v[1]),
               "f"(v[2]), "f"(v[3])
               : "memory");
}
#endif

// "cvt": a half, which is handled as its bits so that no header is needed, and a float; to nearest.
__device__ __forceinline__ float half_to_float(unsigned short bits) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
  return v;
}
__device__ __forceinline__ unsigned short float_to_half(float v) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
}
