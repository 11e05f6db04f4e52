// radix_tile.cuh -- what a radix sort does with a tile: keys become words and back, a block's threads
// load them, and a warp's lanes learn the ranks of their keys' digits.
//
// The template has the fields dtype and order, the parameters BLOCK, ITEMS, RANK, COUNTER, PACK, EQUALS,
// what they make: KEY, VALUE, WIDE, FIRST_BIT, BITS, PASSES, DIGIT, BINS, ROW, WARPS, TILE,
// BINS_THREAD; and says whether tiles read each other's counts: `chained`, and whether the highest digit
// is a whole one and the lowest has what bits are left: `from_top`.

@ local unsigned = { "unsigned char", "unsigned short", nil, "unsigned", nil, nil, nil,
@   "unsigned long long" }
@ local float = dtype == "f16" or dtype == "bf16" or dtype == "f32" or dtype == "f64"
@ local plain = dtype:sub(1, 1) == "u" and order == "ascending" -- keys are compared as they are
using key = @{unsigned[KEY]};
using value = @{unsigned[VALUE] or "unsigned"};
using position = @{unsigned[4 + 4 * WIDE]};  // a position among all keys
using counter = @{unsigned[COUNTER // 8]};

// ---- keys --------------------------------------------------------------------------------------

constexpr key SIGN = (key)((key)1 << (8 * KEY - 1));

// Words whose unsigned order is the wanted one; and back.
__device__ __forceinline__ key encode(key k) {
@ if float then
  k = (key)(k & SIGN ? ~k : k ^ SIGN);
@ elseif dtype:sub(1, 1) == "i" then
  k = (key)(k ^ SIGN);
@ end
  return @{order == "descending" and "(key)~k" or "k"};
}
__device__ __forceinline__ key decode(key k) {
@ if order == "descending" then
  k = (key)~k;
@ end
@ if float then
  return (key)(k & SIGN ? k ^ SIGN : ~k);
@ elseif dtype:sub(1, 1) == "i" then
  return (key)(k ^ SIGN);
@ else
  return k;
@ end
}

// The digit of a pass.
struct place {
  int shift;
  unsigned mask;

  __device__ __forceinline__ unsigned of(key k) const {
@ if float then
    constexpr key MINUS = (key)@{order == "ascending" and "(SIGN - 1)" or "SIGN"};  // -0
    if (k == MINUS) k = (key)~MINUS;                                          // counts as +0
@ end
    return (unsigned)(k >> shift) & mask;
  }
};
// The same, but not to the compiler: it takes digits anew, where it would keep them in registers.
__device__ __forceinline__ place again(place p) {
  asm volatile("" : "+r"(p.shift), "+r"(p.mask));
  return p;
}
__device__ __forceinline__ place place_of(int pass) {
@ if from_top then
  const int end = BITS - (PASSES - 1 - pass) * DIGIT, begin = max(end - DIGIT, 0);
  return {FIRST_BIT + begin, (1u << max(end - begin, 0)) - 1};
@ else
  const int bits = min(DIGIT, BITS - pass * DIGIT);
  return {FIRST_BIT + pass * DIGIT, (1u << max(bits, 0)) - 1};
@ end
}

// ---- scans -------------------------------------------------------------------------------------

template <typename T>
__device__ __forceinline__ T scan_lanes(T v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T left = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += left;
  }
  return v;
}

// The exclusive scan of ROWS * 32 numbers, of which a thread has every BLOCK-th; and their sum. A
// barrier has to separate two calls.
template <int ROWS, int OWN, typename T>
__device__ __forceinline__ T scan_rows(T (&v)[OWN]) {
  __shared__ T rows[ROWS + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int j = 0; j < OWN; j++) {
    const T sum = scan_lanes(v[j]);
    if (lane == 31 && j * WARPS + warp < ROWS) rows[j * WARPS + warp] = sum;
    v[j] = sum - v[j];
  }
  __syncthreads();
  if (warp == 0) {
    T before = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r += 32) {
      const T own = r + lane < ROWS ? rows[r + lane] : 0, sum = scan_lanes(own);
      __syncwarp();
      if (r + lane < ROWS) rows[r + lane] = before + sum - own;
      before += __shfl_sync(0xffffffff, sum, 31);
    }
    if (lane == 0) rows[ROWS] = before;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < OWN; j++) {
    if (j * WARPS + warp < ROWS) v[j] += rows[j * WARPS + warp];
  }
  return rows[ROWS];
}

extern __shared__ __align__(16) unsigned char shared[];

// ---- ranks -------------------------------------------------------------------------------------

// The ranks of a thread's keys, PACK to a register.
struct ranks {
  unsigned packed[(ITEMS + PACK - 1) / PACK];

  __device__ __forceinline__ void set(int i, unsigned rank) {
    if (i % PACK == 0) packed[i / PACK] = rank;
    else packed[i / PACK] |= rank << 16;
  }
  __device__ __forceinline__ void add(int i, unsigned n) { packed[i / PACK] += n << i % PACK * 16; }
  __device__ __forceinline__ unsigned at(int i) const {
    return PACK == 1 ? packed[i] : packed[i / PACK] >> i % PACK * 16 & 0xffff;
  }
};

// The lanes whose digit is the same.
__device__ __forceinline__ unsigned match(unsigned digit, unsigned *masks) {
@ if RANK == "ballot" or RANK == "ballot_mad" then
@   local minus = RANK == "ballot" and "" or ", minus"
  const int minus = lanemask_gt() | lanemask_le();
  unsigned same = vote_same(digit, 1@{minus});
#pragma unroll
  for (int b = 1; b + 1 < DIGIT; b += 2) {
    same = and3(same, vote_same(digit, 1u << b@{minus}), vote_same(digit, 2u << b@{minus}));
  }
  return DIGIT % 2 ? same : same & vote_same(digit, 1u << (DIGIT - 1)@{minus});
@ elseif RANK == "match" then
  return __match_any_sync(0xffffffff, digit);
@ else
  atomicOr(masks + digit, 1u << threadIdx.x % 32);
  __syncwarp();
  const unsigned same = masks[digit];
  __syncwarp();
  if ((same & lanemask_gt()) == 0) masks[digit] = 0;
  __syncwarp();
  return same;
@ end
}

__device__ __forceinline__ counter *counters_of(int warp) {
  return reinterpret_cast<counter *>(shared) + warp * ROW;
}

// A warp's own, with its masks.
__device__ __forceinline__ void clear_counters() {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  constexpr int UNITS = ROW * COUNTER / 128;
  uint4 *row = reinterpret_cast<uint4 *>(counters_of(warp));
#pragma unroll
  for (int u = 0; u < UNITS; u += 32) {
    if (u + lane < UNITS) row[u + lane] = make_uint4(0, 0, 0, 0);
  }
@ if RANK == "or" then
  unsigned *masks = reinterpret_cast<unsigned *>(counters_of(WARPS)) + warp * ROW;
#pragma unroll
  for (int u = 0; u < ROW; u += 32) {
    if (u + lane < ROW) masks[u + lane] = 0;
  }
@ end
  __syncwarp();
}

// Adds to each key's digit's counter in the order of the warp's keys; a key's rank is what the counter
// has then: the first key's is 1. `each` takes the number of the key and its rank.
template <typename F>
__device__ __forceinline__ void rank_keys(const key (&k)[ITEMS], place p, F each) {
  const int warp = threadIdx.x / 32;
  counter *mine = counters_of(warp);
  unsigned *masks = reinterpret_cast<unsigned *>(counters_of(WARPS)) + warp * ROW;
  const unsigned upto = lanemask_le(), after = lanemask_gt();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned digit = p.of(k[i]), same = match(digit, masks);
    counter *c = mine + digit;
    const unsigned r = *c + __popc(same & upto);
    __syncwarp();
    if ((same & after) == 0) *c = (counter)r;
    __syncwarp();
    each(i, r);
  }
}

@ if chained then
// In the first pass, where nobody can tell, equal digits may come in any order.
template <typename F>
__device__ __forceinline__ void rank_in(bool first, const key (&k)[ITEMS], place p, F each) {
@   if EQUALS == "any" then
  if (first) {
    unsigned *mine = counters_of(threadIdx.x / 32);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) each(i, atomicAdd(mine + p.of(k[i]), 1) + 1);
    return;
  }
@   end
  rank_keys(k, p, each);
}

@ end
// What the warps have of this thread's bins.
__device__ __forceinline__ void sum_counters(unsigned (&count)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    count[j] = 0;
    if (bin < BINS) {
#pragma unroll 8
      for (int w = 0; w < WARPS; w++) count[j] += counters_of(w)[bin];
    }
  }
}

constexpr int BIN_ROWS = BINS < 32 ? 1 : BINS / 32;

// Counters become where the warps' keys of a digit go; start: where all of this thread's bins do.
__device__ __forceinline__ void spread_counters(const unsigned (&start)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    unsigned at = start[j];
    if (bin < BINS) {
#pragma unroll 8
      for (int w = 0; w < WARPS; w++) {
        counter *c = counters_of(w) + bin;
        const unsigned own = *c;
        *c = (counter)at;
        at += own;
      }
    }
  }
}

// Counters become where in the tile the warps' keys begin; start: where those of this thread's bins.
__device__ __forceinline__ void scan_counters(unsigned (&start)[BINS_THREAD]) {
  scan_rows<BIN_ROWS>(start);
  spread_counters(start);
}

// Ranks within the warp become ranks within the tile.
__device__ __forceinline__ void add_starts(const key (&k)[ITEMS], ranks &rank,
                                           place p) {
  const counter *mine = counters_of(threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) rank.add(i, mine[p.of(k[i])]);
}

// ---- a tile between memory and registers -------------------------------------------------------

// This thread's i-th key of the tile: a warp's keys lie together, so that loads do.
__device__ __forceinline__ int item(int i) {
  return threadIdx.x / 32 * (32 * ITEMS) + i * 32 + threadIdx.x % 32;
}

// Beyond the `room` keys that exist, keys that come last.
template <bool WHOLE>
__device__ __forceinline__ void load_keys(key (&k)[ITEMS], const key *from, int room, bool first) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    k[i] = WHOLE || item(i) < room ? load_@{LOAD}(from + item(i)) : (key)~(key)0;
  }
@ if not plain then
  if (first) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      if (WHOLE || item(i) < room) k[i] = encode(k[i]);
    }
  }
@ end
}

template <bool WHOLE>
__device__ __forceinline__ void load_values(value (&v)[ITEMS], const value *from, int room) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    v[i] = WHOLE || item(i) < room ? load_@{LOAD}(from + item(i)) : 0;
  }
}

__device__ __forceinline__ void get_keys(key (&k)[ITEMS], const key *from, long long room,
                                         bool first) {
  if (room >= TILE) {
    load_keys<true>(k, from, TILE, first);
  } else {
    load_keys<false>(k, from, (int)room, first);
  }
}

__device__ __forceinline__ void get_values(value (&v)[ITEMS], const value *from, long long room) {
  if (room >= TILE) {
    load_values<true>(v, from, TILE);
  } else {
    load_values<false>(v, from, (int)room);
  }
}

