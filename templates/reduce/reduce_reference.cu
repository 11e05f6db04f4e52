// reduce_reference.cu -- one block: each thread every 1024th element, then thread 0 their 1024 results;
// in double or, of integers, exactly (they wrap).
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;
constexpr bool EXTREME = OP == OP_max || OP == OP_min;
using wide = choose<type::INTEGER, choose<EXTREME, long long, unsigned long long>, double>;

__device__ wide combine(wide a, wide b) {
  if (OP == OP_max) return a > b ? a : b;
  if (OP == OP_min) return a < b ? a : b;
  return OP == OP_product ? a * b : a + b;
}

__device__ wide take(stored v) {
  const wide x = (wide)type::widen(v);
  return OP == OP_norm1 && x < 0 ? -x : OP == OP_norm2 ? x * x : x;
}

__device__ stored identity() {
  return OP == OP_max       ? type::least()
         : OP == OP_min     ? type::most()
         : OP == OP_product ? type::one()
                            : 0;
}

extern "C" __global__ void reference(long long n, const stored *x, stored *y) {
  __shared__ wide all[1024];
  wide v = (wide)type::widen(identity());
  for (long long i = threadIdx.x; i < n; i += 1024) v = combine(v, take(x[i]));
  all[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 1024; i++) v = combine(v, all[i]);
  *y = type::narrow((type::number)(OP == OP_norm2 ? (wide)sqrt((double)v) : v));
}
