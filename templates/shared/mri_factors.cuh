// mri_factors.cuh -- sums on a grid, by factors: a voxel's wave is the one in the middle of its run of VOXELS along x,
// times one that depends on the sample and the distance only. Such factors are a table in shared memory. Two voxels
// at the same distance on both sides have the same cosine, and sines of both signs: each takes two fused additions a
// sample.
#pragma once
#include "mri_trig.cuh"
#include "mri_samples.cuh"
#include "mri_voxels.cuh"

constexpr int PAIRS = VOXELS / 2;
constexpr bool POLYNOMIAL = TRIG == TRIG_polynomial;

struct table_of_chunk {
  float4 at[CHUNK];                 // coordinates, and the phase
  float4 factor[CHUNK][PAIRS / 2];  // amplitude times cosine and sine, at two distances
  float a[CHUNK];
};

// Samples `first` and following, `count` of them; by all threads.
__device__ __forceinline__ void stage(table_of_chunk &to, const inputs &in, long long first,
                                      int count, float dx) {
  for (int s = threadIdx.x; s < count; s += BLOCK) {
    const sample p = prepared_sample(in, first + s);
    to.at[s] = {p.x, p.y, p.z, p.phase};
    to.a[s] = p.a;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count * PAIRS; i += BLOCK) {
    const int s = i / PAIRS, pair = i % PAIRS;
    const float2 w = wave<POLYNOMIAL>(to.at[s].x * ((pair + 0.5f) * dx));
    reinterpret_cast<float2 *>(to.factor[s])[pair] = {to.a[s] * w.x, to.a[s] * w.y};
  }
  __syncthreads();
}

// The voxels of a run: the line's first, and how many of the line come before.
struct run {
  long long line;
  int before;
};
__device__ __forceinline__ run run_of(const volume &v, int slot, int line) {
  const int runs = (v.nx + VOXELS - 1) / VOXELS;
  const long long i = ((long long)blockIdx.x * LINES + line) * GROUP + slot;
  return {i / runs, (int)(i % runs) * VOXELS};
}

// Sums of a pair: the wave's real and imaginary part times the cosine, then times the sine.
struct pair_sums {
  float rc, ic, rs, is;
};
__device__ __forceinline__ void add_factor(pair_sums &to, float2 w, float c, float s) {
  to.rc = fmaf(w.x, c, to.rc);
  to.ic = fmaf(w.y, c, to.ic);
  to.rs = fmaf(w.x, s, to.rs);
  to.is = fmaf(w.y, s, to.is);
}

// In the middle of each run; computed a sample ahead, since special functions take their time.
__device__ __forceinline__ void waves(float2 (&w)[LINES], const float3 (&at)[LINES],
                                      const float4 &k) {
#pragma unroll
  for (int l = 0; l < LINES; l++) {
    w[l] = wave<POLYNOMIAL>(phase_at({k.x, k.y, k.z, k.w, 0.0f, 0.0f}, at[l].x, at[l].y, at[l].z));
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    factors(int count, int add, const float *kx, const float *ky, const float *kz, const float *r,
            const float *i, const float *rd, const float *id, int nx, int ny, int nz, float x0,
            float y0, float z0, float dx, float dy, float dz, float *re, float *im,
            float *partial) {
  __shared__ __align__(16) table_of_chunk chunk;
  const inputs in = {kx, ky, kz, r, i, rd, id, nullptr, count};
  const volume where = {nx, ny, nz, nullptr, nullptr, nullptr, x0, y0, z0, dx, dy, dz};
  const int slot = threadIdx.x % GROUP, part = threadIdx.x / GROUP;
  float3 at[LINES];
  pair_sums sum[LINES][PAIRS] = {};
#pragma unroll
  for (int l = 0; l < LINES; l++) {
    const run q = run_of(where, slot, l);
    at[l] = {fmaf(q.before + 0.5f * (VOXELS - 1), dx, x0), fmaf((float)(q.line % ny), dy, y0),
             fmaf((float)(q.line / ny), dz, z0)};
  }

  const part_of_samples own = samples_of_block(count);
  for (int first = own.begin; first < own.end; first += CHUNK) {
    const int here = min(CHUNK, own.end - first);
    __syncthreads();
    stage(chunk, in, first, here, dx);
    float2 next[LINES];
    waves(next, at, chunk.at[min(part, here - 1)]);
#pragma unroll UNROLL
    for (int s = part; s < here; s += PARTS) {
      float2 w[LINES];
#pragma unroll
      for (int l = 0; l < LINES; l++) w[l] = next[l];
      waves(next, at, chunk.at[min(s + PARTS, here - 1)]);
#pragma unroll
      for (int p = 0; p < PAIRS; p += 2) {
        const float4 f = chunk.factor[s][p / 2];
#pragma unroll
        for (int l = 0; l < LINES; l++) {
          add_factor(sum[l][p], w[l], f.x, f.y);
          add_factor(sum[l][p + 1], w[l], f.z, f.w);
        }
      }
    }
  }

  const long long n = where.size(), lines = (long long)ny * nz;
  const results to = {re, im, partial, add != 0};
#pragma unroll
  for (int l = 0; l < LINES; l++) {
    const run q = run_of(where, slot, l);
    float2 all[VOXELS];
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
      const pair_sums &s = sum[l][p];
      all[PAIRS + p] = {s.rc - s.is, s.ic + s.rs};
      all[PAIRS - 1 - p] = {s.rc + s.is, s.ic - s.rs};
    }
    keep_all(all, [&](int v, float2 f) {
      const int x = q.before + v;
      keep(to, n, q.line < lines && x < nx ? q.line * nx + x : n, f);
    });
  }
}
