// radix_sort_single_block.cu -- one block sorts all keys in its registers.
#include "radix_block.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    sort_block(long long n, const key *keys_in, const value *values_in, key *keys_out,
               value *values_out) {
  sort_in_block(n, keys_in, values_in, keys_out, values_out);
}
