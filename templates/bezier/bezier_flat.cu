// bezier_flat.cu -- one launch: blocks count the points of BLOCK curves, look back, and compute them.
#include "pdl.cuh"
#include "ticket.cuh"

#include "bezier_starts.cuh"

__shared__ float staged[6 * BLOCK], steps[BLOCK];
__shared__ int firsts[BLOCK + 1];

// The curve that point i of the block lies on: the last whose points begin at i or before.
__device__ __forceinline__ int curve_of(int i) {
  int at = 0;
#pragma unroll
  for (int d = BLOCK / 2; d > 0; d /= 2) {
    if (firsts[at + d] <= i) at += d;
  }
  return at;
}

__device__ __forceinline__ bezier_point point_of(int curve, int i) {
  bezier_curve c;
  c.load(staged + 6 * curve);
  return bezier_at(c, i, firsts[curve + 1] - firsts[curve] - 1, steps[curve]);
}

// A thread a point, or two neighbours, from an even point on, that are stored together.
__device__ __forceinline__ void put_points(float *out, long long base, int points) {
  constexpr int EACH = STORE == 4 ? 2 : 1;
  const int odd = EACH == 2 ? (int)(base & 1) : 0;
  for (int i = EACH * (int)threadIdx.x - odd; i < points; i += EACH * BLOCK) {
    int curve = curve_of(i < 0 ? 0 : i);
    if constexpr (EACH == 1) {
      bezier_store<STORE>(out, base + i, point_of(curve, i - firsts[curve]));
    } else {
      const bool one = i >= 0, two = i + 1 < points;
      bezier_point p = {0, 0}, q = {0, 0};
      if (one) p = point_of(curve, i - firsts[curve]);
      curve += i + 1 >= firsts[curve + 1] && curve + 1 < BLOCK;
      if (two) q = point_of(curve, i + 1 - firsts[curve]);
      if (one && two) {
        reinterpret_cast<float4 *>(out)[(base + i) / 2] = make_float4(p.x, p.y, q.x, q.y);
      } else if (one) {
        bezier_store<2>(out, base + i, p);
      } else if (two) {
        bezier_store<2>(out, base + i + 1, q);
      }
    }
  }
}

// GROUP lanes a curve.
__device__ __forceinline__ void put_curves(float *out, long long base) {
  constexpr int LANES = GROUP > 0 ? GROUP : 1;
  for (int curve = (int)threadIdx.x / LANES; curve < BLOCK; curve += BLOCK / LANES) {
    bezier_curve c;
    c.load(staged + 6 * curve);
    const int first = firsts[curve], last = firsts[curve + 1] - first - 1;
    const float step = steps[curve];
    for (int i = (int)threadIdx.x % LANES; i <= last; i += LANES) {
      bezier_store<STORE>(out, base + first + i, bezier_at(c, i, last, step));
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    bezier_flat(long long curves, const float *__restrict__ control, int max_points,
                float *__restrict__ out, long long *__restrict__ starts, unsigned long long *words,
                unsigned long long *counter) {
  unsigned launch;
  control += pdl_wait();
  const long long tile = take_ticket(counter, &launch), first = tile * BLOCK;
  const tile_states all = {words, launch};
  const bezier_tile t = bezier_count_tile(curves, first, control, max_points, staged);
  firsts[threadIdx.x] = t.before;
  steps[threadIdx.x] = 1.0f / (float)(t.count - 1);
  if (threadIdx.x == 0) firsts[BLOCK] = t.points;
  const long long base = bezier_base(all, tile, t.points);
  bezier_put_starts(curves, first, base, t, starts);
  if constexpr (GROUP == 0) {
    put_points(out, base, t.points);
  } else {
    put_curves(out, base);
  }
}
