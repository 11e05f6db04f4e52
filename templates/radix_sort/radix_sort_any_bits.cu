// radix_sort_any_bits.cu -- three launches per pass over all bits of the keys, of which arguments say which count. So one
// kernel sorts by any of them.
#include "radix_three_launch.cuh"

// Bits below `first` and from `end` on are taken for zeros.
__device__ __forceinline__ digit_bits digit_between(int pass, int first, int end) {
  const digit_bits d = digit_of_pass(pass);
  const int low = min(max(first - d.shift, 0), DIGIT), high = min(max(end - d.shift, 0), DIGIT);
  return {d.shift, d.mask & ((1u << high) - 1) & ~((1u << low) - 1)};
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    sort_count(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
               value *values_out, key *keys_tmp, value *values_tmp, position *counts, int first,
               int end) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  count_tile(n, all.of_pass(pass), digit_between(pass, first, end), counts);
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
    sort_scatter(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
                 value *values_out, key *keys_tmp, value *values_tmp, const position *counts,
                 int first, int end) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  scatter_tile(n, all.of_pass(pass), digit_between(pass, first, end), counts);
}
