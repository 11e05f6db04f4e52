// merge_tile.cuh -- a block's tile of a merged sequence: two or four pieces come from global memory,
// are merged in shared memory, and the tile goes back.
//
// The template says in Lua how keys are loaded (load_keys, of words.cuh) and how many pieces there
// are (ways), and has the parameters and derived values BLOCK, ITEMS, VEC, UNITS, ROW, LOADER, STORE
// and CACHE; for four pieces also TILE and SOURCES, the byte of shared memory from where on it is
// noted where keys came from.

struct alignas(VEC * sizeof(key)) vector {
  key e[VEC];
};

// Of n sorted keys, aligned to VEC: `count` from the one numbered `first`.
struct piece {
  const key *keys;
  long long n, first;
  int count;
};

// All threads that merge; a warp that brings tiles is none of them.
__device__ __forceinline__ void sync_merging() {
@ if STAGES > 1 then
  sync_first<BLOCK>();
@ else
  __syncthreads();
@ end
}

// The keys of a among `count` of the merged sequence, if a's part is that from..to. What is not sorted
// may have its parts in any order, but nobody leaves the sequences.
__device__ __forceinline__ int keys_of_a(long long from, long long to, int count) {
  return (int)max(0ll, min(to - from, (long long)count));
}

// ---- from global to shared memory --------------------------------------------------------------

// Where in shared memory pieces start, their keys, and the last place of all.
template <int N>
struct loaded {
  int at[N], count[N], last;
};

// N pieces as whole vectors, one piece behind the other.
template <int N>
struct windows {
  const key *keys[N];  // where the vectors would start if they all were of this piece
  long long end[N];    // keys that exist, counted as the vectors are
  int units[N];        // vectors of this piece and those before it
  int at[N];           // where in shared memory the piece starts

  __device__ __forceinline__ windows(const piece (&p)[N]) {
    int before_it = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int head = (int)(p[i].first % VEC);
      at[i] = before_it * VEC + head;
      keys[i] = p[i].keys + (p[i].first - at[i]);
      end[i] = p[i].n - (p[i].first - at[i]);
      units[i] = before_it = before_it + (head + p[i].count + VEC - 1) / VEC;
    }
  }

  __device__ __forceinline__ int all() const { return units[N - 1]; }
  __device__ __forceinline__ loaded<N> where(const piece (&p)[N]) const {
    loaded<N> l;
#pragma unroll
    for (int i = 0; i < N; i++) l.at[i] = at[i], l.count[i] = p[i].count;
    l.last = all() * VEC - 1;
    return l;
  }
  __device__ __forceinline__ bool whole() const {
    bool yes = true;
#pragma unroll
    for (int i = 0; i < N; i++) yes = yes && units[i] * VEC <= end[i];
    return yes;
  }
  __device__ __forceinline__ const key *from(int u) const {
    const key *start = keys[0];
#pragma unroll
    for (int i = 1; i < N; i++) start = u < units[i - 1] ? start : keys[i];
    return start + u * VEC;
  }
  __device__ __forceinline__ int room(int u) const {
    long long most = end[0];
#pragma unroll
    for (int i = 1; i < N; i++) most = u < units[i - 1] ? most : end[i];
    return (int)min(most - u * VEC, (long long)VEC);
  }
};

template <bool WHOLE, int N>
__device__ __forceinline__ vector load_vector(const windows<N> &w, int u) {
  vector v;
  if (WHOLE || w.room(u) == VEC) return @{load_keys}(reinterpret_cast<const vector *>(w.from(u)));
#pragma unroll
  for (int e = 0; e < VEC; e++) v.e[e] = e < w.room(u) ? w.from(u)[e] : key();
  return v;
}

@ if LOADER == "bulk" then
// One thread says what is to be copied, and all wait; once in a launch.
template <int N>
__device__ __forceinline__ void load_bulk(vector *to, const windows<N> &w) {
  __shared__ unsigned long long there;
  const unsigned barrier = shared_address(&there);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_proxy_async();
    mbarrier_arrive_expect(barrier, w.all() * (int)sizeof(vector));
#pragma unroll
    for (int i = 0; i < N; i++) {
      const int before_it = i > 0 ? w.units[i > 0 ? i - 1 : 0] : 0, count = w.units[i] - before_it;
      if (count > 0) {
        bulk_load(shared_address(to + before_it), w.keys[i] + before_it * VEC,
                  count * (int)sizeof(vector), barrier);
      }
    }
  }
  __syncthreads();
  mbarrier_wait(barrier, 0);
}

@ end
template <bool WHOLE, int N>
__device__ __forceinline__ void load_windows(vector *to, const windows<N> &w) {
  constexpr int STEPS = UNITS + (VEC > 1);  // for what lies around the pieces in their vectors
@ if LOADER == "bulk" then
  if constexpr (WHOLE) {
    load_bulk(to, w);
    return;
  }
@ end
@ if LOADER == "cpasync" then
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.all() && (WHOLE || w.room(u) == VEC)) {
      cp_async<sizeof(vector)>(shared_address(to + u), w.from(u), sizeof(vector));
    } else if (u < w.all()) {
      store_plain(to + u, load_vector<false>(w, u));
    }
  }
  cp_async_commit();
  cp_async_wait<0>();
@ else
  vector v[STEPS];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.all()) v[k] = load_vector<WHOLE>(w, u);
  }
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u < w.all()) store_plain(to + u, v[k]);
  }
@ end
}

template <int N>
__device__ __forceinline__ void load_pieces(key *shared, const windows<N> &w) {
  vector *vectors = reinterpret_cast<vector *>(shared);
  if (w.whole()) {
    load_windows<true>(vectors, w);
  } else {
    load_windows<false>(vectors, w);
  }
  __syncthreads();
}

// ---- in shared memory --------------------------------------------------------------------------

@ if MERGE == "network" then
using tile_window = window<ITEMS>;

struct tile_keys {  // as they came
  const key *keys;

  template <int GROUP>
  static __device__ constexpr bool straight() {
    return @{value == 0 and "true" or "false"};
  }
  __device__ __forceinline__ item operator()(int at, int shift) const {
    return make_item(keys[at], at + shift);
  }
  __device__ __forceinline__ key operator[](int at) const { return keys[at]; }
@   if value == 0 then
  __device__ __forceinline__ const item *address(int at) const { return keys + at; }
  static __device__ constexpr int step(int places) { return places; }
@   end
};

@ end
// This thread's ITEMS keys of the pieces that lie there, merged, and where they came from: counted
// from the start of the first piece, and on into those that follow.
@ if MERGE == "network" and ways == 2 then
__device__ __forceinline__ void merge_loaded(unsigned char *memory, const loaded<2> &w,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  key *shared = reinterpret_cast<key *>(memory);
  const int na = w.count[0], nb = w.count[1];
  const int d = min(tile_window::start(), na + nb);
  const int end = min(d + tile_window::WINDOW, na + nb);
  const pair_of_ranks i =
      co_ranks<tile_window::GROUP>(d, end, shared + w.at[0], na, shared + w.at[1], nb);
  const stretches both =
      stretches_between(i, d, end, w.at[0], w.at[1], -w.at[0], na - w.at[1]);
  const tile_window here = {end - d};
  item found[ITEMS];
  here.merge<sync_merging, false>(found, both, stretches(), tile_keys{shared},
             spread<item, ITEMS>{reinterpret_cast<item *>(memory)});
#pragma unroll
  for (int k = 0; k < ITEMS; k++) v[k] = key_of(found[k]), source[k] = source_of(found[k]);
}
@ elseif MERGE == "network" then
// The first two pieces become one and the last two become one, in shared memory, and these two are
// merged like any others. A window may end the one and start the other.
__device__ __forceinline__ void merge_loaded(unsigned char *memory, const loaded<4> &w,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  constexpr int GROUP = tile_window::GROUP;
  key *shared = reinterpret_cast<key *>(memory);
  const spread<item, ITEMS> rows = {reinterpret_cast<item *>(memory)};
  const int left = w.count[0] + w.count[1], all = left + w.count[2] + w.count[3];
  const int d = min(tile_window::start(), all);
  const int end = min(d + tile_window::WINDOW, all);
  item found[ITEMS];
  const int point = threadIdx.x % GROUP < GROUP / 2 ? d : end;
  const bool in_left = point < left;
  const int i = co_rank_group<GROUP / 2>(
      in_left ? point : point - left, shared + (in_left ? w.at[0] : w.at[2]),
      in_left ? w.count[0] : w.count[2], shared + (in_left ? w.at[1] : w.at[3]),
      in_left ? w.count[1] : w.count[3]);
  const int first_i = __shfl_sync(0xffffffff, i, 0, GROUP);
  const int end_i = __shfl_sync(0xffffffff, i, GROUP / 2, GROUP);
  const pair_of_ranks in_first = {d < left ? first_i : w.count[0], end < left ? end_i : w.count[0]};
  const pair_of_ranks in_last = {d < left ? 0 : first_i, end < left ? 0 : end_i};
  const int first_d = min(d, left), first_end = min(end, left);
  const int last_d = max(d - left, 0), last_end = max(end - left, 0);
  stretches low = stretches_between(in_first, first_d, first_end, w.at[0], w.at[1], -w.at[0],
                                    w.count[0] - w.at[1]);
  const stretches high = stretches_between(in_last, last_d, last_end, w.at[2], w.at[3],
                                     left - w.at[2], left + w.count[2] - w.at[3]);
  if (d >= left) low = high;  // the right alone
  const tile_window here = {d >= left ? last_end - last_d : first_end - first_d};
  here.merge<sync_merging, true>(found, low, high, tile_keys{shared}, rows);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) rows.own(k) = found[k];
  sync_merging();
  const pair_of_ranks j = co_ranks<GROUP>(d, end, sequence_of<spread<item, ITEMS>>{rows, 0}, left,
                                          sequence_of<spread<item, ITEMS>>{rows, left}, all - left);
  const stretches both = stretches_between(j, d, end, 0, left);
  const tile_window again = {end - d};
  again.merge<sync_merging, false>(found, both, stretches(), item_rows<ITEMS>{rows}, rows);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) v[k] = key_of(found[k]), source[k] = source_of(found[k]);
}
@ else
__device__ __forceinline__ void merge_loaded(unsigned char *memory, const loaded<2> &w,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  key *shared = reinterpret_cast<key *>(memory);
  const int d = min((int)threadIdx.x * ITEMS, w.count[0] + w.count[1]);
  const int i = co_rank(d, shared + w.at[0], w.count[0], shared + w.at[1], w.count[1]);
  merger<key, const key *> from(shared, w.at[0] + i, w.at[0] + w.count[0], w.at[1] + d - i,
                                w.at[1] + w.count[1], w.last);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    v[k] = from.next(&source[k]);
    source[k] -= source[k] < w.at[1] ? w.at[0] : w.at[1] - w.count[0];
  }
}

@   if ways == 4 then
// The first two pieces become one and the last two become one, in shared memory, and these two are
// merged like any others.
__device__ __forceinline__ void merge_loaded(unsigned char *memory, const loaded<4> &w,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  key *shared = reinterpret_cast<key *>(memory);
  const int left = w.count[0] + w.count[1], all = left + w.count[2] + w.count[3];
  const int place = min((int)threadIdx.x * ITEMS, all);
  const bool in_left = place < left;
  const int a_at = in_left ? w.at[0] : w.at[2];
  const int b_at = in_left ? w.at[1] : w.at[3];
  const int na = in_left ? w.count[0] : w.count[2], nb = in_left ? w.count[1] : w.count[3];
  const int d = in_left ? place : place - left;
  const int i = co_rank(d, shared + a_at, na, shared + b_at, nb);
  merger<key, const key *> from(shared, a_at + i, a_at + na, b_at + d - i, b_at + nb,
                                w.last);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    if (place + k == left && place < left) {  // the thread's keys are of both pairs
      from.start(w.at[2], w.at[2] + w.count[2], w.at[3], w.at[3] + w.count[3]);
    }
    v[k] = from.next(&source[k]);
  }
  sync_merging();
  const spread<key, ITEMS> halves = {shared};
#pragma unroll
  for (int k = 0; k < ITEMS; k++) halves.own(k) = v[k];
@     if value > 0 then
  const spread<int, ITEMS> sources = {reinterpret_cast<int *>(memory + SOURCES)};
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    int gap = w.at[0], gone = 0;  // of the piece that the key came from: what lies before it, and keys
#pragma unroll
    for (int q = 1; q < 4; q++) {
      gone += source[k] < w.at[q] ? 0 : w.count[q - 1];
      gap = source[k] < w.at[q] ? gap : w.at[q];
    }
    sources.own(k) = source[k] - gap + gone;
  }
@     end
  sync_merging();
  const int j = co_rank(place, sequence_of<spread<key, ITEMS>>{halves, 0}, left,
                        sequence_of<spread<key, ITEMS>>{halves, left}, all - left);
  merger<key, spread<key, ITEMS>> both(halves, j, left, left + place - j, all, TILE - 1);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    v[k] = both.next(&source[k]);
@     if value > 0 then
    source[k] = sources[min(source[k], TILE - 1)];
@     end
  }
}

@   end
@ end
// The same of pieces that have still to be loaded.
__device__ __forceinline__ void merge_pieces(unsigned char *memory, const piece (&p)[@{ways}],
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  const windows<@{ways}> w(p);
  load_pieces(reinterpret_cast<key *>(memory), w);
  merge_loaded(memory, w.where(p), v, source);
}

// ---- from registers to global memory -----------------------------------------------------------

// The tile's vector that this thread stores k-th.
__device__ __forceinline__ int unit(int k) {
@ if STORE == "direct" then
  return threadIdx.x * UNITS + k;
@ elseif STORE == "block" then
  return k * BLOCK + threadIdx.x;
@ else
  const int lane = threadIdx.x % 32;
  return (threadIdx.x - lane) * UNITS + k * 32 + lane;
@ end
}

// Each thread's ITEMS neighbouring keys, the first `count` of the tile. The memory is all threads',
// who have to be done with it.
__device__ __forceinline__ void store_tile(const key (&v)[ITEMS], key *to, int count,
                                           unsigned char *memory) {
  vector out[UNITS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++) out[k / VEC].e[k % VEC] = v[k];
@ if STORE ~= "direct" then
  vector *rows = reinterpret_cast<vector *>(memory);
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_plain(rows + threadIdx.x * ROW + k, out[k]);
  @{STORE == "block" and "sync_merging" or "__syncwarp"}();
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    out[k] = load_plain(rows + unit(k) / UNITS * ROW + unit(k) % UNITS);
  }
@ end
  if (count == TILE) {
#pragma unroll
    for (int k = 0; k < UNITS; k++) {
      store_@{CACHE}(reinterpret_cast<vector *>(to) + unit(k), out[k]);
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const int u = unit(k);
    if ((u + 1) * VEC <= count) {
      store_@{CACHE}(reinterpret_cast<vector *>(to) + u, out[k]);
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (u * VEC + e < count) to[u * VEC + e] = out[k].e[e];
      }
    }
  }
}

@ if value > 0 then
// Lets take(place, source) fetch the value of each place of the tile: neighbouring threads fetch
// neighbouring ones.
template <typename Take>
__device__ __forceinline__ void take_values(const int (&source)[ITEMS], int count,
                                            unsigned char *memory, const Take &take) {
@   if STORE == "direct" then
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int place = threadIdx.x * ITEMS + k;
    if (place < count) take(place, source[k]);
  }
@   else
  constexpr int WIDTH = ITEMS + 1 - ITEMS % 2;  // odd, for the banks
  int *rows = reinterpret_cast<int *>(memory);
  sync_merging();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) rows[threadIdx.x * WIDTH + k] = source[k];
  sync_merging();
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int place = k * BLOCK + threadIdx.x;
    if (place < count) take(place, rows[place / ITEMS * WIDTH + place % ITEMS]);
  }
@   end
}

@ end
