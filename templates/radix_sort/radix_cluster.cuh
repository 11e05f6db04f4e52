// radix_cluster.cuh -- a cluster of blocks sorts up to CLUSTER tiles: their keys stay in shared memory until they are
// sorted, and blocks store into each other's.
#pragma once
#include "cluster.cuh"
#include "radix_tile.cuh"

// This block's number in its cluster.
__device__ __forceinline__ unsigned block_rank() { return blockIdx.x % CLUSTER; }

// Behind the counters in shared memory: the block's own tile while it is sorted; then what other blocks store, which
// is each block's number of keys with each digit, and this block's next tile.
__device__ __forceinline__ key *staged_keys() { return reinterpret_cast<key *>(shared + COUNTERS); }
__device__ __forceinline__ value *staged_values() {
  return reinterpret_cast<value *>(shared + COUNTERS + TILE * KEY);
}
__device__ __forceinline__ unsigned *table() {
  return reinterpret_cast<unsigned *>(shared + COUNTERS + STAGE);
}
__device__ __forceinline__ key *incoming_keys() {
  return reinterpret_cast<key *>(table() + CLUSTER * BINS);
}
__device__ __forceinline__ value *incoming_values() {
  return reinterpret_cast<value *>(incoming_keys() + TILE);
}

// Stores the counts of this thread's bins into the tables of all blocks.
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

// Where the block's keys of each digit go among all, minus their position in the tile.
__shared__ unsigned bases[BINS];

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

// To shared memory, by ranks, which begin with 1.
template <typename T>
__device__ __forceinline__ void stage(T *staged, const T (&v)[ITEMS], const ranks &rank) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) (staged - 1)[rank.at(i)] = v[i];
}

// To position `to` among all keys, in the block that has it.
template <typename T>
__device__ __forceinline__ void send(T *incoming, unsigned to, T what) {
  *in_block(incoming + to % TILE, to / TILE) = what;
}

// What is staged goes where a pass takes it: to the blocks or, in the last pass, to memory.
__device__ __forceinline__ void send_staged(digit_bits digit) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int at = i * BLOCK + threadIdx.x;
    const key k = staged_keys()[at];
    const unsigned to = bases[digit.of(k)] + at;
    send(incoming_keys(), to, k);
    if constexpr (VALUE > 0) send(incoming_values(), to, staged_values()[at]);
  }
}
__device__ __forceinline__ void write_staged(digit_bits digit, long long n, key *keys,
                                             value *values) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int at = i * BLOCK + threadIdx.x;
    const key k = staged_keys()[at];
    const unsigned to = bases[digit.of(k)] + at;
    if (to < n) {
      keys[to] = decode(k);
      if constexpr (VALUE > 0) values[to] = staged_values()[at];
    }
  }
}

__device__ __forceinline__ void take_incoming(key (&k)[ITEMS], value (&v)[ITEMS]) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    k[i] = incoming_keys()[item(i)];
    if constexpr (VALUE > 0) v[i] = incoming_values()[item(i)];
  }
}

// Between arriving at the cluster's barrier and waiting there, a block works on what no other block touches.
__device__ __forceinline__ void sort_in_cluster(long long n, const key *keys_in,
                                                const value *values_in, key *keys_out,
                                                value *values_out) {
  const long long first = (long long)block_rank() * TILE;
  key k[ITEMS];
  value v[ITEMS];
  ranks rank;
  unsigned start[BINS_THREAD];
  cluster_arrive();  // no block stores into one that has not started
  get_keys(k, keys_in + first, n - first, true);
  if constexpr (VALUE > 0) get_values(v, values_in + first, n - first);
#pragma unroll 1
  for (int pass = 0; pass < PASSES; pass++) {
    const digit_bits digit = digit_of_pass(pass);
    clear_counters();
    cluster_wait();
    if (pass > 0) take_incoming(k, v);
    rank_keys(k, digit, [&](int i, unsigned r) { rank.set(i, r); });
    __syncthreads();
    sum_counters(start);
    send_counts(start);
    cluster_arrive();
    scan_counters(start);
    __syncthreads();
    add_starts(k, rank, opaque(digit));
    stage(staged_keys(), k, rank);
    if constexpr (VALUE > 0) stage(staged_values(), v, rank);
    cluster_wait();
    find_bases(start);
    __syncthreads();
    if (pass + 1 == PASSES) break;
    send_staged(digit);
    cluster_arrive();
  }
  write_staged(digit_of_pass(PASSES - 1), n, keys_out, values_out);
}
