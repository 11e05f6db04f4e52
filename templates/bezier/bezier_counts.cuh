// bezier_counts.cuh -- the launch before one that computes points: where each curve's begin.
#pragma once
#include "pdl.cuh"
#include "ticket.cuh"

#include "bezier_starts.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_flat(long long curves, const float *__restrict__ control, int max_points, float *,
                long long *__restrict__ starts, unsigned long long *words,
                unsigned long long *counter) {
  __shared__ float staged[6 * BLOCK];
  unsigned launch;
  if constexpr (ALG == ALG_block) control += pdl_wait();
  const long long tile = take_ticket(counter, &launch), first = tile * BLOCK;
  const tile_states all = {words, launch};
  const bezier_tile t = bezier_count_tile(curves, first, control, max_points, staged);
  bezier_put_starts(curves, first, bezier_base(all, tile, t.points), t, starts);
}

// The points of one curve, by the threads of a block, each from its own number on.
__device__ __forceinline__ void bezier_put_curve(const float *__restrict__ control, float *out,
                                                 int count, int from, int step) {
  bezier_curve c;
  c.load(control);
  const float last = (float)(count - 1), one = 1.0f / last;
  for (int i = from; i < count; i += step) {
    bezier_store<1>(out, i, bezier_at(c, (float)i, last, one));
  }
}
