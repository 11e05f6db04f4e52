// conv1d_tile_register.cu -- OUT_X neighbouring results for each thread, as with ALG=register, from a tile with its halo in
// shared memory: threads OUT_X elements apart read whole vectors there without conflicts of banks, CHUNK taps' at a time.
#include "conv1d_line.cuh"
#include "conv1d_put.cuh"

// Vectors of 16 bytes; one of nine is left out, so that threads 32 or 64 bytes apart do not meet in a bank.
constexpr int W = 16 / sizeof(number), TILE = BLOCK * OUT_X + 2 * RX;
constexpr int ROUND = VEC > W ? VEC : W;
// The tile begins at a multiple of ROUND elements: SHIFT elements come before those that are needed.
constexpr int BEFORE = RX - SKIP, SHIFT = (ROUND - BEFORE % ROUND) % ROUND;
constexpr int ELEMENTS = (SHIFT + TILE + ROUND - 1) / ROUND * ROUND;

struct alignas(16) quad {
  number e[W];
};

extern __shared__ uint4 memory[];
__device__ __forceinline__ quad *quad_at(int i) {
  return reinterpret_cast<quad *>(memory) + i + i / 8;
}

__device__ __forceinline__ number &element_at(int i) { return quad_at(i / W)->e[i % W]; }

// VEC elements at a multiple of VEC of the tile.
__device__ __forceinline__ void place(int at, const number (&v)[VEC]) {
  if constexpr (VEC >= W) {
#pragma unroll
    for (int k = 0; k < VEC / W; k++) {
      quad q;
#pragma unroll
      for (int e = 0; e < W; e++) q.e[e] = v[k * W + e];
      *quad_at(at / W + k) = q;
    }
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) element_at(at + e) = v[e];
  }
}

__device__ __forceinline__ void load_inside(const line &from, int begin) {
  constexpr int STEPS = (ELEMENTS + BLOCK * VEC - 1) / (BLOCK * VEC), BATCH = STEPS < 8 ? STEPS : 8;
#pragma unroll 1
  for (int step = 0; step < STEPS; step += BATCH) {
    vector w[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      const int at = ((step + k) * BLOCK + threadIdx.x) * VEC;
      if (at < ELEMENTS) w[k] = read(reinterpret_cast<const vector *>(from.x + begin + at));
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      const int at = ((step + k) * BLOCK + threadIdx.x) * VEC;
      number v[VEC];
#pragma unroll
      for (int e = 0; e < VEC; e++) v[e] = type::widen(w[k].e[e]);
      if (at < ELEMENTS) place(at, v);
    }
  }
}

__device__ __forceinline__ void load_edge(const line &from, int begin) {
#pragma unroll 1
  for (int at = threadIdx.x; at < ELEMENTS; at += BLOCK) {
    const bool wanted = at >= SHIFT && at < SHIFT + TILE;
    element_at(at) = wanted ? from.at(begin + at) : number();
  }
}

// The products with COUNT taps from tap FIRST on, a multiple of W.
template <int COUNT>
__device__ __forceinline__ void add(number (&sum)[OUT_X], taps_given f, int first) {
  constexpr int QUADS = (SHIFT + OUT_X + COUNT - 1 + W - 1) / W;
  number v[QUADS * W];
  const int begin = (threadIdx.x * OUT_X + first) / W;
#pragma unroll
  for (int k = 0; k < QUADS; k++) {
    const quad q = *quad_at(begin + k);
#pragma unroll
    for (int e = 0; e < W; e++) v[k * W + e] = q.e[e];
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const number weight = tap_at(f, first + i);
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[o] += weight * v[SHIFT + o + i];
  }
}

// By way of the tile, so that neighbouring threads store neighbouring vectors.
__device__ __forceinline__ void put_tile(const number (&sum)[OUT_X], stored *y, int first, int mx) {
#pragma unroll
  for (int k = 0; k < OUT_X / W; k++) {
    quad q;
#pragma unroll
    for (int e = 0; e < W; e++) q.e[e] = sum[k * W + e];
    *quad_at(threadIdx.x * (OUT_X / W) + k) = q;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < OUT_X / VEC; k++) {
    const int at = (k * BLOCK + threadIdx.x) * VEC;
    number v[VEC];
    if constexpr (VEC >= W) {
#pragma unroll
      for (int i = 0; i < VEC / W; i++) {
        const quad q = *quad_at(at / W + i);
#pragma unroll
        for (int e = 0; e < W; e++) v[i * W + e] = q.e[e];
      }
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) v[e] = element_at(at + e);
    }
    put(y, first + at, mx, v);
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int mx, const stored *__restrict__ x, ARGUMENT_OF_TAPS, stored *__restrict__ y) {
  const line from = {nx, x + pdl_wait()};
  const int first = blockIdx.x * (BLOCK * OUT_X);
  const int begin = first - BEFORE - SHIFT;
  if (begin >= 0 && begin + ELEMENTS <= nx) {
    load_inside(from, begin);
  } else {
    load_edge(from, begin);
  }
  place_taps(f, threadIdx.x, BLOCK);
  __syncthreads();
  number sum[OUT_X] = {};
#pragma unroll 1
  for (int i = 0; i + CHUNK <= WIDE; i += CHUNK) add<CHUNK>(sum, f, i);
  if constexpr (WIDE % CHUNK > 0) add<WIDE % CHUNK>(sum, f, WIDE / CHUNK * CHUNK);
  __syncthreads();
  put_tile(sum, y, first, mx);
}
