// scan_totals.cuh -- the launch between two others that scans the totals of tiles.
#pragma once
#include "scan_block.cuh"

// Replaces each tile's total by the sum of the tiles before it; one block.
extern "C" __global__ void __launch_bounds__(BLOCK)
    scan_totals(long long tiles, unsigned long long *totals) {
  wide *t = reinterpret_cast<wide *>(totals);
  wide sum = identity();
  for (long long first = 0; first < tiles; first += BLOCK) {
    const long long i = first + threadIdx.x;
    wide total;
    const wide before = scan_block(i < tiles ? t[i] : identity(), &total);
    if (i < tiles) t[i] = combine(sum, before);
    sum = combine(sum, total);
    __syncthreads();
  }
}
