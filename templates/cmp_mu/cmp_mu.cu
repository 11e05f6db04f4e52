// cmp_mu.cu -- Mu = conj(Phi) D: a block takes TILE samples, a thread COARSE vectors of VEC.
#include "pdl.cuh"
#include "early_fetch.cuh"
#include "words.cuh"

struct alignas(4 * VEC) vector {
  float e[VEC];
};

template <typename T>
__device__ __forceinline__ T load(const T *p) {
  if constexpr (LOAD == LOAD_constant) return load_constant(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}
template <typename T>
__device__ __forceinline__ void store(T *p, const T &v) {
  if constexpr (STORE == STORE_second) {
    store_second(p, v);
  } else if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}

struct arrays {
  const float *rphi, *iphi, *rd, *id;
  float *rmu, *imu;
};

// COUNT vectors of N floats a thread, BLOCK apart, from the element `first` on; all loads come first.
template <typename V, int N, int COUNT>
__device__ __forceinline__ void products(const arrays &a, long long first, int vectors) {
  V rphi[COUNT], iphi[COUNT], rd[COUNT], id[COUNT];
  const auto at = [&](const float *p, int i) { return reinterpret_cast<const V *>(p + first) + i; };
#pragma unroll
  for (int c = 0; c < COUNT; c++) {
    const int i = c * BLOCK + threadIdx.x;
    if (i >= vectors) continue;
    rphi[c] = load(at(a.rphi, i));
    iphi[c] = load(at(a.iphi, i));
    rd[c] = load(at(a.rd, i));
    id[c] = load(at(a.id, i));
  }
#pragma unroll
  for (int c = 0; c < COUNT; c++) {
    const int i = c * BLOCK + threadIdx.x;
    if (i >= vectors) continue;
    V r, s;
#pragma unroll
    for (int e = 0; e < N; e++) {
      r.e[e] = fmaf(rphi[c].e[e], rd[c].e[e], iphi[c].e[e] * id[c].e[e]);
      s.e[e] = fmaf(rphi[c].e[e], id[c].e[e], -iphi[c].e[e] * rd[c].e[e]);
    }
    store(reinterpret_cast<V *>(a.rmu + first) + i, r);
    store(reinterpret_cast<V *>(a.imu + first) + i, s);
  }
}

struct single {
  float e[1];
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    cmp_mu(long long m, const float *rphi, const float *iphi, const float *rd, const float *id,
           float *rmu, float *imu) {
  const long long first = (long long)blockIdx.x * TILE;
  const int left = (int)min((long long)TILE, m - first);
  if constexpr (AHEAD == 1) {
    let_next_start();
    if (threadIdx.x < 4) {
      early_fetch((threadIdx.x < 2    ? threadIdx.x == 0 ? rphi : iphi
                   : threadIdx.x == 2 ? rd
                                      : id) +
                      first,
                  4ll * left);
    }
  }
  const int zero = pdl_wait();
  const arrays a = {rphi + zero, iphi + zero, rd + zero, id + zero, rmu, imu};
  products<vector, VEC, COARSE>(a, first, left / VEC);
  if (VEC > 1 && left % VEC) products<single, 1, 1>(a, first + left / VEC * VEC, left % VEC);
}
