// radix_sort_three_launch.cu -- three launches per pass.
#include "radix_three_launch.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    sort_count(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
               value *values_out, key *keys_tmp, value *values_tmp, position *counts) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  count_tile(n, all.of_pass(pass), digit_of_pass(pass), counts);
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
    sort_scatter(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
                 value *values_out, key *keys_tmp, value *values_tmp, const position *counts) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  scatter_tile(n, all.of_pass(pass), digit_of_pass(pass), counts);
}
