// scan_three_launch.cu -- tiles are scanned, then their totals, then these are added to the tiles.
#include "scan_block.cuh"
#include "scan_tile.cuh"
#include "scan_totals.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_tiles(long long n, const stored *__restrict__ x, stored *__restrict__ y,
               unsigned long long *totals) {
  wide v[ITEMS], total;
  get(v, n, x, blockIdx.x);
  const wide before = scan_threads(v, &total);
  put(v, before, n, y, blockIdx.x);
  if (threadIdx.x == 0) reinterpret_cast<wide *>(totals)[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_add(long long n, stored *y, const unsigned long long *totals) {
  const wide before = reinterpret_cast<const wide *>(totals)[blockIdx.x];
  const long long first = (long long)blockIdx.x * TILE, room = n - first;
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const int u = k * BLOCK + threadIdx.x;
    if (u * VEC >= room) break;
    vector v = load_unit<false>(y + first, u, room);
#pragma unroll
    for (int e = 0; e < VEC; e++) v.e[e] = narrow(combine(before, widen(v.e[e])));
    store_unit<false>(y + first, u, room, v);
  }
}
