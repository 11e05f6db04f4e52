// scan_pipeline.cuh -- a scan in one pass by blocks that stay for several tiles.
//
// BLOCK threads compute; of two warps more one, the carrier, has tiles copied to a queue in shared
// memory ahead of them and results back, and the other, the gatherer, finds what comes before each
// tile. Tiles are taken in order, whenever a slot of the queue is free: whoever waits for an earlier
// tile waits for one that a running block has taken, which itself waits only for tiles before that one.
//
// All blocks wait for the slowest. So that it has time, a tile's total is told LAG tiles before the
// tile is finished, which had better be longer than a copy may take; and no more than LOADS tiles a
// block are on their way, because a copy takes the longer the more of them there are. On an H200 2^28
// numbers of f32 took 1.4 ms with LAG 2, 535 us with LAG 3, and 517 us with LAG 6 and 60 KB a
// multiprocessor on their way.
//
// Where x does not begin with a whole vector (ANYWHERE) tiles begin as if it had some numbers more in
// front, so that all but the first and the last are whole vectors. If y begins otherwise than x, threads
// store the results; else these are copied, too.
//
// The template says what numbers are (stored, wide, combine, widen, narrow, vector, scan_lanes) and
// how tiles tell each other of their totals (tile_states); its parameters and derived values are BLOCK,
// TILE, VEC, UNITS, WIDE, NARROW, QUEUE, LAG, LOADS, BLOCKS, THREADS, ANYWHERE and the kind of scan.

constexpr int WARPS = BLOCK / 32;
constexpr int MANY = 0x7fffffff;
constexpr int AHEAD = LAG + LOADS;
static_assert(QUEUE == AHEAD + 2, "one tile is being finished, one is on its way back");

struct slot {
  unsigned long long full, carried, done;  // barriers: loaded, what is before it is known, computed
  long long tile;
  wide before;  // of all tiles before this one
};

__shared__ slot slots[QUEUE];
__shared__ wide warp_totals[2][WARPS];
extern __shared__ __align__(128) unsigned char shared[];

__device__ __forceinline__ stored *tile_of(int k) {
  return reinterpret_cast<stored *>(shared) + k % QUEUE * TILE;
}

__device__ __forceinline__ void wait_for(const unsigned long long &barrier, int k) {
  mbarrier_wait(shared_address(&barrier), k / QUEUE & 1);
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

  // Elements that p is behind a whole vector.
  __device__ static int behind(const stored *p) { return (int)((unsigned long long)p / NARROW % VEC); }

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
  bool ended = false;        // there is no next tile, and that is in the queue

  // The block that takes the last number sets the counter to the start of the next launch: every
  // block takes one that is beyond the tiles, too.
  __device__ long long take() {
    const unsigned tile = (unsigned)taken, numbers = (unsigned)tiles + gridDim.x;
    if (tile == numbers - 1) atomicAdd(counter, (1ull << 32) - numbers);
    if (tile < tiles) taken = atomicAdd(counter, 1);  // nobody waits for it until the next tile
    return tile;
  }

  // The next tile, or that there is none, into slot k.
  __device__ void fetch(int k) {
    if (ended) return;
    slot &s = slots[k % QUEUE];
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
    const slot &s = slots[k % QUEUE];
    wait_for(s.done, k);
    if (!all.alike || !all.is_whole(s.tile)) return;
    bulk_store(all.y + s.tile * TILE, shared_address(tile_of(k)), TILE * NARROW);
    bulk_commit();
  }
};

__device__ __forceinline__ void carry(carrier c) {
  // at first no more than a fair share, but those that are told before one is finished
  const int ahead = max(LAG, (int)min((long long)AHEAD, (c.tiles + gridDim.x - 1) / gridDim.x));
  for (int k = 0; k < ahead; k++) c.fetch(k);
  for (int k = 0; slots[k % QUEUE].tile < c.tiles; k++) {
    c.fetch(k + ahead);
    c.send(k);
    bulk_wait_read<1>();  // the tile before has left its slot
  }
  bulk_wait_read<0>();
}

// ---- the gatherer ------------------------------------------------------------------------------

// The sum of the tiles from `first` on, by one warp.
__device__ __forceinline__ wide sum_tiles(const tile_states &all, long long first, long long end) {
  constexpr int LOOKS = 8;  // under way per lane
  wide sum = IDENTITY;
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
  wide sum = IDENTITY;
  long long summed = 0;
  for (int k = 0;; k++) {
    slot &s = slots[k % QUEUE];
    wait_for(s.full, k);
    const long long tile = s.tile;
    if (tile >= tiles) break;
    sum = combine(sum, sum_tiles(all, summed, tile));
    summed = tile;
    __syncwarp();  // all have read which tile it is
    if (threadIdx.x % 32 == 0) {
      s.before = sum;
      mbarrier_arrive(shared_address(&s.carried));
    }
  }
}

// ---- those who compute -------------------------------------------------------------------------

// A tile that is not whole, past the queue.
__device__ __forceinline__ void load_rest(stored *tile, const stored *x, int first, int end) {
  for (int i = threadIdx.x; i < TILE; i += BLOCK) tile[i] = i >= first && i < end ? x[i] : narrow(IDENTITY);
  sync_first<BLOCK>();
}

__device__ __forceinline__ void store_rest(const stored *tile, stored *y, int first, int end) {
  sync_first<BLOCK>();
#pragma unroll 4
  for (int i = first + threadIdx.x; i < end; i += BLOCK) y[i] = tile[i];
}

// Tells the total of the block's k-th tile, and this thread what the threads before have of it; false
// when there is none.
__device__ __forceinline__ bool announce(int k, const numbers &given, long long tiles, const tile_states &all,
                                         wide *before) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const slot &s = slots[k % QUEUE];
  wait_for(s.full, k);
  const long long tile = s.tile;
  if (tile >= tiles) return false;
  if (!given.is_whole(tile)) load_rest(tile_of(k), given.x + tile * TILE, given.first(tile), given.end(tile));
  const vector *row = reinterpret_cast<const vector *>(tile_of(k)) + threadIdx.x * UNITS;
  wide sum = IDENTITY;
#pragma unroll
  for (int u = 0; u < UNITS; u++) {
    const vector v = load_plain(row + u);
#pragma unroll
    for (int e = 0; e < VEC; e++) sum = combine(sum, widen(v.e[e]));
  }
  sum = scan_lanes<32>(sum);
  // in turns, so that no barrier has to separate this tile's reading from the next one's writing
  if (lane == 31) warp_totals[k % 2][warp] = sum;
  sync_first<BLOCK>();
  const wide sums = scan_lanes<WARPS>(lane < WARPS ? warp_totals[k % 2][lane] : IDENTITY);
  if (threadIdx.x == WARPS - 1) all.publish(tile, AGGREGATE, sums);
  const wide warps = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  const wide left = __shfl_up_sync(0xffffffff, sum, 1);
  *before = combine(warp > 0 ? warps : IDENTITY, lane > 0 ? left : IDENTITY);
  return true;
}

// The results of the block's k-th tile, where its elements are.
__device__ __forceinline__ void finish(int k, const numbers &given, wide before) {
  slot &s = slots[k % QUEUE];
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
      v.e[e] = narrow(@{kind == "inclusive" and "with" or "sum"});
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

__device__ __forceinline__ void compute(const numbers &given, long long tiles, const tile_states &all) {
  wide before[LAG + 1];  // of the tiles that are told, the oldest first
  int end = MANY;
  for (int k = 0; k - LAG < end; k++) {
    if (end == MANY && !announce(k, given, tiles, all, &before[LAG])) end = k;
    if (k >= LAG && k - LAG < end) finish(k - LAG, given, before[0]);
#pragma unroll
    for (int i = 0; i < LAG; i++) before[i] = before[i + 1];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
scan(long long n, const stored *__restrict__ x, stored *__restrict__ y, unsigned long long *words,
     unsigned long long *counter) {
  __shared__ unsigned long long first;
  x += pdl_wait();
  const numbers given(n, x, y);
  carrier c = {given, (given.n + TILE - 1) / TILE, counter};
  if (threadIdx.x == BLOCK) {
    for (int i = 0; i < QUEUE; i++) {
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
