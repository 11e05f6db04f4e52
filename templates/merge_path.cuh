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

// Where this thread merges: the next key of either sequence, if any is left. What lies behind the end
// of a sequence is read too, but nothing behind `last`.
template <typename Key, typename Keys>
struct merger {
  const Keys keys;  // both sequences, by position
  const int i_end, j_end, last;
  int i, j;
  Key a, b;

  __device__ __forceinline__ merger(Keys all, int a_at, int a_end, int b_at, int b_end, int last_at)
      : keys(all), i_end(a_end), j_end(b_end), last(last_at), i(a_at), j(b_at) {
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
