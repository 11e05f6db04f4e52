// merge_path.cuh -- co-ranks: each thread or block finds its own part of a merged sequence.
//
// The first d elements of the merged sequence are the first i of a and the first d - i of b: a binary search
// finds i, the co-rank of d. The co-ranks of the start and the end of a part say which elements are merged to it.
// Of equal elements those of a come first. Elements are of any type that has a bool before(x, y).
//   src  Green, McColl, Bader, GPU merge path; Siebert, Traeff, Efficient MPI implementation of a
//        parallel, stable merge algorithm
#pragma once

// The co-rank of d in the sequences a, of na keys, and b, of nb.
template <typename Index, typename A, typename B>
__device__ __forceinline__ Index co_rank(Index d, A a, Index na, B b, Index nb) {
  Index least = d > nb ? d - nb : 0, most = d < na ? d : na;
  while (least < most) {
    const Index i = least + ((most - least) >> 1);
    if (before(b[d - 1 - i], a[i])) {
      most = i;
    } else {
      least = i + 1;
    }
  }
  return least;
}

// The same by a whole warp, which compares at 32 places at a time: fewer loads depend on each other. The co-rank
// is in low..high.
template <typename Index, typename A, typename B>
__device__ __forceinline__ Index co_rank_warp(Index d, A a, Index na, B b, Index nb, Index low,
                                              Index high) {
  const int lane = threadIdx.x % 32;
  Index least = max(d > nb ? d - nb : 0, low), most = min(d < na ? d : na, high);
  while (least < most) {
    const Index step = (most - least + 31) / 32, i = least + lane * step;
    const bool beyond = i >= most || before(b[d - 1 - i], a[i]);
    const int n = __popc(__ballot_sync(0xffffffff, !beyond));  // places before the co-rank
    if (n < 32) most = min(most, least + n * step);
    if (n > 0) least += (n - 1) * step + 1;
  }
  return least;
}

template <typename Index, typename A, typename B>
__device__ __forceinline__ Index co_rank_warp(Index d, A a, Index na, B b, Index nb) {
  return co_rank_warp(d, a, na, b, nb, Index(0), na);
}

// The same by groups of LANES lanes; all lanes of the warp come here. Compared places are an odd number apart,
// so that they are in different banks of shared memory.
template <int LANES, typename Index, typename A, typename B>
__device__ __forceinline__ Index co_rank_group(Index d, A a, Index na, B b, Index nb) {
  const int lane = threadIdx.x % LANES, first_lane = threadIdx.x % 32 - lane;
  Index least = d > nb ? d - nb : 0, most = d < na ? d : na;
  while (__any_sync(0xffffffff, least < most)) {
    const Index left = most - least + LANES - 1;  // unsigned: a shift
    const Index step = (sizeof(Index) == 4 ? (Index)((unsigned)left / LANES) : left / LANES) | 1;
    const Index i = least + lane * step;
    const bool beyond = i >= most || before(b[d - 1 - i], a[i]);
    const unsigned lanes = __ballot_sync(0xffffffff, !beyond) >> first_lane;
    const int n = __popc(LANES == 32 ? lanes : lanes & ((1u << LANES % 32) - 1));
    if (n < LANES) most = min(most, least + n * step);
    if (n > 0) least += (n - 1) * step + 1;
  }
  return least;
}

// Co-ranks of d in N merged sequences, by a whole warp: how many of the first d keys are of each. low and most
// bound them; low receives the result. Equal keys are in the order of their sequences.
//
// With `left` keys still to be found, each lane samples its sequence, at multiples of `step` ahead. If T samples
// come up to one of them, then at most step * (T + N - 1) - (N - 1) keys do: each other sequence adds less than a
// step. So the samples that are certainly among the first `left` keys are skipped, with all keys before them, as
// far as no sequence runs out of samples. A round finds 13 of 16 keys. The number of rounds is bounded for input
// that is not sorted.
template <int N, typename Key>
__device__ __forceinline__ void co_rank_many(long long d, const Key *const (&keys)[N],
                                             long long (&low)[N], const long long (&most)[N]) {
  constexpr int EACH = 32 / N, PARTS = 2 * EACH;  // samples of a sequence; steps in `left`
  const int lane = threadIdx.x % 32, own = lane / EACH, nth = lane % EACH;
  const Key *mine = keys[0];
  long long at = low[0], end = most[0], left = d;
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (own == i) mine = keys[i], at = low[i], end = most[i];
    left -= low[i];
  }
  for (int round = 0; round < 64 && left > 0; round++) {
    const bool few = left + N - 1 < PARTS;
    const long long step = few ? 1 : (left + N - 1) / PARTS;
    const long long place = at + (nth + 1) * step - 1;
    const Key sample = at < end ? mine[min(place, end - 1)] : Key();
    const unsigned there = __ballot_sync(0xffffffff, place < end);
    int before_it = nth + 1;  // samples up to this one, inclusive
#pragma unroll
    for (int other = 1; other < N; other++) {
      const int j = (own + other) % N;
      int n = 0;
#pragma unroll
      for (int more = EACH / 2; more > 0; more /= 2) {
        const Key x = __shfl_sync(0xffffffff, sample, j * EACH + n + more - 1);
        if (j < own ? !before(sample, x) : before(x, sample)) n += more;
      }
      const Key x = __shfl_sync(0xffffffff, sample, j * EACH + n);
      if (j < own ? !before(sample, x) : before(x, sample)) n++;
      before_it += min(n, __popc(there >> j * EACH & ((1u << EACH) - 1)));
    }
    int sure = few ? (int)left : PARTS - (N - 1);
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int last = __shfl_sync(0xffffffff, before_it, i * EACH + EACH - 1);
      if (there >> (i * EACH + EACH - 1) & 1) sure = min(sure, last);
    }
    const unsigned passed = __ballot_sync(0xffffffff, place < end && before_it <= sure);
    at += __popc(passed >> own * EACH & ((1u << EACH) - 1)) * step;
    left -= __popc(passed) * step;
  }
#pragma unroll
  for (int i = 0; i < N; i++) low[i] = __shfl_sync(0xffffffff, at, i * EACH);
}

// Merges two sequences serially. Loads may go beyond the end of a sequence, but not beyond `last`.
template <typename Key, typename Keys>
struct merger {
  const Keys keys;  // both sequences, by position
  const int last;
  int i, i_end, j, j_end;
  Key a, b;

  __device__ __forceinline__ merger(Keys all, int a_at, int a_end, int b_at, int b_end, int last_at)
      : keys(all), last(last_at) {
    start(a_at, a_end, b_at, b_end);
  }

  __device__ __forceinline__ void start(int a_at, int a_end, int b_at, int b_end) {
    i = a_at;
    i_end = a_end;
    j = b_at;
    j_end = b_end;
    a = keys[min(i, last)];
    b = keys[min(j, last)];
  }

  // The next key of the merged sequence and its position; any key when none is left.
  __device__ __forceinline__ Key next(int *position) {
    const bool from_a = j >= j_end || (i < i_end && !before(b, a));
    const Key out = from_a ? a : b;
    *position = from_a ? i : j;
    const int at = *position + 1;
    const Key fresh = keys[min(at, last)];
    i = from_a ? at : i;
    j = from_a ? j : at;
    a = from_a ? fresh : a;
    b = from_a ? b : fresh;
    return out;
  }
};

// A row of WIDTH elements for each thread in shared memory, without bank conflicts: for an even WIDTH, 4 bytes
// of padding follow every 128.
template <typename T, int WIDTH>
struct spread {
  static constexpr int LINE = 128 / sizeof(T);  // a power of two
  static constexpr int GAP = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  T *p;

  // Negative places round down.
  static __device__ __forceinline__ constexpr int at(int i) {
    constexpr int SHIFT = LINE == 128 ? 7 : LINE == 64 ? 6 : LINE == 32 ? 5 : LINE == 16 ? 4 : 3;
    return WIDTH % 2 == 0 ? i + (i >> SHIFT) * GAP : i;
  }
  __device__ __forceinline__ T &operator[](int i) const { return p[at(i)]; }
  // The thread's k-th element. Where possible, all are at constant offsets from the first.
  __device__ __forceinline__ T &own(int k) const {
    if constexpr (WIDTH % 2 == 0 && (WIDTH % LINE == 0 || LINE % WIDTH == 0)) {
      return p[at((int)threadIdx.x * WIDTH) + at(k)];
    }
    return (*this)[threadIdx.x * WIDTH + k];
  }
  // The k-th element of those STEP places apart, from `first` on.
  template <int STEP>
  __device__ __forceinline__ T &nth(int first, int k) const {
    if constexpr (STEP % LINE == 0 || LINE % STEP == 0) {
      constexpr int SOME = STEP < LINE ? LINE / STEP : 1;  // steps of a line
      return p[at(first + STEP * (k % SOME)) + at(STEP * (k - k % SOME))];
    }
    return (*this)[first + STEP * k];
  }
};

template <typename Keys>
struct sequence_of {  // starts at `first`
  Keys all;
  int first;
  __device__ __forceinline__ auto operator[](int i) const { return all[first + i]; }
};
