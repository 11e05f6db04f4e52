// fetch.cuh -- loads that let the second-level cache fetch 256 bytes from memory at a time.
#pragma once
#include "words.cuh"

// "ld", .level::prefetch_size: a hint; the result is that of a plain load.
__device__ __forceinline__ void fetch_word(const uint4 *p, uint4 &v) {
  asm volatile("ld.global.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
}
__device__ __forceinline__ void fetch_word(const uint2 *p, uint2 &v) {
  asm volatile("ld.global.L2::256B.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
}
__device__ __forceinline__ void fetch_word(const unsigned *p, unsigned &v) {
  asm volatile("ld.global.L2::256B.u32 %0, [%1];" : "=r"(v) : "l"(p));
}
__device__ __forceinline__ void fetch_word(const unsigned short *p, unsigned short &v) {
  asm volatile("ld.global.L2::256B.u16 %0, [%1];" : "=h"(v) : "l"(p));
}

template <typename T>
__device__ __forceinline__ T load_256(const T *p) {
  word<T> w;
  fetch_word(reinterpret_cast<const word<T> *>(p), w);
  return *reinterpret_cast<const T *>(&w);
}
