// scan_one_block.cu -- one block scans tile after tile.
#include "pdl.cuh"
#include "scan_block.cuh"
#include "scan_tile.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan(long long n, const stored *__restrict__ x, stored *__restrict__ y) {
  wide sum = identity();
  x += pdl_wait();
  for (long long tile = 0; tile * TILE < n; tile++) {
    wide v[ITEMS], total;
    get(v, n, x, tile);
    const wide before = scan_threads(v, &total);
    put(v, combine(sum, before), n, y, tile);
    sum = combine(sum, total);
    __syncthreads();
  }
}
