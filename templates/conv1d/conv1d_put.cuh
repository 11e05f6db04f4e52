// conv1d_put.cuh -- stores a thread's neighbouring results, in vectors.
#pragma once
#include "conv_taps.cuh"

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

template <int N>
__device__ __forceinline__ void put(stored *y, int at, int mx, const number (&sum)[N]) {
  if (at + N <= mx) {
#pragma unroll
    for (int i = 0; i < N; i += VEC) {
      vector w;
#pragma unroll
      for (int e = 0; e < VEC; e++) w.e[e] = type::narrow(sum[i + e]);
      if constexpr (STORE == STORE_streaming) {
        store_streaming(reinterpret_cast<vector *>(y + at + i), w);
      } else {
        store_plain(reinterpret_cast<vector *>(y + at + i), w);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (at + i < mx) y[at + i] = type::narrow(sum[i]);
    }
  }
}
