// merge_corank.cu -- every thread finds and merges its own part of c, in global memory.
#include "merge_key.cuh"
#include "merge_path.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
          key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
          value *__restrict__ cv, const long long *splits) {
  const long long first = ((long long)blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
  const long long end = min(first + ITEMS, m + n);
  if (first >= end) return;
  long long i = co_rank(first, a, m, b, n), j = first - i;
  for (long long k = first; k < end; k++) {
    const bool from_a = j >= n || (i < m && !before(b[j], a[i]));
    c[k] = from_a ? a[i] : b[j];
    if constexpr (VALUE > 0) cv[k] = from_a ? av[i] : bv[j];
    (from_a ? i : j)++;
  }
}
