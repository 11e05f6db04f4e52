// radix_arrays.cuh -- from where to where a pass moves keys and values: the first one from the input, the last one to
// the output, the others between the output and a temporary array.
#pragma once
#include "radix_keys.cuh"

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
    return {first    ? keys_in
            : to_out ? keys_tmp
                     : keys_out,
            to_out ? keys_out : keys_tmp,
            first    ? values_in
            : to_out ? values_tmp
                     : values_out,
            to_out ? values_out : values_tmp,
            first,
            last};
  }
  __device__ __forceinline__ move of_pass(int pass) const {
    return of(pass == 0, pass == PASSES - 1, (PASSES - 1 - pass) % 2 == 0);
  }
};
