// radix_sort_ranges.cu -- few keys in one launch, in which no cluster of blocks waits for another: each reads all keys,
// and sorts those of its range.
//
// A sample, the same in every block, shows the least and the greatest key about; the range between is cut into BLOCK
// bins for every cluster, a CLUSTER-th of them for each of its blocks. A block reads a share of all keys, picks and
// counts those in its cluster's bins, and leaves them in shared memory in the order of the bins. Then each block
// fetches from all blocks of the cluster what is in its own bins. A bin has few keys: the rank of each is found by
// comparing it with the others. The keys in lower ranges were counted on the way.
//
// Where keys are so uneven that a bin or a block has too many, the cluster sorts all keys by digits
// (radix_cluster.cuh) and writes the same as the others.
// src: Helman, Bader, JaJa, A randomized parallel sorting algorithm with an experimental study, for ranges by a sample;
// here every cluster reads all keys, which saves the exchange between them
#include "radix_cluster.cuh"
#include "radix_entry.cuh"
#include "words.cuh"

constexpr int SHARE = BLOCK / CLUSTER;  // bins of a block
constexpr int MOST = 192;               // keys of a bin
static_assert(sizeof(entry) == ENTRY, "the shared memory is computed for entries of this size");

using wide = unsigned_of<(KEY == 8 ? 8 : 4)>;
constexpr wide LAST = (wide) ~(wide)0 >> (8 * sizeof(wide) - (BITS > 0 ? BITS : 1));

__shared__ unsigned starts[BLOCK + 1];      // where staged keys of the cluster's bins begin
__shared__ unsigned own_starts[SHARE + 1];  // and those of this block's
__shared__ unsigned lower;                  // keys of the block's share in lower clusters' ranges
__shared__ unsigned base;                   // all keys in lower ranges
__shared__ bool too_many_staged, too_many;

__device__ __forceinline__ entry *staged_entries() { return reinterpret_cast<entry *>(shared); }
__device__ __forceinline__ entry *own_entries() { return staged_entries() + ROOM; }

// ---- bins --------------------------------------------------------------------------------------

__device__ __forceinline__ int leading_zeros(unsigned x) { return __clz((int)x); }
__device__ __forceinline__ int leading_zeros(unsigned long long x) { return __clzll((long long)x); }

// Which of the BLOCK * CLUSTERS bins a key belongs to; keys outside the range belong to the outermost.
struct binning {
  wide least, most;
  int up;  // shifts the highest bit of most - least to the top
  unsigned scale;

  __device__ __forceinline__ binning(wide low, wide high) {
    const wide margin = (high - low) / 256;  // keys may be a bit outside the sample's range
    least = low > margin ? low - margin : 0;
    most = LAST - high > margin ? high + margin : LAST;
    const wide range = (most - least) | 1;
    up = leading_zeros(range);
    const float bins = BLOCK * CLUSTERS * (1 - 1.0f / (1 << 20));  // so that rounding makes no more
    scale = (unsigned)__fdividef(bins * 4294967296.0f, (float)top(range << up));
  }
  static __device__ __forceinline__ unsigned top(wide x) {
    return (unsigned)(x >> (8 * sizeof(wide) - 32));
  }
  __device__ __forceinline__ unsigned bin(const entry &v) const {
    const wide x = min(max((wide)v.bits(), least), most) - least;
    return __umulhi(top(x << up), scale);
  }
};

__device__ __forceinline__ void least_and_most(unsigned &low, unsigned &high) {
  low = __reduce_min_sync(0xffffffff, low);
  high = __reduce_max_sync(0xffffffff, high);
}
__device__ __forceinline__ void least_and_most(unsigned long long &low, unsigned long long &high) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    low = min(low, __shfl_xor_sync(0xffffffff, low, d));
    high = max(high, __shfl_xor_sync(0xffffffff, high, d));
  }
}

// All blocks look at the same keys, so they have the same bins.
__device__ __forceinline__ binning look_at_sample(long long n, const key *keys_in) {
  __shared__ wide lows[WARPS], highs[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const key k = keys_in[(unsigned long long)threadIdx.x * (unsigned)n / BLOCK];
  wide low = make_entry(encode(k), 0).bits(), high = low;
  least_and_most(low, high);
  if (lane == 0) lows[warp] = low, highs[warp] = high;
  __syncthreads();
  low = lows[lane % WARPS];
  high = highs[lane % WARPS];
  least_and_most(low, high);
  return binning(low, high);
}

// ---- a block's share of all keys ---------------------------------------------------------------

// Where this thread's i-th key is among all. Each block, and each thread, has keys of every part of the input: keys
// that are sorted already have few ranges in one part.
__device__ __forceinline__ unsigned nth_key(int i) {
  return (i * CLUSTER + block_rank()) * BLOCK + threadIdx.x;
}

template <bool WHOLE>
__device__ __forceinline__ void load_share(key (&k)[ITEMS], unsigned n, const key *keys_in) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    k[i] = WHOLE || nth_key(i) < n ? encode(load_plain(keys_in + nth_key(i))) : 0;
  }
}

// Lists those of this thread's keys that the cluster takes; returns their number, which may exceed DEPTH, the length
// of the list.
template <bool WHOLE>
__device__ __forceinline__ unsigned pick(const key (&k)[ITEMS], unsigned n, const binning &b) {
  const unsigned first = blockIdx.x / CLUSTER * BLOCK;
  unsigned before = 0, count = 0;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const entry v = make_entry(k[i], nth_key(i));
    const unsigned bin = WHOLE || nth_key(i) < n ? b.bin(v) - first : BLOCK;
    before += bin >> 31;
    if (bin < BLOCK && (DEPTH == ITEMS || count < DEPTH)) {
      staged_entries()[count * BLOCK + threadIdx.x] = v;
    }
    count += bin < BLOCK;
  }
  before = __reduce_add_sync(0xffffffff, before);
  if (threadIdx.x % 32 == 0 && before > 0) atomicAdd(&lower, before);
  return count;
}

// Puts the lists' entries in the order of the bins; false if there are too many.
__device__ __forceinline__ bool stage_bins(unsigned count, const binning &b) {
  const unsigned first = blockIdx.x / CLUSTER * BLOCK;
  entry v[DEPTH];
  unsigned bin[DEPTH], at[DEPTH];  // at: in the bin
#pragma unroll
  for (int j = 0; j < DEPTH; j++) {
    if (j < count) {
      v[j] = staged_entries()[j * BLOCK + threadIdx.x];
      bin[j] = b.bin(v[j]) - first;
      at[j] = atomicAdd(starts + bin[j], 1);
    }
  }
  const bool listed = !__syncthreads_or(count > DEPTH);
  unsigned start[1] = {starts[threadIdx.x]};
  const unsigned all = scan_rows<WARPS>(start);
  starts[threadIdx.x] = start[0];
  if (threadIdx.x == 0) starts[BLOCK] = all;
  __syncthreads();
  if (!listed || all > ROOM) return false;
#pragma unroll
  for (int j = 0; j < DEPTH; j++) {
    if (j < count) staged_entries()[starts[bin[j]] + at[j]] = v[j];
  }
  return true;
}

// ---- a block's bins ----------------------------------------------------------------------------

// Sets a flag in all blocks of the cluster.
__device__ __forceinline__ void raise(bool *flag) {
  if (threadIdx.x < CLUSTER) *in_block(flag, threadIdx.x) = true;
}

// Fetches what the cluster's blocks have in this block's bins, bin by bin; returns the number of keys. *fit: no bin has
// too many.
__device__ __forceinline__ unsigned fetch_bins(bool *fit) {
  const unsigned bin = threadIdx.x / CLUSTER, block = threadIdx.x % CLUSTER;
  const unsigned *there = in_block(starts, block) + block_rank() * SHARE + bin;
  const unsigned from = there[0], count = there[1] - from;
  if (bin == 0) atomicAdd(&base, *in_block(&lower, block) + from);
  unsigned to[1] = {count};
  const unsigned all = scan_rows<WARPS>(to);
  if (block == 0) own_starts[bin] = to[0];
  if (threadIdx.x == 0) own_starts[SHARE] = all;
  __syncthreads();
  const bool large = own_starts[bin + 1] - own_starts[bin] > MOST;
  *fit = !__syncthreads_or(large) && all <= ROOM;
  if (!*fit) return 0;
  const entry *entries = in_block(staged_entries(), block) + from;
  constexpr int SOME = 4;  // loads in flight
  for (unsigned i = 0; i < count; i += SOME) {
    entry v[SOME];
#pragma unroll
    for (int j = 0; j < SOME; j++) {
      if (i + j < count) v[j] = entries[i + j];
    }
#pragma unroll
    for (int j = 0; j < SOME; j++) {
      if (i + j < count) own_entries()[to[0] + i + j] = v[j];
    }
  }
  __syncthreads();
  return all;
}

// Does x come before y? Bare entries that are equal are ordered by where they are.
__device__ __forceinline__ bool is_before(const entry &x, unsigned x_at, const entry &y,
                                          unsigned y_at) {
  if constexpr (NEEDS_POSITION) {
    return later(y, x);
  } else if constexpr (KEY == 8) {
    return later(y, x) || (x_at < y_at && !later(x, y));
  } else {
    return ((unsigned long long)x.word << 32 | x_at) < ((unsigned long long)y.word << 32 | y_at);
  }
}

// The number of a bin's entries before v, which is at `at`.
__device__ __forceinline__ unsigned rank_of(const entry &v, unsigned at, unsigned begin,
                                            unsigned end) {
  unsigned rank = 0;
#pragma unroll 4
  for (unsigned i = begin; i < end; i++) rank += is_before(own_entries()[i], i, v, at);
  return rank;
}

__device__ __forceinline__ void write_bins(unsigned count, const binning &b, const key *keys_in,
                                           const value *values_in, key *keys_out,
                                           value *values_out) {
  for (unsigned at = threadIdx.x; at < count; at += BLOCK) {
    const entry v = own_entries()[at];
    const unsigned bin = b.bin(v) - blockIdx.x * SHARE, begin = own_starts[bin];
    const unsigned to = base + begin + rank_of(v, at, begin, own_starts[bin + 1]);
    keys_out[to] = key_of(v, keys_in, false);
    if constexpr (VALUE > 0) values_out[to] = values_in[v.at()];
  }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(BLOCK)
    sort_ranges(long long n, const key *keys_in, const value *values_in, key *keys_out,
                value *values_out) {
  key k[ITEMS];
  starts[threadIdx.x] = 0;
  if (threadIdx.x == 0) lower = base = 0, too_many_staged = too_many = false;
  cluster_arrive_own();
  const bool whole = n == CLUSTER * TILE;
  if (whole) {
    load_share<true>(k, (unsigned)n, keys_in);
  } else {
    load_share<false>(k, (unsigned)n, keys_in);
  }
  const binning b = look_at_sample(n, keys_in);
  const unsigned picked = whole ? pick<true>(k, (unsigned)n, b) : pick<false>(k, (unsigned)n, b);
  const bool staged = stage_bins(picked, b);
  cluster_wait();  // all blocks have started
  if (staged) {
    cluster_arrive_own();
  } else {
    raise(&too_many_staged);
    cluster_arrive();
  }
  cluster_wait();
  bool fit = false;
  const unsigned count = too_many_staged ? 0 : fetch_bins(&fit);
  if (fit) {
    cluster_arrive_relaxed();  // no block ends while others read its shared memory
    write_bins(count, b, keys_in, values_in, keys_out, values_out);
  } else {
    raise(&too_many);
    cluster_arrive();
  }
  cluster_wait();
  if (too_many) {
    cluster_barrier();  // blocks whose bins fit read those of others and arrived relaxed
    sort_in_cluster(n, keys_in, values_in, keys_out, values_out);
  }
}
