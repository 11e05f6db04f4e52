// radix_block.cuh -- one block has all keys in its registers, and its values; every pass goes through
// shared memory. After radix_tile.cuh.

// To where they come by their ranks.
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

// Up to TILE of them.
__device__ __forceinline__ void sort_in_block(long long n, const key *keys_in, const value *values_in,
                                              key *keys_out, value *values_out) {
  key k[ITEMS];
  ranks rank;
  unsigned start[BINS_THREAD];
  get_keys(k, keys_in, n, true);
@ if VALUE > 0 then
  value v[ITEMS];
  get_values(v, values_in, n);
@ end
#pragma unroll 1
  for (int pass = 0; pass < PASSES; pass++) {
    const place p = place_of(pass);
    clear_counters();
    rank_keys(k, p, [&](int i, unsigned r) { rank.set(i, r); });
    __syncthreads();
    sum_counters(start);
    scan_counters(start);
    __syncthreads();
    add_starts(k, rank, p);
    permute(k, rank);
@ if VALUE > 0 then
    permute(v, rank);
@ end
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < n) {
      keys_out[item(i)] = decode(k[i]);
@ if VALUE > 0 then
      values_out[item(i)] = v[i];
@ end
    }
  }
}
