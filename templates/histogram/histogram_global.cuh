// histogram_global.cuh -- counters in global memory.
#pragma once
#include "histogram_samples.cuh"

struct global_counters {
  static constexpr int NO_BIN = -1;

  unsigned *counts_of;

  __device__ static int own(int bin) { return bin; }
  __device__ static bool counts(int bin) { return bin >= 0; }
  __device__ void add(int bin, unsigned by) const { atomicAdd(counts_of + bin, by); }
  __device__ static bool full() { return false; }
  __device__ static void flush() {}
};
