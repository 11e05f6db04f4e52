// merge_path.cuh -- two sorted sequences merged by many threads, each its own part of the result.
//
// The first d elements of the merged sequence are the first i of a and the first d - i of b: a binary
// search finds i, the co-rank of d. Whoever knows the co-ranks of where his part starts and ends
// merges it alone. A key of a goes before a key of b that it ties with.
//   src  Green, McColl, Bader, GPU merge path; Siebert, Traeff, Efficient MPI implementation of a
//        parallel, stable merge algorithm
//
// Where keys are said here, anything will do for which there is a bool before(x, y).

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

// The same by a whole warp, which looks at 32 places at a time: fewer loads wait for each other.
template <typename Index, typename A, typename B>
__device__ __forceinline__ Index co_rank_warp(Index d, A a, Index na, B b, Index nb) {
  const int lane = threadIdx.x % 32;
  Index least = d > nb ? d - nb : 0, most = d < na ? d : na;
  while (least < most) {
    const Index step = (most - least + 31) / 32, i = least + lane * step;
    const bool beyond = i >= most || before(b[d - 1 - i], a[i]);
    const int n = __popc(__ballot_sync(0xffffffff, !beyond));  // these lie before the co-rank
    if (n < 32) most = min(most, least + n * step);
    if (n > 0) least += (n - 1) * step + 1;
  }
  return least;
}

// The same in shared memory by each group of LANES threads, of which a warp has several, all here; at
// places an odd number apart, which are in different banks.
template <int LANES, typename A, typename B>
__device__ __forceinline__ int co_rank_group(int d, A a, int na, B b, int nb) {
  const int lane = threadIdx.x % LANES, first_lane = threadIdx.x % 32 - lane;
  int least = d > nb ? d - nb : 0, most = d < na ? d : na;
  while (__any_sync(0xffffffff, least < most)) {
    const int step = (unsigned)(most - least + LANES - 1) / LANES | 1, i = least + lane * step;
    const bool beyond = i >= most || before(b[d - 1 - i], a[i]);
    const unsigned lanes = __ballot_sync(0xffffffff, !beyond) >> first_lane;
    const int n = __popc(LANES == 32 ? lanes : lanes & ((1u << LANES % 32) - 1));
    if (n < LANES) most = min(most, least + n * step);
    if (n > 0) least += (n - 1) * step + 1;
  }
  return least;
}

// Two sequences that are merged only in thought.
template <typename Key>
struct merged_pair {
  const Key *a, *b;
  long long na, nb;

  // The key at place d, whose co-rank is i.
  __device__ __forceinline__ Key at(long long d, long long i) const {
    const long long j = d - i;
    return j >= nb || (i < na && !before(b[j], a[i])) ? a[i] : b[j];
  }
};

// Bounds of a co-rank of d in a pair, halved while they differ.
template <typename Key>
struct halving {
  const merged_pair<Key> &pair;
  const long long d;
  long long least, most;

  __device__ __forceinline__ halving(const merged_pair<Key> &of, long long place, long long low,
                                     long long high)
      : pair(of), d(place), least(max(low, place - of.nb)), most(min(high, min(place, of.na))) {}
  __device__ __forceinline__ bool open() const { return least < most; }
  __device__ __forceinline__ void halve(Key a, Key b, long long i) {
    if (before(b, a)) {
      most = i;
    } else {
      least = i + 1;
    }
  }
};

// Both co-ranks at the same time: their loads don't wait for each other.
template <typename Key>
__device__ __forceinline__ void halve_both(halving<Key> &x, halving<Key> &y) {
  while (x.open() || y.open()) {
    const bool in_x = x.open(), in_y = y.open();
    const long long i = (x.least + x.most) >> 1, k = (y.least + y.most) >> 1;
    Key xa = Key(), xb = Key(), ya = Key(), yb = Key();
    if (in_x) xa = x.pair.a[i], xb = x.pair.b[x.d - 1 - i];
    if (in_y) ya = y.pair.a[k], yb = y.pair.b[y.d - 1 - k];
    if (in_x) x.halve(xa, xb, i);
    if (in_y) y.halve(ya, yb, k);
  }
}

// How many of the first d keys of four sequences merged are of each, by a whole warp. `left` are the
// first two, whose keys go before those of `right` that they tie with. The lanes look at 32 places of
// the left pair at a time; what they find bounds the co-ranks within both pairs for the next time.
template <typename Key>
__device__ __forceinline__ void co_rank_four(long long d, const merged_pair<Key> &left,
                                             const merged_pair<Key> &right, long long (&found)[4]) {
  const int lane = threadIdx.x % 32;
  long long least = max(0ll, d - right.na - right.nb), most = min(d, left.na + left.nb);
  long long i_low = 0, i_high = left.na, k_low = 0, k_high = right.na;  // co-ranks within the pairs
  while (least < most) {
    const long long step = (most - least + 31) / 32, e = least + lane * step;
    bool beyond = true;
    long long i = i_high, k = k_low;
    if (e < most) {
      halving<Key> x(left, e, i_low, i_high), y(right, d - 1 - e, k_low, k_high);
      halve_both(x, y);
      i = x.least;
      k = y.least;
      beyond = before(right.at(d - 1 - e, k), left.at(e, i));
    }
    const int n = __popc(__ballot_sync(0xffffffff, !beyond));  // these are among the first d
    const int in = max(n - 1, 0), out = min(n, 31);
    const long long i_in = __shfl_sync(0xffffffff, i, in), i_out = __shfl_sync(0xffffffff, i, out);
    const long long k_in = __shfl_sync(0xffffffff, k, in), k_out = __shfl_sync(0xffffffff, k, out);
    if (n < 32) {
      most = min(most, least + n * step);
      i_high = i_out;
      k_low = k_out;
    }
    if (n > 0) {
      least += (n - 1) * step + 1;
      i_low = i_in;
      k_high = k_in;
    }
  }
  halving<Key> x(left, least, i_low, i_high), y(right, d - least, k_low, k_high);
  halve_both(x, y);
  found[0] = x.least;
  found[1] = least - x.least;
  found[2] = y.least;
  found[3] = d - least - y.least;
}

// Where this thread merges: the next key of either sequence, if any is left. What lies behind the end
// of a sequence is read too, but nothing behind `last`.
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

  // The next key of the merged sequence, and its position; anything when none is left.
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

// Rows of WIDTH elements, one of each thread, that start in different banks of shared memory: where
// the width is even, 4 bytes are left out every 128.
template <typename T, int WIDTH>
struct spread {
  static constexpr int LINE = 128 / sizeof(T);  // a power of two
  static constexpr int GAP = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  T *p;

  // Also of places before the first: they round down.
  static __device__ __forceinline__ constexpr int at(int i) {
    constexpr int SHIFT = LINE == 128 ? 7 : LINE == 64 ? 6 : LINE == 32 ? 5 : LINE == 16 ? 4 : 3;
    return WIDTH % 2 == 0 ? i + (i >> SHIFT) * GAP : i;
  }
  __device__ __forceinline__ T &operator[](int i) const { return p[at(i)]; }
  // What is written out below is for compilers: all elements lie a constant behind the first.
  __device__ __forceinline__ T &own(int k) const {
    if constexpr (WIDTH % 2 == 0 && (WIDTH % LINE == 0 || LINE % WIDTH == 0)) {
      return p[at((int)threadIdx.x * WIDTH) + at(k)];
    }
    return (*this)[threadIdx.x * WIDTH + k];
  }
  // The k-th of those STEP places apart, from `first` on.
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
struct sequence_of {  // that starts there
  Keys all;
  int first;
  __device__ __forceinline__ auto operator[](int i) const { return all[first + i]; }
};
