// conv1d_register.cu -- OUT_X neighbouring results for each thread: the elements under the filter are in registers,
// loaded in vectors, CHUNK taps at a time.
#include "conv1d_line.cuh"
#include "conv1d_put.cuh"

// Windows begin at multiples of VEC elements: SHIFT elements come before those that are needed.
constexpr int BEFORE = RX - SKIP, SHIFT = (VEC - BEFORE % VEC) % VEC;

// The products with COUNT taps from tap FIRST on.
template <int COUNT>
__device__ __forceinline__ void add(number (&sum)[OUT_X], const line &from, taps_given f, int at, int first) {
  constexpr int VECTORS = (SHIFT + OUT_X + COUNT - 1 + VEC - 1) / VEC, ELEMENTS = VECTORS * VEC;
  number v[ELEMENTS];
  const int begin = at - BEFORE - SHIFT + first;
  if (begin >= 0 && begin + ELEMENTS <= from.nx) {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      const vector w = read(reinterpret_cast<const vector *>(from.x + begin) + i);
#pragma unroll
      for (int e = 0; e < VEC; e++) v[i * VEC + e] = type::widen(w.e[e]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
      v[i] = i < SHIFT || i >= SHIFT + OUT_X + COUNT - 1 ? number() : from.at(begin + i);
    }
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const number weight = tap_at(f, first + i);
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[o] += weight * v[SHIFT + o + i];
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int mx, const stored *__restrict__ x, ARGUMENT_OF_TAPS, stored *__restrict__ y) {
  const line from = {nx, x + pdl_wait()};
@ if FILTER == "shared" then
  place_taps(f, threadIdx.x, BLOCK);
  __syncthreads();
@ end
  const int at = (blockIdx.x * BLOCK + threadIdx.x) * OUT_X;
  if (at >= mx) return;
  number sum[OUT_X] = {};
#pragma unroll 1
  for (int first = 0; first + CHUNK <= WIDE; first += CHUNK) add<CHUNK>(sum, from, f, at, first);
  if constexpr (WIDE % CHUNK > 0) add<WIDE % CHUNK>(sum, from, f, at, WIDE / CHUNK * CHUNK);
  put(y, at, mx, sum);
}
