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

struct span {  // of a curve's points in the block
  bezier_curve curve;
  int end;
  float at, last, step;  // of the next point

  __device__ __forceinline__ void load(int c, int i) {
    const int first = firsts[c];
    end = firsts[c + 1];
    curve.load(staged + 6 * c);
    at = (float)(i - first);
    last = (float)(end - first - 1);
    step = steps[c];
  }
};

__device__ __forceinline__ void put_whole(float *out, long long i, const bezier_point *p) {
#pragma unroll
  for (int k = 0; k < POINTS; k++) {
    if constexpr (STORE < 4) {
      bezier_store<STORE>(out, i + k, p[k]);
    } else if (k % 2 == 0) {
      reinterpret_cast<float4 *>(out)[(i + k) / 2] =
          make_float4(p[k].x, p[k].y, p[k + 1].x, p[k + 1].y);
    }
  }
}

// A thread POINTS neighbours, from an even point on where two are stored together.
__device__ __forceinline__ void put_points(float *out, long long base, int points) {
  const int odd = STORE == 4 ? (int)(base & 1) : 0;
  for (int i = POINTS * (int)threadIdx.x - odd; i < points; i += POINTS * BLOCK) {
    bezier_point p[POINTS];
    int curve = curve_of(max(i, 0));
    span s;
    s.load(curve, i);
#pragma unroll
    for (int k = 0; k < POINTS; k++) {
      if (k > 0 && i + k >= s.end && i + k < points) s.load(++curve, i + k);
      p[k] = bezier_at(s.curve, s.at, s.last, s.step);
      s.at += 1.0f;
    }
    if (i >= 0 && i + POINTS <= points) {
      put_whole(out, base + i, p);
    } else {
#pragma unroll
      for (int k = 0; k < POINTS; k++) {
        if (i + k >= 0 && i + k < points) bezier_store<STORE == 1 ? 1 : 2>(out, base + i + k, p[k]);
      }
    }
  }
}

// GROUP lanes a curve.
__device__ __forceinline__ void put_curves(float *out, long long base) {
  constexpr int LANES = GROUP > 0 ? GROUP : 1;
  for (int curve = (int)threadIdx.x / LANES; curve < BLOCK; curve += BLOCK / LANES) {
    const int lane = (int)threadIdx.x % LANES, first = firsts[curve];
    span s;
    s.load(curve, first + lane);
    for (int i = first + lane; i < s.end; i += LANES, s.at += LANES) {
      bezier_store<STORE>(out, base + i, bezier_at(s.curve, s.at, s.last, s.step));
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
