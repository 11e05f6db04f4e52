// conv_taps.cuh -- elements and taps of convolutions, and where the taps lie, by FILTER.
#pragma once
#include "elements.cuh"
#include "words.cuh"

using type = element<DTYPE>;
using stored = type::stored;
using number = type::number;
using tap = element<FTYPE>::stored;

@ if FILTER == "constant" then
__constant__ tap constant_taps[TAPS];
@ end
@ if FILTER == "shared" then
__shared__ tap shared_taps[TAPS];
@ end

template <typename T>
__device__ __forceinline__ T read(const T *p) {
  if constexpr (READ == READ_nc) return load_constant(p);
  return load_plain(p);
}

// Copies the taps to where they are read from; by all threads of the block, before a barrier.
__device__ __forceinline__ void place_taps(const tap *f, int thread, int threads) {
@ if FILTER == "shared" then
  for (int i = thread; i < TAPS; i += threads) shared_taps[i] = f[i];
@ end
}

__device__ __forceinline__ number tap_at(const tap *f, int i) {
@ if FILTER == "constant" then
  return (number)constant_taps[i];
@ elseif FILTER == "shared" then
  return (number)shared_taps[i];
@ else
  return (number)load_constant(f + i);
@ end
}

// The filter as an argument of kernels, ARGUMENT_OF_TAPS, and of functions.
@ if FILTER == "parameter" then
struct taps_by_value {
  tap at[TAPS];
};
#define ARGUMENT_OF_TAPS const __grid_constant__ taps_by_value f
using taps_given = const taps_by_value &;
__device__ __forceinline__ number tap_at(taps_given f, int i) { return (number)f.at[i]; }
__device__ __forceinline__ void place_taps(taps_given, int, int) {}
@ else
#define ARGUMENT_OF_TAPS const tap *__restrict__ f
using taps_given = const tap *;
@ end
