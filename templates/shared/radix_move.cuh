// radix_move.cuh -- a pass of a radix sort for one tile: from where its keys are to where they belong
// among all. Comes after radix_tile.cuh; the template also has SCATTER, SEEK, VALUES, COPIES, and
// AT_ONCE and COUNTERS, which follow from them; and says whether there are `tiles`.

// ---- where they are ----------------------------------------------------------------------------

// What a pass moves: the first from the input, the last to the output, others to and fro.
struct move {
  const key *from;
  key *to;
  const value *values_from;
  value *values_to;
  bool first, last;
};
struct arrays {
  const key *keys_in;
  const value *values_in;
  key *keys_out;
  value *values_out;
  key *keys_tmp;
  value *values_tmp;

  __device__ __forceinline__ move of(bool first, bool last, bool to_out) const {
    return {first ? keys_in : to_out ? keys_tmp : keys_out, to_out ? keys_out : keys_tmp,
            first ? values_in : to_out ? values_tmp : values_out,
            to_out ? values_out : values_tmp, first, last};
  }
  __device__ __forceinline__ move of_pass(int pass) const {
    return of(pass == 0, pass == PASSES - 1, (PASSES - 1 - pass) % 2 == 0);
  }
};

@ if tiles then
// ---- from a tile to all keys -------------------------------------------------------------------

__shared__ position bases[BINS];  // where a tile's keys of a digit go, less where they are in the tile

// How many keys of this thread's bins exist: those beyond them count for nothing.
__device__ __forceinline__ void real_counts(const unsigned (&count)[BINS_THREAD], long long room,
                                            place p, unsigned (&real)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const bool last = j * BLOCK + threadIdx.x == p.mask;
    real[j] = count[j] - (last && room < TILE ? TILE - (unsigned)room : 0);
  }
}

@   if SCATTER == "shared" then
constexpr int STAGED = AT_ONCE ? COUNTERS : 0;  // beside the counters, or in their place
__device__ __forceinline__ key *staged_keys() { return reinterpret_cast<key *>(shared + STAGED); }
__device__ __forceinline__ value *staged_values() {
  return reinterpret_cast<value *>(shared + STAGED + TILE * KEY);
}

@     if WRITE == "sectors" then
// Of each digit a tile has a run of keys, which goes where others of other tiles end: within a sector. A
// warp that wrote 32 keys of the tile after another would also cut a sector wherever it begins. So lanes
// take whole sectors, SECTOR of them one; only at the ends of runs some of them have nothing to write.
struct alignas(16) run {
  position sectors;         // where its first sector begins, if it were the first of all runs' sectors
  position to;              // where it goes
  unsigned from, count;  // where it is staged
};
using owner = @{BINS > 256 and "unsigned short" or "unsigned char"};

__shared__ unsigned n_sectors;
__device__ __forceinline__ run *runs() { return reinterpret_cast<run *>(shared + RUNS_AT); }
__device__ __forceinline__ owner *owners() {  // the digit of each sector
  return reinterpret_cast<owner *>(shared + RUNS_AT + BINS * sizeof(run));
}

// The lanes' bins own n sectors each, from the first on: few are told by the lane, many by the warp.
__device__ __forceinline__ void own_sectors(unsigned bin, unsigned first, unsigned n) {
  constexpr unsigned FEW = 16;
  for (unsigned i = 0; n <= FEW && i < n; i++) owners()[first + i] = (owner)bin;
  for (unsigned many = __ballot_sync(0xffffffff, n > FEW); many > 0; many &= many - 1) {
    const int lane = __ffs(many) - 1;
    const unsigned b = __shfl_sync(0xffffffff, bin, lane), from = __shfl_sync(0xffffffff, first, lane);
    const unsigned end = from + __shfl_sync(0xffffffff, n, lane);
    for (unsigned i = from + threadIdx.x % 32; i < end; i += 32) owners()[i] = (owner)b;
  }
}

// Where the runs of this thread's bins go; `behind`: elements that the array begins behind a sector.
__device__ __forceinline__ void lay_out(const position (&to)[BINS_THREAD],
                                        const unsigned (&count)[BINS_THREAD],
                                        const unsigned (&start)[BINS_THREAD], unsigned behind) {
  unsigned n[BINS_THREAD], first[BINS_THREAD];
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const bool some = j * BLOCK + threadIdx.x < BINS && count[j] > 0;
    n[j] = some ? ((unsigned)(to[j] + behind) % SECTOR + count[j] + SECTOR - 1) / SECTOR : 0;
    first[j] = n[j];
  }
  __syncthreads();
  const unsigned all = scan_rows<BIN_ROWS>(first);
  if (threadIdx.x == 0) n_sectors = all;
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const unsigned bin = j * BLOCK + threadIdx.x;
    own_sectors(bin, first[j], n[j]);
    if (bin < BINS) {
      const position sectors = to[j] - (unsigned)(to[j] + behind) % SECTOR - (position)first[j] * SECTOR;
      runs()[bin] = {sectors, to[j], start[j], count[j]};
    }
  }
}

__device__ __forceinline__ unsigned behind_sector(const key *keys) {
  return (unsigned)((size_t)keys / sizeof(key) % SECTOR);
}

__device__ __forceinline__ void write_sectors(const move &m) {
  constexpr unsigned STEP = BLOCK / SECTOR, AT_A_TIME = 8;
  const unsigned lane = threadIdx.x % SECTOR, all = n_sectors;
  for (unsigned first = threadIdx.x / SECTOR; first < all; first += AT_A_TIME * STEP) {
#pragma unroll
    for (unsigned i = 0; i < AT_A_TIME; i++) {
      const unsigned sector = first + i * STEP;
      const run r = runs()[owners()[min(sector, all - 1)]];
      const position to = r.sectors + (position)sector * SECTOR + lane;
      const unsigned in_run = (unsigned)(to - r.to);
      if (sector < all && in_run < r.count) {
        const unsigned at = r.from + in_run;
        const key k = staged_keys()[at];
        store_@{STORE}(m.to + to, @{plain and "k" or "m.last ? decode(k) : k"});
@       if VALUE > 0 then
        store_@{STORE}(m.values_to + to, staged_values()[at]);
@       end
      }
    }
  }
}

@     else
template <bool WHOLE>
__device__ __forceinline__ void write_staged(const move &m, place p, int room) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int at = i * BLOCK + threadIdx.x;
    if (WHOLE || at < room) {
      const key k = staged_keys()[at];
      const position to = bases[p.of(k)] + at;
      store_@{STORE}(m.to + to, @{plain and "k" or "m.last ? decode(k) : k"});
@     if VALUE > 0 then
      store_@{STORE}(m.values_to + to, staged_values()[at]);
@     end
    }
  }
}

@     end
@   end
@   if SCATTER == "shared" then
__device__ __forceinline__ void put_staged(const move &m, place p, long long room) {
  __syncthreads();
@     if WRITE == "sectors" then
  write_sectors(m);
@     else
  if (room >= TILE) {
    write_staged<true>(m, p, TILE);
  } else {
    write_staged<false>(m, p, (int)room);
  }
@     end
}

@   end
// Where the keys go: through shared memory, or straight. `find` tells the bases.
template <typename F>
__device__ __forceinline__ void put(const key (&k)[ITEMS], value (&v)[ITEMS],
                                    const ranks &rank, const move &m, place p,
                                    long long first, long long room, F find) {
@   local late = VALUE > 0 and VALUES == "late" and "get_values(v, m.values_from + first, room);" or ""
@   if SCATTER == "shared" then
  __syncthreads();  // counters and what is staged share their memory
#pragma unroll
  for (int i = 0; i < ITEMS; i++) (staged_keys() - 1)[rank.at(i)] = k[i];
@     if VALUE > 0 then
  @{late}
#pragma unroll
  for (int i = 0; i < ITEMS; i++) (staged_values() - 1)[rank.at(i)] = v[i];
@     end
  find();
  put_staged(m, p, room);
@   else
  @{late}
  find();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < room) {
      const position to = bases[p.of(k[i])] + rank.at(i) - 1;
      store_@{STORE}(m.to + to, @{plain and "k[i]" or "m.last ? decode(k[i]) : k[i]"});
@     if VALUE > 0 then
      store_@{STORE}(m.values_to + to, v[i]);
@     end
    }
  }
@   end
}
@   if chained then

// Counts a key of every pass.
__device__ __forceinline__ void count_key(key k) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  k = encode(k);
#pragma unroll
  for (int pass = 0; pass < PASSES; pass++) {
    const unsigned bin = pass * BINS + place_of(pass).of(k);
    atomicAdd(counters + bin * COPIES + threadIdx.x % COPIES, 1);
  }
}

// What the block has counted is added to what others have.
template <int THREADS>
__device__ __forceinline__ void add_digits(position *counts) {
  const unsigned *counters = reinterpret_cast<const unsigned *>(shared);
  for (int bin = threadIdx.x; bin < PASSES * BINS; bin += THREADS) {
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
      sum += counters[bin * COPIES + (c + threadIdx.x) % COPIES];  // in other banks
    }
    if (sum > 0) atomicAdd(counts + bin, (position)sum);
  }
}

// Where the keys of each digit of a pass begin; whether all have the same. By a warp; counts become
// zeros for the next launch.
__device__ __forceinline__ bool scan_pass(position n, position *counts, position *begin) {
  const int lane = threadIdx.x % 32;
  position before = 0;
  bool same = false;
#pragma unroll 8
  for (int bin = lane; bin < (BINS + 31) / 32 * 32; bin += 32) {
    const position own = bin < BINS ? load_second(counts + bin) : 0, sum = scan_lanes(own);
    if (bin < BINS) {
      begin[bin] = before + sum - own;
      counts[bin] = 0;
    }
    before += __shfl_sync(0xffffffff, sum, 31);
    same |= own == n;
  }
  return __any_sync(0xffffffff, same);
}

// Programmatic launches: what a pass does before wait() it may do while the launch before runs.
__device__ __forceinline__ void let_next_start() {
@     if OVERLAP == "on" then
  griddepcontrol_launch_dependents();
@     end
}
__device__ __forceinline__ void wait_for_last() {
@     if OVERLAP == "on" then
  griddepcontrol_wait();
@     end
}

// The tile's keys go where they belong in a pass. `tell` takes how many of this thread's bins the tile
// has, `find` that and where in the tile they begin, and sets the bases.
template <typename Tell, typename Find>
__device__ __forceinline__ void move_tile(const move &m, place p, long long tile, long long room,
                                          Tell tell, Find find_bases) {
  key k[ITEMS];
  [[maybe_unused]] value v[ITEMS];
  unsigned count[BINS_THREAD], start[BINS_THREAD];
@     if AT_ONCE == 0 then
  ranks rank;
@     end
  get_keys(k, m.from + tile * TILE, room, m.first);
@     if AT_ONCE == 1 and VALUE > 0 then
  get_values(v, m.values_from + tile * TILE, room);
@     end
@     if COUNT == "early" then
  counter *mine = counters_of(threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
@       if COUNTER == 16 then
    const unsigned d = p.of(k[i]);
    atomicAdd(reinterpret_cast<unsigned *>(mine) + d / 2, 1u << d % 2 * 16);
@       else
    atomicAdd(mine + p.of(k[i]), 1);
@       end
  }
@     else
  rank_in(m.first, k, p, [&](int i, unsigned r) { rank.set(i, r); });
@     end
@     if VALUES == "soon" then
  get_values(v, m.values_from + tile * TILE, room);
@     end
  __syncthreads();
  sum_counters(start);
  real_counts(start, room, p, count);
  tell(count);
  scan_counters(start);
  const auto find = [&] { find_bases(count, start); };
@     local soon = SEEK == "soon" and "find();" or ""
@     local late = SEEK == "late" and "find();" or ""
  @{soon}
  __syncthreads();
@     if AT_ONCE == 1 then
  rank_in(m.first, k, again(p), [&](int i, unsigned r) {
    (staged_keys() - 1)[r] = k[i];
@       if VALUE > 0 then
    (staged_values() - 1)[r] = v[i];
@       end
  });
  @{late}
  put_staged(m, p, room);
@     else
@       if COUNT == "early" then
  rank_in(m.first, k, again(p), [&](int i, unsigned r) { rank.set(i, r); });
@       else
  add_starts(k, rank, again(p));
@       end
  put(k, v, rank, m, p, tile * TILE, room, [&] { @{late} });
@     end
}
@   end
@ end
