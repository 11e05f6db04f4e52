// sample_layout.cuh -- the blocks, lists and shared memory of sample_sort.cu.
#pragma once
#include "cluster.cuh"
#include "rank_count.cuh"

constexpr int WARPS = SORT_BLOCK / 32;
constexpr int EACH = SAMPLES / CLUSTER;  // samples that a block ranks
constexpr int BOUNDS = CLUSTER + 1;      // of the cluster's ranges

__device__ __forceinline__ unsigned block_rank() { return blockIdx.x % CLUSTER; }
__device__ __forceinline__ unsigned cluster() { return blockIdx.x / CLUSTER; }

// A barrier of the cluster in two halves. Other blocks then see what this one wrote to its own shared memory.
__device__ __forceinline__ void arrive_at_cluster() {
  if constexpr (CLUSTER > 1) {
    cluster_arrive_own();
  } else {
    __syncthreads();
  }
}
__device__ __forceinline__ void wait_for_cluster() {
  if constexpr (CLUSTER > 1) cluster_wait();
}

// p in the shared memory of a block of the cluster.
template <typename T>
__device__ __forceinline__ T *of_block(T *p, unsigned block) {
  if constexpr (CLUSTER > 1) {
    return in_block(p, block);
  } else {
    return p;
  }
}

__device__ __forceinline__ unsigned sum_of_warp(unsigned n) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffff, n);
#else
#pragma unroll
  for (int d = 16; d > 0; d /= 2) n += __shfl_xor_sync(0xffffffff, n, d);
  return n;
#endif
}

// Of equal keys, the one with the lesser number comes first.
__device__ __forceinline__ bool comes_before(key x, unsigned x_number, key y, unsigned y_number) {
  return before(x, y) || (!before(y, x) && x_number < y_number);
}

// Keys without their places: equal keys are in any order.
struct key_list {
  key *keys;

  __device__ __forceinline__ void put(unsigned at, key k, unsigned) const { keys[at] = k; }
  __device__ __forceinline__ unsigned place(unsigned) const { return 0; }
  // The number that orders equal keys.
  __device__ __forceinline__ unsigned number(unsigned at) const { return at; }
  __device__ __forceinline__ key_list from(unsigned first) const { return {keys + first}; }
  // Does keys[i] come before k, which is keys[at]?
  __device__ __forceinline__ bool precedes(unsigned i, key k, unsigned) const {
    return before(keys[i], k);
  }
  __device__ __forceinline__ unsigned place_in_block(unsigned, unsigned) const { return 0; }
};

// Keys and their places in x, which order equal keys.
struct placed_list {
  key *keys;
  unsigned *places;

  __device__ __forceinline__ void put(unsigned at, key k, unsigned place) const {
    keys[at] = k;
    places[at] = place;
  }
  __device__ __forceinline__ unsigned place(unsigned at) const { return places[at]; }
  __device__ __forceinline__ unsigned number(unsigned at) const { return places[at]; }
  __device__ __forceinline__ placed_list from(unsigned first) const {
    return {keys + first, places + first};
  }
  __device__ __forceinline__ bool precedes(unsigned i, key k, unsigned at) const {
    return comes_before(keys[i], places[i], k, places[at]);
  }
  __device__ __forceinline__ unsigned place_in_block(unsigned at, unsigned block) const {
    return *of_block(places + at, block);
  }
};

using list = choose<STABLE, placed_list, key_list>;

// `places` is not used unless STABLE.
template <typename List = list>
__device__ __forceinline__ List make_list(key *keys, unsigned *places) {
  if constexpr (STABLE) {
    return List{keys, places};
  } else {
    return List{keys};
  }
}

// Keys with a number each.
struct numbered {
  key *keys;
  unsigned *numbers;

  // Of COUNT sorted keys, a power of two, the last that does not come after k, or the first. Numbers are compared only
  // where keys are equal.
  template <int COUNT>
  __device__ __forceinline__ unsigned last_up_to(key k, unsigned number) const {
    unsigned at = 0;
#pragma unroll
    for (int more = COUNT / 2; more > 0; more /= 2) {
      if (!before(k, keys[at + more])) at += more;
    }
    if (at == 0 || before(keys[at], k)) return at;
    if (before(keys[at - 1], k)) return number < numbers[at] ? at - 1 : at;  // equal to one only
    at = 0;
#pragma unroll 1
    for (int more = COUNT / 2; more > 0; more /= 2) {
      if (!comes_before(k, number, keys[at + more], numbers[at + more])) at += more;
    }
    return at;
  }
};

// ---- shared memory -----------------------------------------------------------------------------

extern __shared__ __align__(16) unsigned char shared[];

template <typename T>
__host__ __device__ constexpr int room(int count) {
  return (count * (int)sizeof(T) + 15) / 16 * 16;
}
constexpr int BINNED_AT = room<key>(AREA), SAMPLE_AT = BINNED_AT + room<key>(INBOX);
constexpr int BOUNDS_AT = SAMPLE_AT + room<key>(SAMPLES);
constexpr int CHOSEN_AT = BOUNDS_AT + room<key>(BOUNDS), SORTED_AT = CHOSEN_AT + room<key>(BINS);
constexpr int AREA_PLACES = SORTED_AT + room<key>(BINS);
constexpr int BINNED_PLACES = AREA_PLACES + room<unsigned>(AREA);
constexpr int BOUNDS_PLACES = BINNED_PLACES + room<unsigned>(STABLE ? INBOX : 0);
constexpr int CHOSEN_NUMBERS = BOUNDS_PLACES + room<unsigned>(BOUNDS);
constexpr int SORTED_NUMBERS = CHOSEN_NUMBERS + room<unsigned>(BINS);
constexpr int STARTS_AT = SORTED_NUMBERS + room<unsigned>(BINS);
constexpr int BINS_AT = STARTS_AT + room<unsigned>(BINS + 1);
constexpr int TIES_AT = AREA_PLACES;  // unless STABLE; picked() is no longer in use then
static_assert(BINS_AT + room<unsigned short>(INBOX) <= SAMPLES_SMEM,
              "the dynamic shared memory is too small");

template <typename T>
__device__ __forceinline__ T *shared_at(int at) {
  return reinterpret_cast<T *>(shared + at);
}
__device__ __forceinline__ list list_at(int keys, int places) {
  return make_list(shared_at<key>(keys), shared_at<unsigned>(places));
}
__device__ __forceinline__ list inbox() { return list_at(0, AREA_PLACES); }  // in place of picked()
__device__ __forceinline__ list binned() { return list_at(BINNED_AT, BINNED_PLACES); }
__device__ __forceinline__ list outbox() { return CLUSTER == 1 ? inbox() : binned(); }
__device__ __forceinline__ numbered picked() {
  return {shared_at<key>(0), shared_at<unsigned>(AREA_PLACES)};
}
__device__ __forceinline__ numbered bounds() {
  return {shared_at<key>(BOUNDS_AT), shared_at<unsigned>(BOUNDS_PLACES)};
}

__shared__ unsigned ranks[EACH > BINS ? EACH : BINS];  // of samples
__shared__ unsigned sent[CLUSTER];                     // keys for each block
__shared__ unsigned lower;              // keys of the block's share in ranges of lower clusters
__shared__ unsigned received[CLUSTER];  // keys from each block
__shared__ unsigned base;               // all keys in lower ranges
