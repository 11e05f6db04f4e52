// merge_pieces.cuh -- loads pieces of sorted sequences from global to shared memory, as vectors of VEC keys.
//
// Define before: INPUT_IS_CONSTANT, true if no thread of the launch writes to the sequences.
#pragma once
#include "bulk.cuh"
#include "merge_key.cuh"
#include "ptx.cuh"
#include "ptx90.cuh"
#include "words.cuh"

struct alignas(VEC * sizeof(key)) vector {
  key e[VEC];
};

// `count` keys from number `first` on, of n sorted keys that are aligned to VEC.
struct piece {
  const key *keys;
  long long n, first;
  int count;
};

// Synchronizes the threads that merge; not a warp that only loads tiles.
__device__ __forceinline__ void sync_merging() {
  if constexpr (STAGES > 1) {
    sync_first<BLOCK>();
  } else {
    __syncthreads();
  }
}

// How many of `count` merged keys are of a, whose part is from..to. Input that is not sorted may have its co-ranks
// in any order; the bounds keep all accesses within the sequences.
__device__ __forceinline__ int keys_of_a(long long from, long long to, int count) {
  return (int)max(0ll, min(to - from, (long long)count));
}

// Where pieces start in shared memory, how many keys they have, and the last place that is loaded.
template <int N>
struct loaded {
  int at[N], count[N], last;
};

// The whole vectors that contain N pieces, one piece after the other in shared memory.
template <int N>
struct windows {
  const key *keys[N];  // the address of vector 0 if all vectors were of this piece
  long long end[N];    // keys that exist from there on
  int units[N];        // vectors of this piece and the ones before
  int at[N];           // where the piece starts in shared memory

  __device__ __forceinline__ windows(const piece (&p)[N]) {
    int before_it = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int head = (int)(p[i].first % VEC);
      at[i] = before_it * VEC + head;
      keys[i] = p[i].keys + (p[i].first - at[i]);
      end[i] = p[i].n - (p[i].first - at[i]);
      units[i] = before_it = before_it + (head + p[i].count + VEC - 1) / VEC;
    }
  }

  __device__ __forceinline__ int all() const { return units[N - 1]; }
  __device__ __forceinline__ loaded<N> where(const piece (&p)[N]) const {
    loaded<N> l;
#pragma unroll
    for (int i = 0; i < N; i++) l.at[i] = at[i], l.count[i] = p[i].count;
    l.last = all() * VEC - 1;
    return l;
  }
  __device__ __forceinline__ bool whole() const {
    bool yes = true;
#pragma unroll
    for (int i = 0; i < N; i++) yes = yes && units[i] * VEC <= end[i];
    return yes;
  }
  __device__ __forceinline__ const key *from(int u) const {
    const key *start = keys[0];
#pragma unroll
    for (int i = 1; i < N; i++) start = u < units[i - 1] ? start : keys[i];
    return start + u * VEC;
  }
  __device__ __forceinline__ int room(int u) const {
    long long most = end[0];
#pragma unroll
    for (int i = 1; i < N; i++) most = u < units[i - 1] ? most : end[i];
    return (int)min(most - u * VEC, (long long)VEC);
  }
};

__device__ __forceinline__ vector load_keys(const vector *p) {
  if constexpr (INPUT_IS_CONSTANT) {
    return load_constant(p);
  } else {
    return load_plain(p);
  }
}

template <bool WHOLE, int N>
__device__ __forceinline__ vector load_vector(const windows<N> &w, int u) {
  vector v;
  if (WHOLE || w.room(u) == VEC) return load_keys(reinterpret_cast<const vector *>(w.from(u)));
#pragma unroll
  for (int e = 0; e < VEC; e++) v.e[e] = e < w.room(u) ? w.from(u)[e] : key();
  return v;
}

constexpr int STEPS =
    UNITS + (VEC > 1);  // vectors per thread; pieces may start and end within vectors

// One thread issues the copies and all wait for them; once in a launch.
template <int N>
__device__ __forceinline__ void load_bulk(vector *to, const windows<N> &w) {
  __shared__ unsigned long long there;
  const unsigned barrier = shared_address(&there);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_proxy_async();
    mbarrier_arrive_expect(barrier, w.all() * (int)sizeof(vector));
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int before_it = i > 0 ? w.units[i > 0 ? i - 1 : 0] : 0, count = w.units[i] - before_it;
      if (count > 0) {
        bulk_load(shared_address(to + before_it), w.keys[i] + before_it * VEC,
                  count * (int)sizeof(vector), barrier);
      }
    }
  }
  __syncthreads();
  mbarrier_wait(barrier, 0);
}

template <bool WHOLE, int N>
__device__ __forceinline__ void load_async(vector *to, const windows<N> &w) {
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.all() && (WHOLE || w.room(u) == VEC)) {
      cp_async<sizeof(vector)>(shared_address(to + u), w.from(u), sizeof(vector));
    } else if (u < w.all()) {
      store_plain(to + u, load_vector<false>(w, u));
    }
  }
  cp_async_commit();
  cp_async_wait<0>();
}

template <bool WHOLE, int N>
__device__ __forceinline__ void load_through_registers(vector *to, const windows<N> &w) {
  vector v[STEPS];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.all()) v[k] = load_vector<WHOLE>(w, u);
  }
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.all()) store_plain(to + u, v[k]);
  }
}

template <bool WHOLE, int N>
__device__ __forceinline__ void load_windows(vector *to, const windows<N> &w) {
  if constexpr (LOADER == LOADER_bulk && WHOLE) {
    load_bulk(to, w);
  } else if constexpr (LOADER == LOADER_cp_async) {
    load_async<WHOLE>(to, w);
  } else {
    load_through_registers<WHOLE>(to, w);
  }
}

template <int N>
__device__ __forceinline__ void load_pieces(key *shared, const windows<N> &w) {
  vector *vectors = reinterpret_cast<vector *>(shared);
  if (w.whole()) {
    load_windows<true>(vectors, w);
  } else {
    load_windows<false>(vectors, w);
  }
  __syncthreads();
}
