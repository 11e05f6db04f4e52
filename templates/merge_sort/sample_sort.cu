// sample_sort.cu -- few keys in one launch, in which no cluster waits for another: each reads all keys, and its blocks
// sort those of their own ranges.
//
// A sample, the same in every cluster, is ranked by counting, each block a part of it; some samples bound the ranges,
// and every block has one range. A block reads a share of all keys, picks those of its cluster's ranges, and sorts
// them by range in its shared memory, from where the blocks of the ranges fetch them. How many keys are in lower
// ranges was counted on the way, and is where a range starts in y. A block sorts its range in the same way: by a
// sample of it into bins, and by counting in each bin.
//
// Blocks read from each other's shared memory and never write to it: a cluster barrier after such stores waits for the
// whole device (H200: 0.4 us more until the bounds are known).
//
// A bound is a key and its place in x, so that many equal keys, too, are cut into ranges of about the same size. Where
// the sample misleads and a block gets more keys than fit, it sorts its range in global memory.
//   src  Helman, Bader, JaJa, A randomized parallel sorting algorithm with an experimental study, for
//        ranges by a regular sample; Leischner, Osipov, Sanders, GPU sample sort, for bins that a search
//        finds; that every cluster reads all keys saves the exchange between them
#include "pdl.cuh"

#include "sample_overflow.cuh"

// Stores the i-th key of a range, whose results start at `first`, and its value.
struct keys_out {
  key *y;
  unsigned first;

  __device__ __forceinline__ keys_out(key *y, unsigned first, value *, const value *)
      : y(y), first(first) {}
  __device__ __forceinline__ void operator()(unsigned i, key k, unsigned) const {
    y[first + i] = k;
  }
};
struct pairs_out {
  key *y;
  unsigned first;
  value *yv;
  const value *xv;

  __device__ __forceinline__ void operator()(unsigned i, key k, unsigned place) const {
    y[first + i] = k;
    yv[first + i] = xv[place];
  }
};

extern "C" __global__ void
    @{CLUSTER > 1 and "__cluster_dims__(CLUSTER, 1, 1) " or ""} __launch_bounds__(SORT_BLOCK)
        sample_sort(long long n_keys, const key *x, const value *xv, key *y, value *yv, key *other,
                    unsigned *places) {
  const unsigned n = (unsigned)n_keys;
  key k[SORT_ITEMS];
  if (threadIdx.x < EACH) ranks[threadIdx.x] = 0;
  if (threadIdx.x < CLUSTER) sent[threadIdx.x] = 0;
  if (threadIdx.x == 0) lower = base = 0;
  x += pdl_wait();
  const bool whole = n == CLUSTER * RUN;
  key fetched[FETCHES];
  fetch_sample(fetched, n, x);
  if (whole)
    load_share<true>(k, n, x);
  else
    load_share<false>(k, n, x);
  rank_sample(fetched, n);
  const unsigned count = exchange_keys(k, n, whole), first = base;
  const choose<(VALUE > 0), pairs_out, keys_out> put = {y, first, yv, xv};
  if (count <= INBOX) {
    sort_inbox<true>(count, put);
  } else {
    wait_for_cluster();
    const list from = make_list(other + first, places + first);
    sort_in_memory(n, x, count - INBOX, from, from.from(n), put);
  }
}
