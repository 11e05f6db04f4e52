// merge_window.cuh -- a group of threads merges a window, WINDOW neighbouring places of a merged
// sequence, by a network of exchanges.
//
// The co-ranks of where a window starts and ends say which keys go into it. One part of them taken
// backwards and then the other go down and up, they are bitonic, and Batcher's rounds of exchanges at
// half the distance each sort them, whatever they are: no thread waits for what another comparison
// gave, nor do its loads. At first a thread has every GROUP-th place, and the far rounds are between
// its own registers; then the group swaps through shared memory, a thread has neighbouring places,
// and the near rounds are in registers as well.
//   src  Knuth, The Art of Computer Programming, vol. 3, 5.3.4; Berney and Sitchinava, Eliminating
//        bank conflicts in GPU mergesort, for parts that are read from both ends
//
// A window may also end one merged sequence, the left, and start another, the right. The left takes
// the places below `low` and the right those from `high` on; nothing is exchanged between them. Keys
// missing in the left would be last, after what goes down and up; keys missing in the right would be
// first, before what goes up and down: they are where they belong, and no exchange would move them.
//
// What is merged are items (merge_item.cuh), in an order without ties, or one in which nobody can tell
// apart what ties.

// Of a sorted sequence in shared memory.
struct stretch {
  int first, count;
  int shift;  // from a place there to the number that says where a key came from
};

struct stretches {
  stretch a, b;  // keys of a go before those of b that they tie with
};

// Co-ranks of where a window starts and ends. What is not sorted may have them in any order.
struct pair_of_ranks {
  int first, end;

  // The keys of a among `count` of the window.
  __device__ __forceinline__ int of_a(int count) const {
    return max(0, min(end - first, count));
  }
};

// Half of the group looks for either.
template <int GROUP, typename A, typename B>
__device__ __forceinline__ pair_of_ranks co_ranks(int d, int end, A a, int na, B b, int nb) {
  const bool ends = threadIdx.x % GROUP >= GROUP / 2;
  const int i = co_rank_group<GROUP / 2>(ends ? end : d, a, na, b, nb);
  return {__shfl_sync(0xffffffff, i, 0, GROUP), __shfl_sync(0xffffffff, i, GROUP / 2, GROUP)};
}

// What is merged to d..end of sequences that start at a and b.
__device__ __forceinline__ stretches stretches_between(pair_of_ranks i, int d, int end, int a, int b,
                                                       int a_shift = 0, int b_shift = 0) {
  const int of_a = i.of_a(end - d);
  return {{a + i.first, of_a, a_shift}, {b + d - i.first, end - d - of_a, b_shift}};
}

template <int ITEMS_OF_THREAD>
struct window {
  static constexpr int N = ITEMS_OF_THREAD, GROUP = N < 32 ? N : 32, WINDOW = N * GROUP;
  int low, high;

  // The window's number in its block, and the thread's in the group.
  static __device__ __forceinline__ int number() { return threadIdx.x / GROUP; }
  static __device__ __forceinline__ int lane() { return threadIdx.x % GROUP; }
  static __device__ __forceinline__ int far_place(int k) { return GROUP * k + lane(); }
  static __device__ __forceinline__ int near_place(int k) { return N * lane() + k; }

  template <bool WHOLE, typename Load>
  __device__ __forceinline__ void load(item (&v)[N], const stretches &left, const stretches &right,
                                       const Load &from) const {
    const int last = left.b.first + left.b.count - 1, first = left.a.first - left.b.count;
#pragma unroll
    for (int k = 0; k < N; k++) {
      const int p = far_place(k);
      const bool in_b = p < left.b.count;
      if (WHOLE || p < low) {
        v[k] = from(in_b ? last - p : first + p, in_b ? left.b.shift : left.a.shift);
      } else if (p >= high) {
        const int q = p - high, r = q - right.a.count;
        v[k] = r < 0 ? from(right.a.first + q, right.a.shift)
                     : from(right.b.first + right.b.count - 1 - r, right.b.shift);
      } else {
        v[k] = item();
      }
    }
  }

  template <bool WHOLE>
  __device__ __forceinline__ void far_rounds(item (&v)[N]) const {
#pragma unroll
    for (int d = N / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (k & d) continue;
        if (WHOLE || far_place(k + d) < low || far_place(k) >= high) exchange(v[k], v[k + d]);
      }
    }
  }

  template <bool WHOLE>
  __device__ __forceinline__ void near_rounds(item (&v)[N]) const {
#pragma unroll
    for (int d = GROUP / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (k & d) continue;
        if (WHOLE || near_place(k + d) < low || near_place(k) >= high) exchange(v[k], v[k + d]);
      }
    }
  }

  // The thread's neighbouring items of the window; all threads of the block come here. Nobody reads
  // what is loaded from once all have loaded, and `rows` may be at the same place.
  template <typename Load>
  __device__ __forceinline__ void merge(item (&v)[N], const stretches &left,
                                        const stretches &right, const Load &from,
                                        spread<item, N> rows) const {
    const bool whole = __all_sync(0xffffffff, low == WINDOW);
    if (whole) {
      load<true>(v, left, right, from);
    } else {
      load<false>(v, left, right, from);
    }
    __syncthreads();
    if (whole) {
      far_rounds<true>(v);
    } else {
      far_rounds<false>(v);
    }
#pragma unroll
    for (int k = 0; k < N; k++) rows[number() * WINDOW + far_place(k)] = v[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = rows.own(k);
    __syncwarp();
    if (whole) {
      near_rounds<true>(v);
    } else {
      near_rounds<false>(v);
    }
  }
};
