// scan_reduce_scan.cu -- the totals of tiles are computed, then scanned, and then tiles are scanned: x is read twice,
// y written once.
#include "scan_block.cuh"
#include "scan_tile.cuh"
#include "scan_totals.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_reduce(long long n, const stored *__restrict__ x, unsigned long long *totals) {
  const long long first = (long long)blockIdx.x * TILE, room = n - first;
  wide sum = identity(), total;
  if constexpr (ONE_ORDER) {  // whatever VEC is, a thread has ITEMS neighbours
    wide v[ITEMS];
    get(v, n, x, blockIdx.x);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) sum = combine(sum, v[i]);
  } else {
#pragma unroll
    for (int k = 0; k < UNITS; k++) {
      const vector v = load_unit<false>(x + first, k * BLOCK + threadIdx.x, room);
#pragma unroll
      for (int e = 0; e < VEC; e++) sum = combine(sum, widen(v.e[e]));
    }
  }
  scan_block(sum, &total);
  if (threadIdx.x == 0) reinterpret_cast<wide *>(totals)[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan(long long n, const stored *__restrict__ x, stored *__restrict__ y,
         const unsigned long long *totals) {
  wide v[ITEMS], total;
  get(v, n, x, blockIdx.x);
  const wide before = scan_threads(v, &total);
  put(v, combine(reinterpret_cast<const wide *>(totals)[blockIdx.x], before), n, y, blockIdx.x);
}
