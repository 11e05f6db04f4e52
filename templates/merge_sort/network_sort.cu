// network_sort.cu -- few keys, in one block or one cluster: sorting networks, of which every exchange puts the lesser
// key into the lower place. Exchanges with places beyond the last key are left out: keys that come after all others
// would stay there.
//
//   bitonic         runs are merged by comparing one with the other one reversed, and then halves of halving size at
//                   the same place: in registers, by shuffles, through shared memory, through that of the cluster
//   odd_even_merge  Batcher's other network has fewer exchanges, but no lane always has the same partner: all are in
//                   shared memory
//   odd_even        exchanges of neighbours only: as many rounds as keys
//   src  Batcher, Sorting networks and their applications
#include "cluster.cuh"
#include "pdl.cuh"

constexpr bool ADJACENT_EXCHANGES = false, ITEMS_IN_ORDER = true;
#include "block_sort.cuh"

constexpr int ALL_THREADS = CLUSTER * SORT_BLOCK;  // of the cluster
constexpr int PLACES = CLUSTER * RUN, BUFFER = (SORT_SMEM + 15) / 16 * 16;

extern __shared__ __align__(16) unsigned char memory[];

__device__ __forceinline__ unsigned block_rank() { return CLUSTER > 1 ? blockIdx.x : 0; }
__device__ __forceinline__ unsigned thread_rank() {
  return block_rank() * SORT_BLOCK + threadIdx.x;
}

// With ALL of the cluster, or of the block.
__device__ __forceinline__ void sync_network(bool all) {
  if (CLUSTER > 1 && all) {
    cluster_barrier();
  } else {
    __syncthreads();
  }
}

template <typename T>
__device__ __forceinline__ T *in_rank(T *p, unsigned rank) {
  if constexpr (CLUSTER > 1) {
    return in_block(p, rank);
  } else {
    return p;
  }
}

// ---- bitonic ------------------------------------------------------------------------------------

template <bool WHOLE>
struct bitonic_network {
  const unsigned n;
  unsigned steps[2];  // through the block's and the cluster's shared memory so far

  __device__ __forceinline__ void exchange_own(item (&v)[SORT_ITEMS], int i, int j) const {
    if (WHOLE || thread_rank() * SORT_ITEMS + j < n) exchange(v[i], v[j], i);
  }

  __device__ __forceinline__ void halve_own(item (&v)[SORT_ITEMS], int from) const {
#pragma unroll
    for (int d = SORT_ITEMS / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < SORT_ITEMS; k++) {
        if (d <= from && !(k & d)) exchange_own(v, k, k | d);
      }
    }
  }

  __device__ __forceinline__ void sort_thread(item (&v)[SORT_ITEMS]) const {
#pragma unroll
    for (int size = 2; size <= SORT_ITEMS; size *= 2) {
#pragma unroll
      for (int k = 0; k < SORT_ITEMS; k++) {
        if (!(k & size / 2)) exchange_own(v, k, k ^ (size - 1));
      }
      halve_own(v, size / 4);
    }
  }

  // Steps take turns with two buffers, so that one barrier each is enough. Those of the cluster have their own: other
  // blocks may still read them when the block is two steps further.
  __device__ __forceinline__ rows buffer(bool of_cluster) const {
    return {reinterpret_cast<item *>(memory + (2 * of_cluster + steps[of_cluster] % 2) * BUFFER)};
  }

  // The items of the thread whose number differs by the mask.
  __device__ __forceinline__ void fetch(item (&other)[SORT_ITEMS], const item (&v)[SORT_ITEMS],
                                        unsigned mask) {
    if (mask < 32) {
#pragma unroll
      for (int k = 0; k < SORT_ITEMS; k++) other[k] = from_lane(v[k], mask);
      return;
    }
    const bool of_cluster = CLUSTER > 1 && mask >= SORT_BLOCK;
    const rows own = buffer(of_cluster);
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) own.own(k) = v[k];
    if (of_cluster) {
      cluster_arrive_own();
      cluster_wait();
    } else {
      __syncthreads();
    }
    const unsigned partner = thread_rank() ^ mask;
    const rows there = {in_rank(own.p, partner / SORT_BLOCK)};
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) other[k] = there[partner % SORT_BLOCK * SORT_ITEMS + k];
    steps[of_cluster]++;
  }

  __device__ __forceinline__ void keep(item &mine, const item &other, unsigned at, unsigned partner,
                                       bool lower) const {
    if (WHOLE || max(at, partner) < n) mine = swapped(mine, other) == lower ? other : mine;
  }

  __device__ __forceinline__ void step(item (&v)[SORT_ITEMS], unsigned mask, bool reversed) {
    item other[SORT_ITEMS];
    fetch(other, v, mask);
    const unsigned first = thread_rank() * SORT_ITEMS;
    const unsigned partner = (thread_rank() ^ mask) * SORT_ITEMS;
    const bool lower = first < partner;
    if (reversed) {
#pragma unroll
      for (int k = 0; k < SORT_ITEMS; k++) {
        keep(v[k], other[SORT_ITEMS - 1 - k], first + k, partner + SORT_ITEMS - 1 - k, lower);
      }
    } else {
#pragma unroll
      for (int k = 0; k < SORT_ITEMS; k++) keep(v[k], other[k], first + k, partner + k, lower);
    }
  }

  __device__ __forceinline__ void sort(item (&v)[SORT_ITEMS]) {
    sort_thread(v);
#pragma unroll 1
    for (unsigned width = 1; width < ALL_THREADS; width *= 2) {
      step(v, 2 * width - 1, true);
#pragma unroll 1
      for (unsigned d = width / 2; d > 0; d /= 2) step(v, d, false);
      halve_own(v, SORT_ITEMS / 2);
    }
    const rows own = buffer(false);
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) own.own(k) = v[k];
  }
};

// ---- networks in shared memory ------------------------------------------------------------------

struct shared_places {
  item *own;

  __device__ __forceinline__ item &operator[](unsigned at) const {
    const rows of_block = {in_rank(own, at / RUN)};
    return of_block[at % RUN];
  }
  __device__ __forceinline__ void exchange_pair(unsigned at, unsigned other, unsigned n) const {
    if (other >= n) return;
    item x = (*this)[at], y = (*this)[other];
    if (swapped(x, y)) (*this)[at] = y, (*this)[other] = x;
  }
};

// A round: exchanges at distance d within merged runs of 2 * p. In the first round of a merge all places take part,
// in the others those from the d-th on.
__device__ __forceinline__ void merge_round(const shared_places &all, unsigned p, unsigned d,
                                            unsigned n) {
  const unsigned skip = d == p ? 0 : d;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < RUN / 2; i += SORT_BLOCK) {
    const unsigned c = block_rank() * (RUN / 2) + i, at = skip + c / d * (2 * d) + c % d;
    if (at / (2 * p) == (at + d) / (2 * p)) all.exchange_pair(at, at + d, n);
  }
}

__device__ __forceinline__ void sort_by_merging(const shared_places &all, unsigned n) {
#pragma unroll 1
  for (unsigned p = 1; p < PLACES; p *= 2) {
#pragma unroll 1
    for (unsigned d = p; d > 0; d /= 2) {
      merge_round(all, p, d, n);
      sync_network(2 * p >= RUN);
    }
  }
}

__device__ __forceinline__ void sort_by_neighbours(const shared_places &all, unsigned n) {
#pragma unroll 1
  for (unsigned round = 0; round < n; round++) {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < RUN / 2; i += SORT_BLOCK) {
      const unsigned at = block_rank() * RUN + 2 * i + round % 2;
      all.exchange_pair(at, at + 1, n);
    }
    sync_network(true);
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

template <bool WHOLE>
__device__ __forceinline__ rows sort_bitonic(unsigned n, const key *x) {
  item v[SORT_ITEMS];
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const unsigned i = WHOLE ? k * ALL_THREADS + thread_rank() : thread_rank() * SORT_ITEMS + k;
    v[k] = make_item(WHOLE || i < n ? x[i] : key(), (int)i);
  }
  bitonic_network<WHOLE> all = {n, {0, 0}};
  all.sort(v);
  return all.buffer(false);
}

__device__ __forceinline__ rows sort_shared(unsigned n, const key *x) {
  const rows own = {reinterpret_cast<item *>(memory)};
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const unsigned i = k * SORT_BLOCK + threadIdx.x, at = block_rank() * RUN + i;
    if (at < n) own[i] = make_item(x[at], (int)at);
  }
  sync_network(true);
  const shared_places all = {own.p};
  if constexpr (ALG == ALG_odd_even_merge) {
    sort_by_merging(all, n);
  } else {
    sort_by_neighbours(all, n);
  }
  return own;
}

extern "C" __global__ void
    @{CLUSTER > 1 and "__cluster_dims__(CLUSTER, 1, 1) " or ""} __launch_bounds__(SORT_BLOCK)
        network_sort(long long n_keys, const key *x, const value *xv, key *y, value *yv) {
  const unsigned n = (unsigned)n_keys;
  x += pdl_wait();
  rows sorted;
  if constexpr (ALG == ALG_bitonic) {
    sorted = n == PLACES ? sort_bitonic<true>(n, x) : sort_bitonic<false>(n, x);
  } else {
    sorted = sort_shared(n, x);
  }
  sync_network(true);  // no block ends while others read from it
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const unsigned i = k * SORT_BLOCK + threadIdx.x, at = block_rank() * RUN + i;
    if (at < n) {
      const item one = sorted[i];
      y[at] = key_of(one);
      if constexpr (VALUE > 0) yv[at] = xv[source_of(one)];
    }
  }
}
