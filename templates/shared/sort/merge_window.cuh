// merge_window.cuh -- a group of threads merges a window, WINDOW consecutive places of a merged sequence, by a
// bitonic network.
//
// The co-ranks of a window's start and end say which keys it consists of. One part of them reversed and then the
// other part are a bitonic sequence, which Batcher's rounds of exchanges, at half the distance each, sort without
// any branch or load that depends on a comparison. At first a thread has every GROUP-th place, and the far rounds
// are between its own registers; then the group exchanges items through shared memory, so that a thread has
// consecutive places, and the near rounds are between its registers as well.
//   src  Knuth, The Art of Computer Programming, vol. 3, 5.3.4; Berney and Sitchinava, Eliminating
//        bank conflicts in GPU mergesort, for parts that are read from both ends
//
// A window may end one merged sequence, the left one, and start another, the right one: then both are merged,
// padded to a window each. With values, and in the last window, each thread merges its places serially.
//
// Merged are items (merge_item.cuh): either no two are equal, or equal ones cannot be distinguished.
#pragma once
#include "merge_item.cuh"
#include "merge_path.cuh"
#include "ptx.cuh"

// A part of a sorted sequence in shared memory.
struct stretch {
  int first, count;
  int shift;  // from a place in shared memory to the item's source
};

struct stretches {
  stretch a, b;  // of equal keys, those of a come first
};

// Co-ranks of a window's start and end; in any order, if the input is not sorted.
struct pair_of_ranks {
  int first, end;

  // Keys of a among the `count` keys of the window.
  __device__ __forceinline__ int of_a(int count) const { return max(0, min(end - first, count)); }
};

// Each half of the group searches for one of the two.
template <int GROUP, typename A, typename B>
__device__ __forceinline__ pair_of_ranks co_ranks(int d, int end, A a, int na, B b, int nb) {
  const bool ends = threadIdx.x % GROUP >= GROUP / 2;
  const int i = co_rank_group<GROUP / 2>(ends ? end : d, a, na, b, nb);
  return {__shfl_sync(0xffffffff, i, 0, GROUP), __shfl_sync(0xffffffff, i, GROUP / 2, GROUP)};
}

// The parts that are merged to places d..end, of sequences that start at a and b.
__device__ __forceinline__ stretches stretches_between(pair_of_ranks i, int d, int end, int a,
                                                       int b, int a_shift = 0, int b_shift = 0) {
  const int of_a = i.of_a(end - d);
  return {{a + i.first, of_a, a_shift}, {b + d - i.first, end - d - of_a, b_shift}};
}

// Loads *x if `first`, else *y, at constant offsets in bytes, from shared memory. Of two predicated loads one is
// executed, and no address has to be selected before.
template <int X_OFFSET, int Y_OFFSET>
__device__ __forceinline__ void load_either(unsigned &w, int first, unsigned x, unsigned y) {
  asm volatile(
      "{ .reg .pred one; setp.ne.s32 one, %1, 0;"
      " @one ld.shared.b32 %0, [%2 + %4]; @!one ld.shared.b32 %0, [%3 + %5]; }"
      : "=r"(w)
      : "r"(first), "r"(x), "r"(y), "n"(X_OFFSET), "n"(Y_OFFSET)
      : "memory");
}
template <int X_OFFSET, int Y_OFFSET>
__device__ __forceinline__ void load_either(unsigned long long &w, int first, unsigned x,
                                            unsigned y) {
  asm volatile(
      "{ .reg .pred one; setp.ne.s32 one, %1, 0;"
      " @one ld.shared.b64 %0, [%2 + %4]; @!one ld.shared.b64 %0, [%3 + %5]; }"
      : "=l"(w)
      : "r"(first), "r"(x), "r"(y), "n"(X_OFFSET), "n"(Y_OFFSET)
      : "memory");
}

// x[-STEP] if `first`, else y[STEP].
template <int STEP>
__device__ __forceinline__ item load_either(bool first, const item *x, const item *y) {
  if constexpr (VALUE == 0 && NBYTES >= 4) {
    choose<NBYTES == 8, unsigned long long, unsigned> w;
    load_either<-(STEP * (int)sizeof(item)), (STEP * (int)sizeof(item))>(
        w, (int)first, shared_address(x), shared_address(y));
    return *reinterpret_cast<const item *>(&w);
  } else {
    return first ? x[-STEP] : y[STEP];
  }
}

// Items of a window in shared memory. What they are read from has
//   item operator()(int at, int shift)  the item at that place
//   operator[](int at)                  its key
//   bool straight<GROUP>()              are places GROUP apart equally far apart in memory?
//   const item *address(int at), int step(int places)   if so
template <int WIDTH>
struct item_rows {
  spread<item, WIDTH> all;

  template <int GROUP>
  static __device__ constexpr bool straight() {
    return WIDTH % 2 != 0 || GROUP % spread<item, WIDTH>::LINE == 0;
  }
  __device__ __forceinline__ item operator()(int at, int shift) const { return all[at]; }
  __device__ __forceinline__ item operator[](int at) const { return all[at]; }
  __device__ __forceinline__ const item *address(int at) const { return &all[at]; }
  static __device__ constexpr int step(int places) { return spread<item, WIDTH>::at(places); }
};

template <int N, int THREADS = (N < 32 ? N : 32)>
struct window {
  static constexpr int GROUP = THREADS, WINDOW = N * GROUP;
  int of_left;  // places of the left sequence

  // The window's first place among its block's, and the thread's number in the group.
  static __device__ __forceinline__ int start() { return threadIdx.x / GROUP * WINDOW; }
  static __device__ __forceinline__ int lane() { return threadIdx.x % GROUP; }

  template <typename Load, int K = 0>
  __device__ __forceinline__ void load_straight(item (&v)[N], int of_b, const item *a,
                                                const item *b) const {
    if constexpr (K < N) {
      v[K] = load_either<Load::step(GROUP * K)>(GROUP * K < of_b, b, a);
      load_straight<Load, K + 1>(v, of_b, a, b);
    }
  }

  // A window of the left sequence only.
  template <typename Load>
  __device__ __forceinline__ void load_whole(item (&v)[N], const stretches &left,
                                             const Load &from) const {
    const int last = left.b.first + left.b.count - 1, first = left.a.first - left.b.count;
    if constexpr (Load::template straight<GROUP>()) {
      load_straight<Load>(v, left.b.count - lane(), from.address(first + lane()),
                          from.address(last - lane()));
    } else {
#pragma unroll
      for (int k = 0; k < N; k++) {
        const int p = GROUP * k + lane();
        const bool in_b = p < left.b.count;
        v[k] = from(in_b ? last - p : first + p, in_b ? left.b.shift : left.a.shift);
      }
    }
  }

  template <typename Load>
  __device__ __forceinline__ void merge_serially(item (&v)[N], const stretches &left,
                                                 const stretches &right, const Load &from) const {
    const int place = N * lane();
    stretches s = place < of_left ? left : right;
    const int d = min(place < of_left ? place : place - of_left, s.a.count + s.b.count);
    int i = co_rank(d, sequence_of<Load>{from, s.a.first}, s.a.count,
                    sequence_of<Load>{from, s.b.first}, s.b.count);
    int j = d - i;
#pragma unroll
    for (int k = 0; k < N; k++) {
      if (k > 0 && place + k == of_left) s = right, i = j = 0;
      const bool in_a = i < s.a.count, in_b = j < s.b.count;
      v[k] = item();
      if (in_a && (!in_b || !before(from[s.b.first + j], from[s.a.first + i]))) {
        v[k] = from(s.a.first + i++, s.a.shift);
      } else if (in_b) {
        v[k] = from(s.b.first + j++, s.b.shift);
      }
    }
  }

  __device__ __forceinline__ static void far_rounds(item (&v)[N]) {
#pragma unroll
    for (int d = N / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (!(k & d)) exchange(v[k], v[k + d], k);
      }
    }
  }

  __device__ __forceinline__ static void near_rounds(item (&v)[N]) {
#pragma unroll
    for (int d = GROUP / 2; d > 0; d /= 2) {
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (!(k & d)) exchange(v[k], v[k + d], k);
      }
    }
  }

  // From every GROUP-th item to consecutive ones in order, through the group's part of shared memory.
  __device__ __forceinline__ static void rounds(item (&v)[N], spread<item, N> rows) {
    far_rounds(v);
#pragma unroll
    for (int k = 0; k < N; k++) rows.template nth<GROUP>(start() + lane(), k) = v[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = rows.own(k);
    __syncwarp();
    near_rounds(v);
  }

  // The left sequence followed by copies of its last key is bitonic as b reversed and a; the right one after
  // copies of its first key is as a and b reversed.
  template <typename Load>
  static __device__ __forceinline__ item of_left_part(const stretches &s, int i, const Load &from) {
    const int last = s.b.first + s.b.count - 1;
    return from(i < s.b.count ? last - i : s.a.first + i - s.b.count, 0);
  }
  template <typename Load>
  static __device__ __forceinline__ item of_right_part(const stretches &s, int i,
                                                       const Load &from) {
    const int last = s.b.first + s.b.count - 1;
    return from(i < s.a.count ? s.a.first + i : last - (i - s.a.count), 0);
  }
  static __device__ __forceinline__ item first_of(const item &x, const item &y) {
    return swapped(x, y) ? y : x;
  }
  static __device__ __forceinline__ item last_of(const item &x, const item &y) {
    return swapped(x, y) ? x : y;
  }

  // A whole window with places of both: two networks, each with the places of the other sequence padded.
  template <void SYNC(), typename Load>
  __device__ __forceinline__ void merge_both(item (&v)[N], const stretches &left,
                                             const stretches &right, const Load &from,
                                             spread<item, N> rows) const {
    item most = item(), least = item();
    if (of_left > 0) {
      const int a = left.a.first + left.a.count - 1, b = left.b.first + left.b.count - 1;
      most = from(left.a.count > 0 ? a : b, 0);
      if (left.b.count > 0) most = last_of(most, from(b, 0));
    }
    if (of_left < WINDOW) {
      least = from(right.a.count > 0 ? right.a.first : right.b.first, 0);
      if (right.b.count > 0) least = first_of(least, from(right.b.first, 0));
    }
    item w[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
      const int place = GROUP * k + lane();
      const bool in_left = place < of_left;
      const item x =
          in_left ? of_left_part(left, place, from) : of_right_part(right, place - of_left, from);
      v[k] = in_left ? x : most;
      w[k] = in_left ? least : x;
    }
    SYNC();
    rounds(v, rows);
    rounds(w, rows);
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = N * lane() + k < of_left ? v[k] : w[k];
  }

  // The thread's consecutive items of the window. All threads that SYNC synchronizes come here. After SYNC no
  // thread reads `from`, so `rows` may be at the same place. BOTH: may a window have places of both sequences?
  template <void SYNC(), bool BOTH, typename Load>
  __device__ __forceinline__ void merge(item (&v)[N], const stretches &left, const stretches &right,
                                        const Load &from, spread<item, N> rows) const {
    if (__all_sync(0xffffffff, of_left == WINDOW)) {
      load_whole(v, left, from);
      SYNC();
      rounds(v, rows);
    } else if (BOTH && VALUE == 0 &&
               __all_sync(0xffffffff, of_left + right.a.count + right.b.count == WINDOW)) {
      merge_both<SYNC>(v, left, right, from, rows);
    } else {
      merge_serially(v, left, right, from);
      SYNC();
    }
  }
};
