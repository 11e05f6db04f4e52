// scan_reference.cu -- chunks of consecutive elements: their totals, these scanned by one thread, then each chunk by
// one thread; in double or, of integers, exactly (they wrap).
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;
constexpr bool WRAPS = OP == OP_sum || OP == OP_product;
using wide = choose<type::INTEGER, choose<WRAPS, unsigned long long, long long>, double>;

__device__ wide combine(wide a, wide b) {
  if (OP == OP_max) return a > b ? a : b;
  if (OP == OP_min) return a < b ? a : b;
  return OP == OP_product ? a * b : a + b;
}
__device__ wide widen(stored v) { return (wide)type::widen(v); }
__device__ stored narrow(wide v) { return type::narrow((type::number)v); }
__device__ wide identity() {
  if (OP == OP_max) return widen(type::least());
  if (OP == OP_min) return widen(type::most());
  return OP == OP_product ? 1 : 0;
}

extern "C" __global__ void total(long long n, long long chunk, const stored *x, wide *sums) {
  const long long first = (blockIdx.x * 256ll + threadIdx.x) * chunk;
  if (first >= n) return;
  wide sum = identity();
  for (long long i = first; i < n && i < first + chunk; i++) sum = combine(sum, widen(x[i]));
  sums[first / chunk] = sum;
}

extern "C" __global__ void exclude(long long chunks, wide *sums) {
  wide sum = identity();
  for (long long i = 0; i < chunks; i++) {
    const wide own = sums[i];
    sums[i] = sum;
    sum = combine(sum, own);
  }
}

extern "C" __global__ void reference(long long n, long long chunk, const stored *x, stored *y,
                                     const wide *sums) {
  const long long first = (blockIdx.x * 256ll + threadIdx.x) * chunk;
  if (first >= n) return;
  wide sum = sums[first / chunk];
  for (long long i = first; i < n && i < first + chunk; i++) {
    const wide with = combine(sum, widen(x[i]));
    y[i] = narrow(KIND == KIND_inclusive ? with : sum);
    sum = with;
  }
}
