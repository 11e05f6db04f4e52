// radix_sort_onebit.cu -- the textbook's pass: one bit, one key per thread. An exclusive scan of all bits says where
// each key goes.
#include "radix_arrays.cuh"
#include "radix_scan.cuh"

__device__ __forceinline__ unsigned bit_of(const move &m, digit_bits bit, long long i) {
  return bit.of(m.first ? encode(m.from[i]) : m.from[i]);
}

// ones[i] is the number of ones before key i in its block, counts[b] the ones of block b.
extern "C" __global__ void __launch_bounds__(BLOCK)
    sort_count(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
               value *values_out, key *keys_tmp, value *values_tmp, position *counts,
               unsigned *ones) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  unsigned bit[1] = {i < n ? bit_of(all.of_pass(pass), digit_of_pass(pass), i) : 0};
  const unsigned sum = scan_rows<WARPS>(bit);
  if (i < n) ones[i] = bit[0];
  if (threadIdx.x == 0) counts[blockIdx.x] = sum;
}

// counts[b] becomes the ones before block b, counts[blocks] all ones.
extern "C" __global__ void __launch_bounds__(BLOCK) sort_scan(long long blocks, position *counts) {
  position before = 0;
  for (long long at = threadIdx.x; at < (blocks + BLOCK - 1) / BLOCK * BLOCK; at += BLOCK) {
    position v[1] = {at < blocks ? counts[at] : 0};
    const position sum = scan_rows<WARPS>(v);
    if (at < blocks) counts[at] = before + v[0];
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[blocks] = before;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    sort_scatter(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
                 value *values_out, key *keys_tmp, value *values_tmp, const position *counts,
                 const unsigned *ones) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const move m = all.of_pass(pass);
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  const long long before = counts[blockIdx.x] + (long long)ones[i], all_ones = counts[gridDim.x];
  const long long to = bit_of(m, digit_of_pass(pass), i) ? n - all_ones + before : i - before;
  const key k = m.first ? encode(m.from[i]) : m.from[i];
  m.to[to] = m.last ? decode(k) : k;
  if constexpr (VALUE > 0) m.values_to[to] = m.values_from[i];
}
