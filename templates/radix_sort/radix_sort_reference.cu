// radix_sort_reference.cu -- least significant bit first, keys as they are: each thread counts the zeros of a chunk of
// neighbours, one thread scans the counts, then each thread moves its keys in their order.
#include "elements.cuh"

using type = element<DTYPE>;

using key = choose<KEY == 8, unsigned long long,
                   choose<KEY == 4, unsigned, choose<KEY == 2, unsigned short, unsigned char>>>;
using value = choose<VALUE == 8, unsigned long long, unsigned>;

// A bit of the word by which a key is compared; 1 comes last.
__device__ bool bit_of(key k, int pass) {
  const int bit = SORTED_FROM + pass, sign = 8 * KEY - 1;
  if (pass >= SORTED_BITS) return false;
  const bool negative = k >> sign & 1, integer = type::INTEGER;
  if (!integer && (key)(k << 1) == 0) k = 0;  // zeros of either sign
  bool one = k >> bit & 1;
  if (integer ? bit == sign && type::least() < 0 : bit == sign || (negative && k != 0)) one = !one;
  return one != (ORDER == ORDER_descending);
}

struct move {
  const key *from;
  const value *values_from;
  key *to;
  value *values_to;
};
__device__ move of_pass(int pass, const key *keys_in, const value *values_in, key *keys_out,
                        value *values_out, key *keys, value *values) {
  const int passes = SORTED_BITS > 0 ? SORTED_BITS : 1;
  const bool to_out = (passes - 1 - pass) % 2 == 0;
  return {pass == 0 ? keys_in
          : to_out  ? keys
                    : keys_out,
          pass == 0 ? values_in
          : to_out  ? values
                    : values_out,
          to_out ? keys_out : keys, to_out ? values_out : values};
}

extern "C" __global__ void count(long long n, long long chunk, int pass, const key *keys_in,
                                 const value *values_in, key *keys_out, value *values_out,
                                 key *keys, value *values, long long *zeros) {
  const move m = of_pass(pass, keys_in, values_in, keys_out, values_out, keys, values);
  const long long first = (blockIdx.x * 64ll + threadIdx.x) * chunk;
  if (first >= n) return;
  long long sum = 0;
  for (long long i = first; i < n && i < first + chunk; i++) sum += !bit_of(m.from[i], pass);
  zeros[first / chunk] = sum;
}

extern "C" __global__ void exclude(long long chunks, long long *zeros) {
  long long sum = 0;
  for (long long i = 0; i < chunks; i++) {
    const long long own = zeros[i];
    zeros[i] = sum;
    sum += own;
  }
  zeros[chunks] = sum;
}

extern "C" __global__ void scatter(long long n, long long chunk, int pass, const key *keys_in,
                                   const value *values_in, key *keys_out, value *values_out,
                                   key *keys, value *values, const long long *zeros) {
  const move m = of_pass(pass, keys_in, values_in, keys_out, values_out, keys, values);
  const long long first = (blockIdx.x * 64ll + threadIdx.x) * chunk;
  if (first >= n) return;
  long long zero = zeros[first / chunk];
  long long one = zeros[(n + chunk - 1) / chunk] + first - zero;
  for (long long i = first; i < n && i < first + chunk; i++) {
    const long long to = bit_of(m.from[i], pass) ? one++ : zero++;
    m.to[to] = m.from[i];
    if (VALUE > 0) m.values_to[to] = m.values_from[i];
  }
}
