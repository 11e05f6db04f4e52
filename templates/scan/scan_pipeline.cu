// scan_pipeline.cu -- a scan in one launch by blocks that each process several tiles.
//
// BLOCK threads compute. Of two more warps one, the carrier, copies tiles to slots in shared memory ahead of them
// and results back, and the other, the gatherer, sums up the totals of the tiles before each. Blocks take
// tiles in order, whenever one of their slots is free: a tile waits only for earlier tiles, which running blocks have
// taken.
//
// All blocks wait for the slowest. To give it time, a tile's total is published LAG tiles before the tile is
// finished, which should be longer than a copy may take; and a block has at most LOADS copies in flight, because
// a copy takes longer the more of them there are. On an H200 2^28 numbers of f32 took 1.4 ms with
// LAG 2, 535 us with LAG 3, and 517 us with LAG 6 and 60 KB in flight per multiprocessor.
//
// Where x does not begin with a whole vector (ANYWHERE) tiles begin as if there were some numbers in front of it,
// so that all but the first and the last tile are whole vectors. If y is aligned otherwise than x, threads
// store the results; else these are copied, too.
#include "bulk.cuh"
#include "pdl.cuh"
#include "ptx90.cuh"
#include "scan_states.cuh"
#include "words.cuh"

constexpr int WARPS = BLOCK / 32;
constexpr int UNKNOWN = 0x7fffffff;
constexpr int AHEAD = LAG + LOADS;
static_assert(SLOTS == AHEAD + 2, "one tile is being finished, one is on its way back");

struct slot {
  unsigned long long full, carried, done;  // barriers: loaded, what is before it is known, computed
  long long tile;
  wide before;  // of all tiles before this one
};

__shared__ slot slots[SLOTS];
__shared__ wide warp_totals[2][WARPS];
extern __shared__ __align__(128) unsigned char shared[];

__device__ __forceinline__ stored *tile_of(int k) {
  return reinterpret_cast<stored *>(shared) + k % SLOTS * TILE;
}

__device__ __forceinline__ void wait_for(const unsigned long long &barrier, int k) {
  mbarrier_wait(shared_address(&barrier), k / SLOTS & 1);
}

// The numbers, and where they begin: x and y point to a whole vector of x, `front` numbers ahead of them.
struct numbers {
  long long n;  // with those in front
  const stored *x;
  stored *y;
  int front;
  bool alike;  // y begins a vector where x does

  __device__ __forceinline__ numbers(long long n, const stored *x, stored *y)
      : n(n), x(x), y(y), front(0), alike(true) {
    if (!ANYWHERE) return;
    front = behind(x);
    alike = behind(y) == front;
    this->n += front;
    this->x -= front;
    this->y -= front;
  }

  // Elements between the vector boundary before p and p.
  __device__ static int behind(const stored *p) {
    return (int)((unsigned long long)p / NARROW % VEC);
  }

  // Of a tile: the first that exists, the end, and whether that is all.
  __device__ int first(long long tile) const { return tile == 0 ? front : 0; }
  __device__ int end(long long tile) const { return (int)min((long long)TILE, n - tile * TILE); }
  __device__ bool is_whole(long long tile) const { return first(tile) == 0 && end(tile) == TILE; }
};

// ---- the carrier -------------------------------------------------------------------------------

struct carrier {
  numbers all;
  long long tiles;
  unsigned long long *counter;
  unsigned long long taken;  // the launch, and the next tile of this block
  bool ended = false;        // there is no next tile, and a slot says so

  // The block that takes the last number sets the counter to the start of the next launch: every
  // block takes one that is beyond the tiles, too.
  __device__ long long take() {
    const unsigned tile = (unsigned)taken, numbers = (unsigned)tiles + gridDim.x;
    if (tile == numbers - 1) atomicAdd(counter, (1ull << 32) - numbers);
    if (tile < tiles)
      taken = atomicAdd(counter, 1);  // the result is not needed until the next tile
    return tile;
  }

  // Puts the next tile, or that there is none, into slot k.
  __device__ void fetch(int k) {
    if (ended) return;
    slot &s = slots[k % SLOTS];
    const long long tile = take();
    const unsigned full = shared_address(&s.full);
    s.tile = tile;
    if (tile < tiles && all.is_whole(tile)) {
      mbarrier_arrive_expect(full, TILE * NARROW);
      bulk_load(shared_address(tile_of(k)), all.x + tile * TILE, TILE * NARROW, full);
    } else {
      mbarrier_arrive(full);
    }
    ended = tile >= tiles;
  }

  __device__ void send(int k) const {
    const slot &s = slots[k % SLOTS];
    wait_for(s.done, k);
    if (!all.alike || !all.is_whole(s.tile)) return;
    bulk_store(all.y + s.tile * TILE, shared_address(tile_of(k)), TILE * NARROW);
    bulk_commit();
  }
};

__device__ __forceinline__ void carry(carrier c) {
  // at first no more than a block's share of the tiles, but those that are published before one is finished
  const int ahead = max(LAG, (int)min((long long)AHEAD, (c.tiles + gridDim.x - 1) / gridDim.x));
  for (int k = 0; k < ahead; k++) c.fetch(k);
  for (int k = 0; slots[k % SLOTS].tile < c.tiles; k++) {
    c.fetch(k + ahead);
    c.send(k);
    bulk_wait_read<1>();  // the results before have been read from their slot
  }
  bulk_wait_read<0>();
}

// ---- the gatherer ------------------------------------------------------------------------------

// The sum of the tiles from `first` on, by one warp.
__device__ __forceinline__ wide sum_tiles(const tile_states &all, long long first, long long end) {
  constexpr int LOOKS = 8;  // in flight per lane
  wide sum = identity();
  for (long long i = first + threadIdx.x % 32; i < end; i += 32 * LOOKS) {
    tile_record t[LOOKS];
#pragma unroll
    for (int j = 0; j < LOOKS; j++) t[j] = all.look(min(i + 32 * j, end - 1));
#pragma unroll
    for (int j = 0; j < LOOKS; j++) {
      wide v;
      if (i + 32 * j >= end) break;
      while (!all.kind(t[j], &v)) {
        __nanosleep(20);
        t[j] = all.look(i + 32 * j);
      }
      sum = combine(sum, v);
    }
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) sum = combine(__shfl_xor_sync(0xffffffff, sum, d), sum);
  return sum;
}

__device__ __forceinline__ void gather(long long tiles, const tile_states &all) {
  wide sum = identity();
  long long summed = 0;
  for (int k = 0;; k++) {
    slot &s = slots[k % SLOTS];
    wait_for(s.full, k);
    const long long tile = s.tile;
    if (tile >= tiles) break;
    sum = combine(sum, sum_tiles(all, summed, tile));
    summed = tile;
    __syncwarp();  // all lanes have read s.tile
    if (threadIdx.x % 32 == 0) {
      s.before = sum;
      mbarrier_arrive(shared_address(&s.carried));
    }
  }
}

// ---- the threads that compute ------------------------------------------------------------------

// A tile that is not whole is not copied by the carrier.
__device__ __forceinline__ void load_rest(stored *tile, const stored *x, int first, int end) {
  for (int i = threadIdx.x; i < TILE; i += BLOCK)
    tile[i] = i >= first && i < end ? x[i] : narrow(identity());
  sync_first<BLOCK>();
}

__device__ __forceinline__ void store_rest(const stored *tile, stored *y, int first, int end) {
  sync_first<BLOCK>();
#pragma unroll 4
  for (int i = first + threadIdx.x; i < end; i += BLOCK) y[i] = tile[i];
}

// Publishes the total of the block's k-th tile; *before is the sum of the elements of the threads before this one.
// False if there is no such tile.
__device__ __forceinline__ bool announce(int k, const numbers &given, long long tiles,
                                         const tile_states &all, wide *before) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const slot &s = slots[k % SLOTS];
  wait_for(s.full, k);
  const long long tile = s.tile;
  if (tile >= tiles) return false;
  if (!given.is_whole(tile))
    load_rest(tile_of(k), given.x + tile * TILE, given.first(tile), given.end(tile));
  const vector *row = reinterpret_cast<const vector *>(tile_of(k)) + threadIdx.x * UNITS;
  wide sum = identity();
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const vector v = load_plain(row + u);
#pragma unroll
    for (int e = 0; e < VEC; e++) sum = combine(sum, widen(v.e[e]));
  }
  sum = scan_lanes<32>(sum);
  // two buffers, so that no barrier has to separate reading this tile's from writing the next one's
  if (lane == 31) warp_totals[k % 2][warp] = sum;
  sync_first<BLOCK>();
  const wide sums = scan_lanes<WARPS>(lane < WARPS ? warp_totals[k % 2][lane] : identity());
  if (threadIdx.x == WARPS - 1) all.publish(tile, AGGREGATE, sums);
  const wide warps = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  const wide left = __shfl_up_sync(0xffffffff, sum, 1);
  *before = combine(warp > 0 ? warps : identity(), lane > 0 ? left : identity());
  return true;
}

// Replaces the elements of the block's k-th tile by its results.
__device__ __forceinline__ void finish(int k, const numbers &given, wide before) {
  slot &s = slots[k % SLOTS];
  const long long tile = s.tile;
  vector *row = reinterpret_cast<vector *>(tile_of(k)) + threadIdx.x * UNITS;
  wait_for(s.carried, k);
  wide sum = combine(s.before, before);
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    vector v = load_plain(row + u);
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      const wide with = combine(sum, widen(v.e[e]));
      v.e[e] = narrow(KIND == KIND_inclusive ? with : sum);
      sum = with;
    }
    store_plain(row + u, v);
  }
  if (!given.alike || !given.is_whole(tile)) {
    store_rest(tile_of(k), given.y + tile * TILE, given.first(tile), given.end(tile));
  }
  fence_proxy_async();
  __syncwarp();
  if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&s.done));
}

__device__ __forceinline__ void compute(const numbers &given, long long tiles,
                                        const tile_states &all) {
  wide before[LAG + 1];  // of the tiles that are published, the oldest first
  int end = UNKNOWN;
  for (int k = 0; k - LAG < end; k++) {
    if (end == UNKNOWN && !announce(k, given, tiles, all, &before[LAG])) end = k;
    if (k >= LAG && k - LAG < end) finish(k - LAG, given, before[0]);
#pragma unroll
    for (int i = 0; i < LAG; i++) before[i] = before[i + 1];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    scan(long long n, const stored *__restrict__ x, stored *__restrict__ y,
         unsigned long long *words, unsigned long long *counter) {
  __shared__ unsigned long long first;
  x += pdl_wait();
  const numbers given(n, x, y);
  carrier c = {given, (given.n + TILE - 1) / TILE, counter};
  if (threadIdx.x == BLOCK) {
    for (int i = 0; i < SLOTS; i++) {
      mbarrier_init(shared_address(&slots[i].full), 1);
      mbarrier_init(shared_address(&slots[i].carried), 1);
      mbarrier_init(shared_address(&slots[i].done), WARPS);
    }
    fence_proxy_async();
    c.taken = first = atomicAdd(counter, 1);
  }
  __syncthreads();
  const tile_states all = {words, (unsigned)(first >> 32)};
  if (threadIdx.x < BLOCK) {
    compute(given, c.tiles, all);
  } else if (threadIdx.x == BLOCK) {
    carry(c);
  } else if (threadIdx.x >= BLOCK + 32) {
    gather(c.tiles, all);
  }
}
