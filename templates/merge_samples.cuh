// merge_samples.cuh -- few keys in one launch, in which no cluster of blocks waits for another: each
// reads all keys, and its blocks sort those of their own range. After merge_path.cuh.
//
// A sample, the same in every cluster, is ranked by counting, each block a part of it; some of its keys
// bound the ranges, and every block has one. A block of a cluster reads a share of all keys, picks those
// that belong to the cluster, and stores each into the shared memory of the block in whose range it is.
// How many were in lower ranges was counted on the way, and says where a range goes. A block sorts
// what it was sent in the same way: by a sample of it into bins, and by counting in the bins.
//
// What bounds a range is a key and where it came from. So keys that are all equal, too, are cut into
// ranges of about the same size. Where the sample says too little and a block is sent more than it
// has room for, it takes its range's keys to global memory, and merges there.
//   src  Helman, Bader, JaJa, A randomized parallel sorting algorithm with an experimental study, for
//        ranges by a regular sample; Leischner, Osipov, Sanders, GPU sample sort, for bins that a search
//        finds; that every cluster reads all keys saves the exchange between them

@ local told = value > 0 or NETWORK == "odd_even"  -- keys that tie are told apart by where they came from
@ if CLUSTER > 1 then
@include "cluster.cuh"
__device__ __forceinline__ void sync_cluster() { cluster_barrier(); }
@ else
template <typename T>
__device__ __forceinline__ T *in_block(T *p, unsigned block) {
  return p;
}
__device__ __forceinline__ void sync_cluster() { __syncthreads(); }
@ end
@include "ahead.cuh"

constexpr int WARPS = SORT_BLOCK / 32;
constexpr int RANGES = CLUSTER * CLUSTERS;
constexpr int EACH = SAMPLES / CLUSTER;            // of the sample, that a block ranks
constexpr int WINDOW = SAMPLES / CLUSTERS + 2;     // of the sample, between a cluster's bounds

__device__ __forceinline__ unsigned block_rank() { return blockIdx.x % CLUSTER; }
__device__ __forceinline__ unsigned cluster() { return blockIdx.x / CLUSTER; }

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

  __device__ __forceinline__ bool follow(key k, unsigned number, unsigned at) const {
    return comes_before(k, number, keys[at], numbers[at]);
  }
};

// ---- shared memory -----------------------------------------------------------------------------

extern __shared__ __align__(16) unsigned char shared[];

template <typename T>
__host__ __device__ constexpr int room(int count) {
  return (count * (int)sizeof(T) + 15) / 16 * 16;
}
constexpr int INBOX_AT = room<key>(AREA), SAMPLE_AT = INBOX_AT + room<key>(INBOX);
constexpr int WINDOW_AT = SAMPLE_AT + room<key>(SAMPLES);
constexpr int CHOSEN_AT = WINDOW_AT + room<key>(WINDOW), SORTED_AT = CHOSEN_AT + room<key>(LOCAL);
constexpr int AREA_PLACES = SORTED_AT + room<key>(LOCAL);
constexpr int INBOX_PLACES = AREA_PLACES + room<unsigned>(AREA);
constexpr int WINDOW_PLACES = INBOX_PLACES + room<unsigned>(@{told and "INBOX" or "0"});
constexpr int CHOSEN_NUMBERS = WINDOW_PLACES + room<unsigned>(WINDOW);
constexpr int SORTED_NUMBERS = CHOSEN_NUMBERS + room<unsigned>(LOCAL);
constexpr int STARTS_AT = SORTED_NUMBERS + room<unsigned>(LOCAL);
constexpr int BINS_AT = STARTS_AT + room<unsigned>(LOCAL + 1);
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
__device__ __forceinline__ list inbox() { return list_at(INBOX_AT, INBOX_PLACES); }
__device__ __forceinline__ list binned() { return list_at(0, AREA_PLACES); }  // where picked() was
__device__ __forceinline__ numbered picked() {
  return {shared_at<key>(0), shared_at<unsigned>(AREA_PLACES)};
}
__device__ __forceinline__ numbered window() {
  return {shared_at<key>(WINDOW_AT), shared_at<unsigned>(WINDOW_PLACES)};
}

__shared__ unsigned ranks[EACH > LOCAL ? EACH : LOCAL];  // of samples
__shared__ unsigned sent[CLUSTER];                       // keys, to each block
__shared__ unsigned lower;                               // keys of the share in lower clusters' ranges
__shared__ unsigned received[CLUSTER], preceding[CLUSTER];  // from each block; in lower ranges there

// ---- the sample --------------------------------------------------------------------------------

__device__ __forceinline__ unsigned samples_of(unsigned n) { return min(n, (unsigned)SAMPLES); }

// One of each of so many stretches, anywhere in it: keys may have a period.
__device__ __forceinline__ unsigned sample_place(unsigned j, unsigned n) {
  if (n <= SAMPLES) return j;
  const unsigned first = (unsigned)((unsigned long long)j * n / SAMPLES);
  const unsigned end = (unsigned)((j + 1ull) * n / SAMPLES);
  return first + __umulhi((j + 1) * 2654435761u, end - first);  // Knuth's multiplicative hash
}

// How many of keys[from..end-1] come before keys[own], those that tie in their order there. Threads of a
// warp have neighbouring ones.
__device__ __forceinline__ unsigned count_before(const key *keys, int own, int from, int end) {
  const key x = keys[own];
  const int first = own & ~31, mine = max(from, min(first, end)), others = max(from, min(first + 32, end));
  unsigned n = 0;
#pragma unroll 8
  for (int i = from; i < mine; i++) n += !before(x, keys[i]);
#pragma unroll 4
  for (int i = mine; i < others; i++) n += i < own ? !before(x, keys[i]) : before(keys[i], x);
#pragma unroll 8
  for (int i = others; i < end; i++) n += before(keys[i], x);
  return n;
}

// Where range b starts in the sorted sample.
__device__ __forceinline__ unsigned bound_rank(unsigned b, unsigned samples) {
  return b * samples / RANGES;
}

// Fills the window of all blocks of the cluster, with the samples from one bound to the other.
__device__ __forceinline__ void rank_samples(unsigned n, const key *x) {
  key *const sample = shared_at<key>(SAMPLE_AT);
  const unsigned samples = samples_of(n);
  for (unsigned j = threadIdx.x; j < samples; j += SORT_BLOCK) sample[j] = x[sample_place(j, n)];
  __syncthreads();
  constexpr int PARTS = SORT_BLOCK / EACH, PART = (SAMPLES + PARTS - 1) / PARTS;
  const int own = threadIdx.x % EACH, j = block_rank() * EACH + own, part = threadIdx.x / EACH;
  if (part < PARTS && j < samples) {
    const int from = min(part * PART, (int)samples), end = min(from + PART, (int)samples);
    atomicAdd(ranks + own, count_before(sample, j, from, end));
  }
  __syncthreads();
@ if CLUSTER > 1 then
  cluster_wait();  // nobody stores into a block that has not started
@ end
  const unsigned first = bound_rank(cluster() * CLUSTER, samples);
  const unsigned last = bound_rank((cluster() + 1) * CLUSTER, samples);
  if (part == 0 && j < samples && ranks[own] >= first && ranks[own] <= last) {
    const unsigned at = ranks[own] - first;
#pragma unroll
    for (int b = 0; b < CLUSTER; b++) {
      *in_block(window().keys + at, b) = sample[j];
      *in_block(window().numbers + at, b) = sample_place(j, n);
    }
  }
  sync_cluster();
}

// ---- keys go to the block in whose range they are ----------------------------------------------

// Where range b of the cluster starts in its window.
__device__ __forceinline__ unsigned bound_of(unsigned b, unsigned samples) {
  return bound_rank(cluster() * CLUSTER + b, samples) - bound_rank(cluster() * CLUSTER, samples);
}

// The keys of ranges from one bound of the cluster to another. The first and the last of all ranges
// have no end.
struct stretch_of_keys {
  bool bounded_below, bounded_above;
  key least, most;
  unsigned least_place, most_place;

  __device__ __forceinline__ stretch_of_keys(unsigned from, unsigned to, unsigned samples) {
    bounded_below = cluster() > 0 || from > 0;
    bounded_above = cluster() + 1 < CLUSTERS || to < CLUSTER;
    const unsigned low = bound_of(from, samples), high = bounded_above ? bound_of(to, samples) : low;
    least = window().keys[low];
    most = window().keys[high];
    least_place = window().numbers[low];
    most_place = window().numbers[high];
  }
  __device__ __forceinline__ bool above(key k, unsigned place) const {
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

// What the cluster takes of a warp's keys goes on the warp's list: how many these are.
template <bool WHOLE>
__device__ __forceinline__ unsigned pick(const key (&k)[SORT_ITEMS], unsigned n,
                                         const stretch_of_keys &of_cluster) {
  const int lane = threadIdx.x % 32, first = (threadIdx.x - lane) * SORT_ITEMS;
  unsigned count = 0, less = 0;
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) {
    const unsigned place = nth_key(i);
    const bool there = WHOLE || place < n, above = of_cluster.above(k[i], place);
    const bool mine = there && !above && of_cluster.ends_after(k[i], place);
    const unsigned lanes = __ballot_sync(0xffffffff, mine);
    if (mine) {
      const unsigned at = first + count + __popc(lanes & ((1u << lane) - 1));
      picked().keys[at] = k[i];
      picked().numbers[at] = place;
    }
    count += __popc(lanes);
    less += there && above;
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) less += __shfl_xor_sync(0xffffffff, less, d);
  if (lane == 0 && less > 0) atomicAdd(&lower, less);
  __syncwarp();
  return count;
}

// Sends a warp's list, key by key.
__device__ __forceinline__ void send(unsigned count, unsigned samples) {
  const int lane = threadIdx.x % 32, first = (threadIdx.x - lane) * SORT_ITEMS;
  for (unsigned i = lane; i < count; i += 32) {
    const key k = picked().keys[first + i];
    const unsigned place = picked().numbers[first + i];
    unsigned to = 0;
#pragma unroll
    for (int more = CLUSTER / 2; more > 0; more /= 2) {
      if (!window().follow(k, place, bound_of(to + more, samples))) to += more;
    }
    const unsigned nth = atomicAdd(sent + to, 1);
    if (nth < SEGMENT) {
      const unsigned at = block_rank() * SEGMENT + nth;
      *in_block(inbox().keys + at, to) = k;
@ if told then
      *in_block(inbox().places + at, to) = place;
@ end
    }
  }
}

__device__ __forceinline__ void exchange_keys(const key (&k)[SORT_ITEMS], unsigned n, bool whole) {
  const unsigned samples = samples_of(n);
  const stretch_of_keys of_cluster(0, CLUSTER, samples);
  const unsigned count = whole ? pick<true>(k, n, of_cluster) : pick<false>(k, n, of_cluster);
  send(count, samples);
  __syncthreads();
  if (threadIdx.x < CLUSTER) {
    unsigned less = lower;
    for (unsigned b = 0; b < threadIdx.x; b++) less += sent[b];
    *in_block(received + block_rank(), threadIdx.x) = sent[threadIdx.x];
    *in_block(preceding + block_rank(), threadIdx.x) = less;
  }
  sync_cluster();
}

// ---- a block sorts its inbox -------------------------------------------------------------------

__device__ __forceinline__ unsigned sum_of(const unsigned (&of_blocks)[CLUSTER], unsigned blocks) {
  unsigned sum = 0;
#pragma unroll
  for (int b = 0; b < CLUSTER; b++) sum += b < blocks ? of_blocks[b] : 0;
  return sum;
}

// Warps take 32 places of one block's after those of another's. The thread's i-th, if a key is there.
struct turn {
  unsigned at;     // in the inbox
  bool any, mine;  // is one of the warp's there, is the thread's?
  unsigned block, nth;

  __device__ __forceinline__ turn(int i) {
    const unsigned some = i * WARPS + threadIdx.x / 32;
    block = some % CLUSTER;
    nth = some / CLUSTER * 32 + threadIdx.x % 32;
    at = block * SEGMENT + nth;
    mine = nth < received[block];
    any = some / CLUSTER * 32 < received[block];
  }
};
constexpr int TURNS = (CLUSTER * ((SEGMENT + 31) / 32) + WARPS - 1) / WARPS;

@ if LOCAL > 0 then
// Some keys from what each block has sent, in no order: how many these are.
__device__ __forceinline__ unsigned choose(const numbered &chosen) {
  constexpr unsigned SOME = LOCAL / CLUSTER;
  const unsigned block = threadIdx.x / SOME, nth = threadIdx.x % SOME;
  unsigned first = 0, all = 0;
#pragma unroll
  for (int b = 0; b < CLUSTER; b++) {
    if (b == block) first = all;
    all += min(SOME, received[b]);
  }
  if (block < CLUSTER && nth < received[block]) {
    const unsigned of = received[block], at = block * SEGMENT + (of < SOME ? nth : nth * of / SOME);
    chosen.keys[first + nth] = inbox().keys[at];
    chosen.numbers[first + nth] = inbox().number(at);
  }
  return all;
}

// Puts them in order. Of keys that tie, earlier ones have lesser numbers, if they are not told apart.
__device__ __forceinline__ void sort_chosen(const numbered &chosen, unsigned count,
                                            const numbered &sorted) {
  constexpr int PARTS = SORT_BLOCK / LOCAL;
  const int own = threadIdx.x % LOCAL, part = threadIdx.x / LOCAL;
  const int some = ((int)count + PARTS - 1) / PARTS;
  if (part < PARTS && own < count) {
    const int from = min(part * some, (int)count), end = min(from + some, (int)count);
@   if told then
    const key x = chosen.keys[own];
    const unsigned place = chosen.numbers[own];
    unsigned n = 0;
#pragma unroll 4
    for (int i = from; i < end; i++) n += comes_before(chosen.keys[i], chosen.numbers[i], x, place);
@   else
    const unsigned n = count_before(chosen.keys, own, from, end);
@   end
    atomicAdd(ranks + own, n);
  }
  __syncthreads();
  if (threadIdx.x < count) {
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
__device__ __forceinline__ void bin_keys(unsigned *starts, unsigned short *bins) {
  const numbered chosen = {shared_at<key>(CHOSEN_AT), shared_at<unsigned>(CHOSEN_NUMBERS)};
  const numbered sorted = {shared_at<key>(SORTED_AT), shared_at<unsigned>(SORTED_NUMBERS)};
  if (threadIdx.x < LOCAL) starts[threadIdx.x] = ranks[threadIdx.x] = 0;
  const unsigned count = choose(chosen);
  __syncthreads();
  sort_chosen(chosen, count, sorted);
  unsigned bin[TURNS], nth[TURNS];
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const turn t(i);
    bin[i] = 0;
    if (t.mine) {
#pragma unroll
      for (int more = LOCAL / 2; more > 0; more /= 2) {
        const unsigned next = bin[i] + more;
        if (next < count && !sorted.follow(inbox().keys[t.at], inbox().number(t.at), next)) bin[i] = next;
      }
      nth[i] = atomicAdd(starts + bin[i], 1);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) sum_bins(starts);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const turn t(i);
    if (t.mine) {
      const unsigned to = starts[bin[i]] + nth[i];
      binned().put(to, inbox().keys[t.at], inbox().place(t.at));
      bins[to] = bin[i];
    }
  }
}

@ else
// From the inbox to a single bin.
__device__ __forceinline__ void bin_keys(unsigned *starts, unsigned short *bins) {
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const turn t(i);
    const unsigned to = sum_of(received, t.block) + t.nth;
    if (t.mine) binned().put(to, inbox().keys[t.at], inbox().place(t.at));
  }
}

@ end
// Sorts what is in the inbox: put(i, k, place) gets the i-th key. All threads come here.
template <typename Put>
__device__ __forceinline__ void sort_inbox(Put put) {
  unsigned *const starts = shared_at<unsigned>(STARTS_AT);
  unsigned short *const bins = shared_at<unsigned short>(BINS_AT);
  const unsigned all = sum_of(received, CLUSTER);
  bin_keys(starts, bins);
  __syncthreads();
  unsigned group = 1;  // threads that count for a key
  while (group < 32 && 2 * group * all <= SORT_BLOCK) group *= 2;
  const unsigned lane = threadIdx.x & (group - 1);
  for (unsigned first = 0; first < all; first += SORT_BLOCK / group) {
    const unsigned at = first + threadIdx.x / group;
    unsigned begin = 0, end = 0, n = 0;
    key k = key();
    if (at < all) {
      k = binned().keys[at];
@ if LOCAL > 0 then
      begin = starts[bins[at]];
      end = starts[bins[at] + 1];
@ else
      end = all;
@ end
    }
#pragma unroll 4
    for (unsigned i = begin + lane; i < end; i += group) {
      n += comes_before(binned().keys[i], binned().number(i), k, binned().number(at));
    }
    for (unsigned d = group / 2; d > 0; d /= 2) n += __shfl_xor_sync(0xffffffff, n, d);
    if (at < all && lane == 0) put(begin + n, k, binned().place(at));
  }
}

// ---- what does not fit -------------------------------------------------------------------------

// All keys of the block's range, from wherever they are to a part of global memory of its own.
__device__ __forceinline__ void gather_range(unsigned n, const key *x, const list &to) {
  const stretch_of_keys own(block_rank(), block_rank() + 1, samples_of(n));
  if (threadIdx.x == 0) lower = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += SORT_BLOCK) {
    const key k = x[i];
    if (!own.above(k, i) && own.ends_after(k, i)) to.put(atomicAdd(&lower, 1), k, i);
  }
  __syncthreads();
}

// As many as shared memory holds at a time.
__device__ __forceinline__ void sort_runs_of(unsigned count, const list &keys) {
  for (unsigned first = 0; first < count; first += INBOX) {
    const int some = min(count - first, (unsigned)INBOX);
    if (threadIdx.x < CLUSTER) {
      received[threadIdx.x] = max(0, min(some - (int)threadIdx.x * SEGMENT, SEGMENT));
    }
    for (int i = threadIdx.x; i < some; i += SORT_BLOCK) {
      inbox().put(i, keys.keys[first + i], keys.place(first + i));
    }
    __syncthreads();
    sort_inbox([&](unsigned i, key k, unsigned place) { keys.put(first + i, k, place); });
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
  for (unsigned run = INBOX; run < count; run *= 2) {
    merge_neighbours(run, count, from, to);
    const list was = from;
    from = to;
    to = was;
  }
  for (unsigned i = threadIdx.x; i < count; i += SORT_BLOCK) put(i, from.keys[i], from.place(i));
}

// ---- the launch --------------------------------------------------------------------------------

extern "C" __global__ void @{CLUSTER > 1 and "__cluster_dims__(CLUSTER, 1, 1) " or ""}__launch_bounds__(SORT_BLOCK)
sort_samples(long long n_keys, const key *x, const value *xv, key *y, value *yv, key *other,
             unsigned *places) {
  const unsigned n = (unsigned)n_keys;
  key k[SORT_ITEMS];
  for (int i = threadIdx.x; i < EACH; i += SORT_BLOCK) ranks[i] = 0;
  if (threadIdx.x < CLUSTER) sent[threadIdx.x] = 0;
  if (threadIdx.x == 0) lower = 0;
@ if CLUSTER > 1 then
  cluster_arrive_relaxed();
@ end
  x += wait_for_ahead();
  const bool whole = n == CLUSTER * RUN;
  if (whole) load_share<true>(k, n, x);
  else load_share<false>(k, n, x);
  rank_samples(n, x);
  exchange_keys(k, n, whole);
  const unsigned base = sum_of(preceding, CLUSTER), count = sum_of(received, CLUSTER);
  bool fits = true;
#pragma unroll
  for (int b = 0; b < CLUSTER; b++) fits = fits && received[b] <= SEGMENT;
  const auto put = [=](unsigned i, key one, unsigned place) {
    y[base + i] = one;
@ if value > 0 then
    yv[base + i] = xv[place];
@ end
  };
  if (fits) {
    sort_inbox(put);
  } else {
@ if told then
    const list from = {other + base, places + base};
@ else
    const list from = {other + base};
@ end
    sort_in_memory(n, x, count, from, from.from(n), put);
  }
}
