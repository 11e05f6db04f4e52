// radix_cluster.cuh -- all passes of a radix sort in one cluster of blocks: keys stay in their shared
// memory until they are sorted, and blocks store into each other's. After radix_tile.cuh and
// cluster.cuh.

// This block's number in its cluster.
__device__ __forceinline__ unsigned block_rank() { return blockIdx.x % CLUSTER; }

// What other blocks store into: of each block how many keys of a digit it has, and this block's keys.
__device__ __forceinline__ unsigned *table() {
  return reinterpret_cast<unsigned *>(shared + COUNTERS + STAGE);
}
__device__ __forceinline__ key *incoming_keys() {
  return reinterpret_cast<key *>(shared + COUNTERS + STAGE + TABLE);
}
__device__ __forceinline__ value *incoming_values() {
  return reinterpret_cast<value *>(shared + COUNTERS + STAGE + TABLE + TILE * KEY);
}
// Where the block's own keys lie while they are sorted.
__device__ __forceinline__ key *staged_keys() {
  return reinterpret_cast<key *>(shared + COUNTERS);
}
__device__ __forceinline__ value *staged_values() {
  return reinterpret_cast<value *>(shared + COUNTERS + TILE * KEY);
}

// Every block learns how many keys of this thread's bins this one has.
__device__ __forceinline__ void send_counts(const unsigned (&count)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    if (bin < BINS) {
#pragma unroll
      for (int b = 0; b < CLUSTER; b++) {
        *in_block(table() + block_rank() * BINS + bin, b) = count[j];
      }
    }
  }
}

__shared__ unsigned bases[BINS];  // where the block's keys of a digit go, less where they are staged

__device__ __forceinline__ void find_bases(const unsigned (&start)[BINS_THREAD]) {
  unsigned before[BINS_THREAD], begin[BINS_THREAD];
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    before[j] = begin[j] = 0;
    if (bin < BINS) {
#pragma unroll
      for (int b = 0; b < CLUSTER; b++) {
        const unsigned there = table()[b * BINS + bin];
        begin[j] += there;
        if (b < block_rank()) before[j] += there;
      }
    }
  }
  scan_rows<BIN_ROWS>(begin);
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    if (bin < BINS) bases[bin] = begin[j] + before[j] - start[j];
  }
}

template <typename T>
__device__ __forceinline__ void stage(T *staged, const T (&v)[ITEMS],
                                      const ranks &rank) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) (staged - 1)[rank.at(i)] = v[i];
}

// To the block that has this place among all.
template <typename T>
__device__ __forceinline__ void send(T *incoming, unsigned to, T what) {
  *in_block(incoming + to % TILE, to / TILE) = what;
}

// What is staged goes where it belongs in a pass: to the blocks, or in the last one to memory.
__device__ __forceinline__ void send_staged(place p) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int at = i * BLOCK + threadIdx.x;
    const key k = staged_keys()[at];
    const unsigned to = bases[p.of(k)] + at;
    send(incoming_keys(), to, k);
@ if VALUE > 0 then
    send(incoming_values(), to, staged_values()[at]);
@ end
  }
}
__device__ __forceinline__ void write_staged(place p, long long n, key *keys, value *values) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int at = i * BLOCK + threadIdx.x;
    const key k = staged_keys()[at];
    const unsigned to = bases[p.of(k)] + at;
    if (to < n) {
      keys[to] = decode(k);
@ if VALUE > 0 then
      values[to] = staged_values()[at];
@ end
    }
  }
}

__device__ __forceinline__ void take_incoming(key (&k)[ITEMS], value (&v)[ITEMS]) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    k[i] = incoming_keys()[item(i)];
@ if VALUE > 0 then
    v[i] = incoming_values()[item(i)];
@ end
  }
}

// Between arriving at the cluster's barrier and waiting there, a block does what concerns it alone.
__device__ __forceinline__ void sort_in_cluster(long long n, const key *keys_in,
                                                const value *values_in, key *keys_out,
                                                value *values_out) {
  const long long first = (long long)block_rank() * TILE;
  key k[ITEMS];
  value v[ITEMS];
  ranks rank;
  unsigned start[BINS_THREAD];
  cluster_arrive();  // nobody stores into a block that has not started
  get_keys(k, keys_in + first, n - first, true);
@ if VALUE > 0 then
  get_values(v, values_in + first, n - first);
@ end
#pragma unroll 1
  for (int pass = 0; pass < PASSES; pass++) {
    const place p = place_of(pass);
    clear_counters();
    cluster_wait();
    if (pass > 0) take_incoming(k, v);
    rank_keys(k, p, [&](int i, unsigned r) { rank.set(i, r); });
    __syncthreads();
    sum_counters(start);
    send_counts(start);
    cluster_arrive();
    scan_counters(start);
    __syncthreads();
    add_starts(k, rank, again(p));
    stage(staged_keys(), k, rank);
@ if VALUE > 0 then
    stage(staged_values(), v, rank);
@ end
    cluster_wait();
    find_bases(start);
    __syncthreads();
    if (pass + 1 == PASSES) break;
    send_staged(p);
    cluster_arrive();
  }
  write_staged(place_of(PASSES - 1), n, keys_out, values_out);
}
