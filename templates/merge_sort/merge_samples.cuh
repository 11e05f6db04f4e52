// merge_samples.cuh -- few keys in one launch, in which no cluster of blocks waits for another: each
// reads all keys, and its blocks sort those of their own range. After merge_count.cuh and pdl.cuh.
//
// A sample, the same in every cluster, is ranked by counting, each block a part of it; some of its keys
// bound the ranges, and every block has one. A block of a cluster reads a share of all keys, picks those
// that belong to the cluster, and lays them out in its shared memory for the block in whose range each is,
// which fetches them. How many are in lower ranges was counted on the way, and says where a range goes.
// A block sorts its range in the same way: by a sample of it into bins, and by counting in the bins.
//
// Blocks fetch from each other, and none stores to another: a cluster's barrier that makes such stores seen
// waits for the whole device (H200: 0.4 us more until the bounds are known).
//
// What bounds a range is a key and where it came from. So keys that are all equal, too, are cut into
// ranges of about the same size. Where the sample says too little and a block gets more than it has room
// for, it takes its range's keys to global memory, and merges there.
//   src  Helman, Bader, JaJa, A randomized parallel sorting algorithm with an experimental study, for
//        ranges by a regular sample; Leischner, Osipov, Sanders, GPU sample sort, for bins that a search
//        finds; that every cluster reads all keys saves the exchange between them

@ local told = value > 0 or NETWORK == "odd_even"  -- keys that tie are told apart by where they came from
@ if CLUSTER > 1 then
@include "cluster.cuh"
@ else
__device__ __forceinline__ void cluster_arrive_own() { __syncthreads(); }
__device__ __forceinline__ void cluster_wait() {}
template <typename T>
__device__ __forceinline__ T *in_block(T *p, unsigned block) {
  return p;
}
@ end

constexpr int WARPS = SORT_BLOCK / 32;
constexpr int EACH = SAMPLES / CLUSTER;  // of the sample, that a block ranks
constexpr int BOUNDS = CLUSTER + 1;      // of a cluster's ranges

__device__ __forceinline__ unsigned block_rank() { return blockIdx.x % CLUSTER; }
__device__ __forceinline__ unsigned cluster() { return blockIdx.x / CLUSTER; }

__device__ __forceinline__ unsigned sum_of_warp(unsigned n) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffff, n);
#else
#pragma unroll
  for (int d = 16; d > 0; d /= 2) n += __shfl_xor_sync(0xffffffff, n, d);
  return n;
#endif
}

// Of keys that tie, those come first that have the lesser number.
__device__ __forceinline__ bool comes_before(key x, unsigned x_number, key y, unsigned y_number) {
  return before(x, y) || (!before(y, x) && x_number < y_number);
}

// Keys and, if those that tie are told apart, where they came from.
struct list {
  key *keys;
@ if told then
  unsigned *places;
@ end

  __device__ __forceinline__ void put(unsigned at, key k, unsigned place) const {
    keys[at] = k;
@ if told then
    places[at] = place;
@ end
  }
  __device__ __forceinline__ unsigned place(unsigned at) const {
@ if told then
    return places[at];
@ else
    return 0;
@ end
  }
  // By which keys that tie are ordered.
  __device__ __forceinline__ unsigned number(unsigned at) const {
@ if told then
    return places[at];
@ else
    return at;
@ end
  }
  __device__ __forceinline__ list from(unsigned first) const {
@ if told then
    return {keys + first, places + first};
@ else
    return {keys + first};
@ end
  }
};

// Those with a number each, in order or to be put into it.
struct numbered {
  key *keys;
  unsigned *numbers;

  // The last of COUNT, a power of two, that does not come after a key, or the first. Few have to look at
  // numbers.
  template <int COUNT>
  __device__ __forceinline__ unsigned last_up_to(key k, unsigned number) const {
    unsigned at = 0;
#pragma unroll
    for (int more = COUNT / 2; more > 0; more /= 2) {
      if (!before(k, keys[at + more])) at += more;
    }
    if (at == 0 || before(keys[at], k)) return at;
    if (before(keys[at - 1], k)) return number < numbers[at] ? at - 1 : at;  // it ties with one alone
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
constexpr int CHOSEN_AT = BOUNDS_AT + room<key>(BOUNDS), SORTED_AT = CHOSEN_AT + room<key>(LOCAL);
constexpr int AREA_PLACES = SORTED_AT + room<key>(LOCAL);
constexpr int BINNED_PLACES = AREA_PLACES + room<unsigned>(AREA);
constexpr int BOUNDS_PLACES = BINNED_PLACES + room<unsigned>(@{told and "INBOX" or "0"});
constexpr int CHOSEN_NUMBERS = BOUNDS_PLACES + room<unsigned>(BOUNDS);
constexpr int SORTED_NUMBERS = CHOSEN_NUMBERS + room<unsigned>(LOCAL);
constexpr int STARTS_AT = SORTED_NUMBERS + room<unsigned>(LOCAL);
constexpr int BINS_AT = STARTS_AT + room<unsigned>(LOCAL + 1);
@ if not told then
constexpr int TIES_AT = AREA_PLACES;  // nobody lists what is picked then
@ end
static_assert(BINS_AT + room<unsigned short>(INBOX) <= SAMPLES_SMEM, "shared memory is for these");

template <typename T>
__device__ __forceinline__ T *shared_at(int at) {
  return reinterpret_cast<T *>(shared + at);
}
__device__ __forceinline__ list list_at(int keys, int places) {
@ if told then
  return {shared_at<key>(keys), shared_at<unsigned>(places)};
@ else
  return {shared_at<key>(keys)};
@ end
}
__device__ __forceinline__ list inbox() { return list_at(0, AREA_PLACES); }  // where picked() was
__device__ __forceinline__ list binned() { return list_at(BINNED_AT, BINNED_PLACES); }
__device__ __forceinline__ list outbox() { return CLUSTER == 1 ? inbox() : binned(); }
__device__ __forceinline__ numbered picked() {
  return {shared_at<key>(0), shared_at<unsigned>(AREA_PLACES)};
}
__device__ __forceinline__ numbered bounds() {
  return {shared_at<key>(BOUNDS_AT), shared_at<unsigned>(BOUNDS_PLACES)};
}

__shared__ unsigned ranks[EACH > LOCAL ? EACH : LOCAL];  // of samples
__shared__ unsigned sent[CLUSTER];                       // keys, to each block
__shared__ unsigned lower;                               // keys of the share in lower clusters' ranges
__shared__ unsigned received[CLUSTER];                   // from each block
__shared__ unsigned base;                                // all keys in lower ranges

// ---- the sample --------------------------------------------------------------------------------

// One of each of so many stretches, anywhere in it: keys may have a period. Of fewer keys all are there,
// the last of them several times.
__device__ __forceinline__ unsigned sample_place(unsigned j, unsigned n) {
  if (n <= SAMPLES) return min(j, n - 1);
  const unsigned first = (unsigned)((unsigned long long)j * n / SAMPLES);
  const unsigned end = (unsigned)((j + 1ull) * n / SAMPLES);
  return first + __umulhi((j + 1) * 2654435761u, end - first);  // Knuth's multiplicative hash
}

// Of all ranges, the first that does not start before this place in the sorted sample; and where it starts.
__device__ __forceinline__ unsigned range_from(unsigned rank) {
  return (rank * RANGES + SAMPLES - 1) / SAMPLES;
}
__device__ __forceinline__ unsigned start_of(unsigned range) { return range * SAMPLES / RANGES; }

constexpr int FETCHES = (SAMPLES + SORT_BLOCK - 1) / SORT_BLOCK;

__device__ __forceinline__ void fetch_sample(key (&fetched)[FETCHES], unsigned n, const key *x) {
#pragma unroll
  for (int i = 0; i < FETCHES; i++) {
    const int j = i * SORT_BLOCK + threadIdx.x;
    fetched[i] = j < SAMPLES ? x[sample_place(j, n)] : key();
  }
}

// Finds the cluster's bounds. Where its first range starts, and its last one ends, may be none.
__device__ __forceinline__ void rank_sample(const key (&fetched)[FETCHES], unsigned n) {
  key *const sample = shared_at<key>(SAMPLE_AT);
#pragma unroll
  for (int i = 0; i < FETCHES; i++) {
    const int j = i * SORT_BLOCK + threadIdx.x;
    if (j < SAMPLES) sample[j] = fetched[i];
  }
  __syncthreads();
  constexpr int PARTS = SORT_BLOCK / EACH;
  const int own = threadIdx.x % EACH;
  const part_of part(SAMPLES, PARTS, threadIdx.x / EACH);
  if (part.from < part.end) {
    const int place = block_rank() * EACH + own;
    atomicAdd(ranks + own, count_before<SAMPLES / PARTS>(sample, place, part.from, part.end));
  }
  cluster_arrive_own();
  cluster_wait();
#pragma unroll
  for (int i = 0; i < FETCHES; i++) {
    const int j = i * SORT_BLOCK + threadIdx.x;
    if (j < SAMPLES) {
      const unsigned rank = *in_block(ranks + j % EACH, j / EACH);
      const unsigned range = range_from(rank), nth = range - cluster() * CLUSTER;
      if (nth < BOUNDS && start_of(range) == rank) {
        bounds().keys[nth] = fetched[i];
        bounds().numbers[nth] = sample_place(j, n);
      }
    }
  }
  __syncthreads();
}

// ---- keys go to the block in whose range they are ----------------------------------------------

// The keys of ranges from one bound of the cluster to another. The first and the last of all ranges
// have no end.
struct stretch_of_keys {
  bool bounded_below, bounded_above;
  key least, most;
  unsigned least_place, most_place;

  __device__ __forceinline__ stretch_of_keys(unsigned from, unsigned to) {
    bounded_below = cluster() > 0 || from > 0;
    bounded_above = cluster() + 1 < CLUSTERS || to < CLUSTER;
    const unsigned low = from, high = bounded_above ? to : from;
    least = bounds().keys[low];
    most = bounds().keys[high];
    least_place = bounds().numbers[low];
    most_place = bounds().numbers[high];
  }
  __device__ __forceinline__ bool starts_after(key k) const { return bounded_below && before(k, least); }
  __device__ __forceinline__ bool ends_before(key k) const { return bounded_above && before(most, k); }
  __device__ __forceinline__ bool starts_after(key k, unsigned place) const {
    return bounded_below && comes_before(k, place, least, least_place);
  }
  __device__ __forceinline__ bool ends_after(key k, unsigned place) const {
    return !bounded_above || comes_before(k, place, most, most_place);
  }
};

// This thread's i-th key among all: warps of all blocks take turns, for keys that are in order already
// are of few ranges there.
__device__ __forceinline__ unsigned nth_key(int i) {
  return ((i * WARPS + threadIdx.x / 32) * CLUSTER + block_rank()) * 32 + threadIdx.x % 32;
}

template <bool WHOLE>
__device__ __forceinline__ void load_share(key (&k)[SORT_ITEMS], unsigned n, const key *x) {
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) k[i] = WHOLE || nth_key(i) < n ? x[nth_key(i)] : key();
}

// To the block in whose range it is, unless it only ties with one of the bounds.
__device__ __forceinline__ void send(key k, unsigned place, const stretch_of_keys &of_cluster) {
  if (of_cluster.starts_after(k, place)) atomicAdd(&lower, 1);
  else if (of_cluster.ends_after(k, place)) {
    const unsigned to = bounds().last_up_to<CLUSTER>(k, place);
    const unsigned nth = atomicAdd(sent + to, 1);
    if (nth < SEGMENT) outbox().put(to * SEGMENT + nth, k, place);
  }
}

// Sends of a thread's keys those that may be the cluster's. Where few of many are, a warp first lists
// them, and then all its threads have some to send.
@ local listed = SORT_ITEMS > 2 and CLUSTER > 1
template <bool WHOLE>
__device__ __forceinline__ void send_keys(const key (&k)[SORT_ITEMS], unsigned n,
                                          const stretch_of_keys &of_cluster) {
  const int lane = threadIdx.x % 32;
  unsigned less = 0;
@ if listed then
  const int first = (threadIdx.x - lane) * SORT_ITEMS;
  unsigned count = 0;
@ end
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) {
    const unsigned place = nth_key(i);
    const bool there = WHOLE || place < n, lower_than = there && of_cluster.starts_after(k[i]);
    const bool mine = there && !lower_than && !of_cluster.ends_before(k[i]);
    less += lower_than;
@ if listed then
    const unsigned lanes = __ballot_sync(0xffffffff, mine);
    if (mine) {
      const unsigned at = first + count + __popc(lanes & ((1u << lane) - 1));
      picked().keys[at] = k[i];
      picked().numbers[at] = place;
    }
    count += __popc(lanes);
@ else
    if (mine) send(k[i], place, of_cluster);
@ end
  }
  less = sum_of_warp(less);
  if (lane == 0 && less > 0) atomicAdd(&lower, less);
@ if listed then
  __syncwarp();
#pragma unroll 1
  for (unsigned i = first + lane; i < first + count; i += 32) {
    send(picked().keys[i], picked().numbers[i], of_cluster);
  }
@ end
}

// What a block has for the blocks of its cluster: how many keys this block gets of each, and how many
// are in lower ranges.
__device__ __forceinline__ void read_counts() {
  unsigned less = 0;
#pragma unroll
  for (int i = 0; i < CLUSTER * CLUSTER; i += SORT_BLOCK) {
    const unsigned t = i + threadIdx.x, from = t / CLUSTER, to = t % CLUSTER;
    if (t < CLUSTER * CLUSTER) {
      const unsigned count = *in_block(sent + to, from);
      if (to == block_rank()) received[from] = count;
      if (to == 0) less += *in_block(&lower, from);
      if (to < block_rank()) less += count;
    }
  }
  if (threadIdx.x / 32 * 32 < CLUSTER * CLUSTER) {
    less = sum_of_warp(less);
    if (threadIdx.x % 32 == 0) atomicAdd(&base, less);
  }
}

// Warps take turns at what the blocks have for this one, one block's behind the other's.
__device__ __forceinline__ void fetch_keys() {
  constexpr int TURNS = (CLUSTER * ((SEGMENT + 31) / 32) + WARPS - 1) / WARPS;
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const unsigned turn = i * WARPS + threadIdx.x / 32, from = turn % CLUSTER;
    const unsigned nth = turn / CLUSTER * 32 + threadIdx.x % 32, at = block_rank() * SEGMENT + nth;
    if (nth < received[from]) {
      unsigned to = nth;
#pragma unroll
      for (int b = 0; b < CLUSTER; b++) to += b < from ? received[b] : 0;
      const key k = *in_block(outbox().keys + at, from);
@ if told then
      inbox().put(to, k, *in_block(outbox().places + at, from));
@ else
      inbox().put(to, k, 0);
@ end
    }
  }
}

// How many keys the inbox has then; more than INBOX, if it has none because a block had too many.
__device__ __forceinline__ unsigned exchange_keys(const key (&k)[SORT_ITEMS], unsigned n, bool whole) {
  const stretch_of_keys of_cluster(0, CLUSTER);
  if (whole) send_keys<true>(k, n, of_cluster);
  else send_keys<false>(k, n, of_cluster);
  cluster_arrive_own();
  cluster_wait();
  read_counts();
  __syncthreads();
  unsigned all = 0;
  bool fits = true;
#pragma unroll
  for (int b = 0; b < CLUSTER; b++) {
    fits = fits && received[b] <= SEGMENT;
    all += received[b];
  }
@ if CLUSTER > 1 then
  if (fits) fetch_keys();
@ end
  cluster_arrive_own();
  return fits ? all : INBOX + all;
}

// ---- a block sorts its inbox -------------------------------------------------------------------

@ if LOCAL > 0 then
// Some of the keys, of all in their order in the inbox; of few keys some several times.
__device__ __forceinline__ void choose(const numbered &chosen, unsigned all) {
  if (threadIdx.x < LOCAL) {
    const unsigned at = threadIdx.x * all / LOCAL;
    chosen.keys[threadIdx.x] = inbox().keys[at];
    chosen.numbers[threadIdx.x] = inbox().number(at);
  }
}

// Puts them in order. Of keys that tie, earlier ones have lesser numbers, if they are not told apart.
__device__ __forceinline__ void sort_chosen(const numbered &chosen, const numbered &sorted) {
  constexpr int PARTS = SORT_BLOCK / LOCAL;
  const int own = threadIdx.x % LOCAL;
  const part_of part(LOCAL, PARTS, threadIdx.x / LOCAL);
  if (part.from < part.end) {
@   if told then
    const key x = chosen.keys[own];
    const unsigned place = chosen.numbers[own];
    float less = 0;
#pragma unroll 4
    for (int i = part.from; i < part.end; i++) {
      const key y = chosen.keys[i];
      const unsigned number = chosen.numbers[i];
      count(less, comes_before(y, number, x, place) || (i < own && number == place));
    }
    const unsigned n = (unsigned)less;
@   else
    const unsigned n = count_before<LOCAL / PARTS>(chosen.keys, own, part.from, part.end);
@   end
    atomicAdd(ranks + own, n);
  }
  __syncthreads();
  if (threadIdx.x < LOCAL) {
    sorted.keys[ranks[threadIdx.x]] = chosen.keys[threadIdx.x];
    sorted.numbers[ranks[threadIdx.x]] = chosen.numbers[threadIdx.x];
  }
  __syncthreads();
}

// By the first warp: how many are in the bins before each.
__device__ __forceinline__ void sum_bins(unsigned *starts) {
  constexpr int SOME = LOCAL / 32;
  unsigned n[SOME], sum = 0;
#pragma unroll
  for (int i = 0; i < SOME; i++) {
    n[i] = sum;
    sum += starts[threadIdx.x * SOME + i];
  }
  unsigned all = sum;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned more = __shfl_up_sync(0xffffffff, all, d);
    if (threadIdx.x >= d) all += more;
  }
#pragma unroll
  for (int i = 0; i < SOME; i++) starts[threadIdx.x * SOME + i] = all - sum + n[i];
  if (threadIdx.x == 31) starts[LOCAL] = all;
}

// From the inbox to the bins, in which they are in no order.
template <bool FIRST>
__device__ __forceinline__ void bin_keys(unsigned all, unsigned *starts, unsigned short *bins) {
  constexpr int TURNS = (INBOX + SORT_BLOCK - 1) / SORT_BLOCK;
  const numbered chosen = {shared_at<key>(CHOSEN_AT), shared_at<unsigned>(CHOSEN_NUMBERS)};
  const numbered sorted = {shared_at<key>(SORTED_AT), shared_at<unsigned>(SORTED_NUMBERS)};
  if (threadIdx.x < LOCAL) starts[threadIdx.x] = ranks[threadIdx.x] = 0;
  choose(chosen, all);
  __syncthreads();
  sort_chosen(chosen, sorted);
  unsigned bin[TURNS], nth[TURNS];
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const unsigned at = i * SORT_BLOCK + threadIdx.x;
    if (at < all) {
      bin[i] = sorted.last_up_to<LOCAL>(inbox().keys[at], inbox().number(at));
      nth[i] = atomicAdd(starts + bin[i], 1);
    }
  }
  if (FIRST) cluster_wait();  // everybody has fetched what lay where the bins are to be
  __syncthreads();
  if (threadIdx.x < 32) sum_bins(starts);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const unsigned at = i * SORT_BLOCK + threadIdx.x;
    if (at < all) {
      const unsigned to = starts[bin[i]] + nth[i];
      binned().put(to, inbox().keys[at], inbox().place(at));
      bins[to] = bin[i];
    }
  }
}

@ end
// Sorts what is in the inbox: put(i, k, place) gets the i-th key. All threads come here.
template <bool FIRST, typename Put>
__device__ __forceinline__ void sort_inbox(unsigned all, Put put) {
@ if LOCAL > 0 then
  if (all == 0) {
    if (FIRST) cluster_wait();
    return;
  }
@ end
@ if not told then
  unsigned *const ties = shared_at<unsigned>(TIES_AT);  // of keys that as many come before
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < all; i += SORT_BLOCK) ties[i] = 0;
@ end
  __syncthreads();
@ if LOCAL > 0 then
  unsigned *const starts = shared_at<unsigned>(STARTS_AT);
  unsigned short *const bins = shared_at<unsigned short>(BINS_AT);
  bin_keys<FIRST>(all, starts, bins);
  __syncthreads();
  const list from = binned();
@ else
  if (FIRST) cluster_wait();  // nobody leaves while others fetch what he has
  const list from = inbox();
@ end
  // 2^g threads count for a key, if there are so many for each.
  const int g = max(0, min(5, __clz((int)all - 1) - __clz(SORT_BLOCK) - 1));
  const unsigned group = 1 << g, lane = threadIdx.x & (group - 1);
#pragma unroll 1
  for (unsigned first = 0; first < all; first += SORT_BLOCK >> g) {
    const unsigned at = first + (threadIdx.x >> g);
    unsigned begin = 0, end = 0;
    float less = 0;
    key k = key();
    if (at < all) {
      k = from.keys[at];
@ if LOCAL > 0 then
      begin = starts[bins[at]];
      end = starts[bins[at] + 1];
@ else
      end = all;
@ end
    }
#pragma unroll 4
    for (unsigned i = begin + lane; i < end; i += group) {
@ if told then
      count(less, comes_before(from.keys[i], from.places[i], k, from.places[at]));
@ else
      count(less, before(from.keys[i], k));
@ end
    }
#pragma unroll 1
    for (unsigned d = group / 2; d > 0; d /= 2) less += __shfl_xor_sync(0xffffffff, less, d);
    if (at < all && lane == 0) {
      unsigned n = begin + (unsigned)less;
@ if not told then
      n += atomicAdd(ties + n, 1);
@ end
      put(n, k, from.place(at));
    }
  }
}

// ---- what does not fit -------------------------------------------------------------------------

// All keys of the block's range, from wherever they are to a part of global memory of its own.
__device__ __forceinline__ void gather_range(unsigned n, const key *x, const list &to) {
  const stretch_of_keys own(block_rank(), block_rank() + 1);
  if (threadIdx.x == 0) lower = 0;
  __syncthreads();
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < n; i += SORT_BLOCK) {
    const key k = x[i];
    if (!own.starts_after(k, i) && own.ends_after(k, i)) to.put(atomicAdd(&lower, 1), k, i);
  }
  __syncthreads();
}

// As many as shared memory holds at a time.
__device__ __forceinline__ void sort_runs_of(unsigned count, const list &keys) {
#pragma unroll 1
  for (unsigned first = 0; first < count; first += INBOX) {
    const unsigned some = min(count - first, (unsigned)INBOX);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < some; i += SORT_BLOCK) {
      inbox().put(i, keys.keys[first + i], keys.place(first + i));
    }
    sort_inbox<false>(some, [&](unsigned i, key k, unsigned place) { keys.put(first + i, k, place); });
    __syncthreads();
  }
}

// How many of a run's keys go before one of its neighbour.
__device__ __forceinline__ unsigned rank_in_run(const list &keys, unsigned start, unsigned end,
                                                key k, unsigned number) {
  unsigned least = start, most = end;
  while (least < most) {
    const unsigned i = (least + most) / 2;
    if (comes_before(keys.keys[i], keys.number(i), k, number)) least = i + 1;
    else most = i;
  }
  return least - start;
}

__device__ __forceinline__ void merge_neighbours(unsigned run, unsigned count, const list &from,
                                                 const list &to) {
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < count; i += SORT_BLOCK) {
    const unsigned start = i - i % (2 * run), middle = min(start + run, count);
    const unsigned end = min(middle + run, count), first = i < middle ? middle : start;
    const key k = from.keys[i];
    const unsigned others = rank_in_run(from, first, i < middle ? end : middle, k, from.number(i));
    to.put(i - (i < middle ? 0 : middle - start) + others, k, from.place(i));
  }
  __syncthreads();
}

template <typename Put>
__device__ __noinline__ void sort_in_memory(unsigned n, const key *x, unsigned count, list from,
                                            list to, Put put) {
  gather_range(n, x, from);
  sort_runs_of(count, from);
#pragma unroll 1
  for (unsigned run = INBOX; run < count; run *= 2) {
    merge_neighbours(run, count, from, to);
    const list was = from;
    from = to;
    to = was;
  }
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < count; i += SORT_BLOCK) put(i, from.keys[i], from.place(i));
}

// ---- the launch --------------------------------------------------------------------------------

@ local clustered = CLUSTER > 1 and "__cluster_dims__(CLUSTER, 1, 1) " or ""
extern "C" __global__ void @{clustered}__launch_bounds__(SORT_BLOCK)
sort_samples(long long n_keys, const key *x, const value *xv, key *y, value *yv, key *other,
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
  if (whole) load_share<true>(k, n, x);
  else load_share<false>(k, n, x);
  rank_sample(fetched, n);
  const unsigned count = exchange_keys(k, n, whole), first = base;
  const auto put = [=](unsigned i, key one, unsigned place) {
    y[first + i] = one;
@ if value > 0 then
    yv[first + i] = xv[place];
@ end
  };
  if (count <= INBOX) {
    sort_inbox<true>(count, put);
  } else {
    cluster_wait();
@ if told then
    const list from = {other + first, places + first};
@ else
    const list from = {other + first};
@ end
    sort_in_memory(n, x, count - INBOX, from, from.from(n), put);
  }
}
