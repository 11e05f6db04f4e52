// radix_block.cuh -- one block sorts up to a tile of keys in its registers; each pass exchanges them through shared
// memory.
#pragma once
#include "radix_tile.cuh"

template <typename T>
__device__ __forceinline__ void permute(T (&v)[ITEMS], const ranks &rank) {
  T *all = reinterpret_cast<T *>(shared);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) (all - 1)[rank.at(i)] = v[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) v[i] = all[item(i)];
}

__device__ __forceinline__ void sort_in_block(long long n, const key *keys_in,
                                              const value *values_in, key *keys_out,
                                              value *values_out) {
  key k[ITEMS];
  [[maybe_unused]] value v[ITEMS];
  ranks rank;
  unsigned start[BINS_THREAD];
  get_keys(k, keys_in, n, true);
  if constexpr (VALUE > 0) get_values(v, values_in, n);
#pragma unroll 1
  for (int pass = 0; pass < PASSES; pass++) {
    const digit_bits digit = digit_of_pass(pass);
    clear_counters();
    rank_keys(k, digit, [&](int i, unsigned r) { rank.set(i, r); });
    __syncthreads();
    sum_counters(start);
    scan_counters(start);
    __syncthreads();
    add_starts(k, rank, digit);
    permute(k, rank);
    if constexpr (VALUE > 0) permute(v, rank);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < n) {
      keys_out[item(i)] = decode(k[i]);
      if constexpr (VALUE > 0) values_out[item(i)] = v[i];
    }
  }
}
