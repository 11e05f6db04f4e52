// mri_gather.cuh -- a thread has VOXELS voxels, and adds what all samples give to them.
#pragma once
#include "mri_trig.cuh"
#include "mri_samples.cuh"
#include "mri_voxels.cuh"
#include "mri_prepare.cuh"


@ if PRIVATE == 0 then
// As printed before registers keep a voxel: coordinates and sums are in memory.
extern "C" __global__ void __launch_bounds__(BLOCK)
gather(int begin, int count, int add, int m, const float *kx, const float *ky, const float *kz, const float *r,
       const float *i, const float *rd, const float *id, const float *packed, int nx, int ny, int nz, const float *x,
       const float *y, const float *z, float x0, float y0, float z0, float dx, float dy, float dz, float *re, float *im,
       float *partial) {
  const inputs in = {kx, ky, kz, r, i, rd, id, packed, m};
  const volume v = {nx, ny, nz, x, y, z, x0, y0, z0, dx, dy, dz};
  const long long n = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (n >= v.size()) return;
  if (!add) re[n] = im[n] = 0;
#pragma unroll UNROLL
  for (int s = 0; s < count; s++) {
    const float3 at = place_of(v, n);
    const sample p = sample_at(in, begin, s);
    float2 sum = {((volatile float *)re)[n], ((volatile float *)im)[n]};
    add_sample<by_polynomial(0)>(sum, p, phase_at(p, at.x, at.y, at.z));
    ((volatile float *)re)[n] = sum.x;
    ((volatile float *)im)[n] = sum.y;
  }
}
@ else

@ if SAMPLES == "shared" then
// CHUNK samples of a block.
struct staged {
@   if LAYOUT == "aos" then
  record at[CHUNK];
@   else
  float x[CHUNK], y[CHUNK], z[CHUNK], phase[POLAR ? CHUNK : 1];
@   end
  float a[REAL && LAYOUT == LAYOUT_aos ? 1 : CHUNK], b[POLAR || REAL ? 1 : CHUNK];
};

__device__ __forceinline__ void stage(staged &to, int s, const sample &p) {
@   if LAYOUT == "aos" then
  to.at[s].x = p.x;
  to.at[s].y = p.y;
  to.at[s].z = p.z;
@     if POLAR then
  to.at[s].w = p.phase;
@     elseif REAL then
  to.at[s].w = p.a;
@     end
@   else
  to.x[s] = p.x;
  to.y[s] = p.y;
  to.z[s] = p.z;
  if constexpr (POLAR) to.phase[s] = p.phase;
@   end
  if constexpr (!(REAL && LAYOUT == LAYOUT_aos)) to.a[s] = p.a;
  if constexpr (!POLAR && !REAL) to.b[s] = p.b;
}

__device__ __forceinline__ sample staged_sample(const staged &from, int s) {
@   if LAYOUT == "aos" then
  const record r = from.at[s];
  sample p = {r.x, r.y, r.z, 0.0f, 0.0f, 0.0f};
@     if POLAR then
  p.phase = r.w;
@     elseif REAL then
  p.a = r.w;
@     end
@   else
  sample p = {from.x[s], from.y[s], from.z[s], 0.0f, 0.0f, 0.0f};
  if constexpr (POLAR) p.phase = from.phase[s];
@   end
  if constexpr (!(REAL && LAYOUT == LAYOUT_aos)) p.a = from.a[s];
  if constexpr (!POLAR && !REAL) p.b = from.b[s];
  return p;
}
@ end

// Voxel v of the thread in `slot`: GROUP apart, or next to each other in a line where they rotate.
__device__ __forceinline__ long long voxel(const volume &where, int slot, int v) {
  const long long first = (long long)blockIdx.x * GROUP;
  if constexpr (TRIG != TRIG_rotate) return first * VOXELS + v * GROUP + slot;
  const int runs = (where.nx + VOXELS - 1) / VOXELS;
  const long long line = (first + slot) / runs;
  const int x = (int)((first + slot) % runs) * VOXELS + v;
  return line < (long long)where.ny * where.nz && x < where.nx ? line * where.nx + x : where.size();
}

template <int V>
__device__ __forceinline__ void add_to_voxels(float2 (&sum)[VOXELS], const float3 (&at)[VOXELS], const sample &p) {
  if constexpr (V < VOXELS) {
    add_sample<by_polynomial(V)>(sum[V], p, phase_at(p, at[V].x, at[V].y, at[V].z));
    add_to_voxels<V + 1>(sum, at, p);
  }
}

// The wave at the first voxel of a run, and a factor from each to the next.
__device__ __forceinline__ void rotate_along(float2 (&sum)[VOXELS], const float3 &at, float step, const sample &p) {
  float2 w = wave<by_polynomial(0)>(phase_at(p, at.x, at.y, at.z));
  const float2 factor = wave<by_polynomial(0)>(phase_at({p.x, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, step, 0.0f, 0.0f));
  if constexpr (POLAR || REAL) {
    w = {p.a * w.x, p.a * w.y};
  } else {
    w = {fmaf(p.a, w.x, -p.b * w.y), fmaf(p.b, w.x, p.a * w.y)};
  }
#pragma unroll
  for (int v = 0; v < VOXELS; v++) {
    sum[v] = {sum[v].x + w.x, sum[v].y + w.y};
    w = {fmaf(w.x, factor.x, -w.y * factor.y), fmaf(w.x, factor.y, w.y * factor.x)};
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
gather(int begin, int count, int add, int m, const float *kx, const float *ky, const float *kz, const float *r,
       const float *i, const float *rd, const float *id, const float *packed, int nx, int ny, int nz, const float *x,
       const float *y, const float *z, float x0, float y0, float z0, float dx, float dy, float dz, float *re, float *im,
       float *partial) {
  const inputs in = {kx, ky, kz, r, i, rd, id, packed, m};
  const volume where = {nx, ny, nz, x, y, z, x0, y0, z0, dx, dy, dz};
  const int slot = threadIdx.x % GROUP, part = threadIdx.x / GROUP;
  const long long n = where.size();
  float3 at[VOXELS];
  float2 sum[VOXELS] = {};
#pragma unroll
  for (int v = 0; v < VOXELS; v++) at[v] = place_of(where, voxel(where, slot, v));
  const auto add_all = [&](const sample &p) {
    if constexpr (TRIG == TRIG_rotate) {
      rotate_along(sum, at[0], dx, p);
    } else {
      add_to_voxels<0>(sum, at, p);
    }
  };

  const part_of_samples own = samples_of_block(count);
@ if SAMPLES == "shared" then
  __shared__ staged chunk;
  for (int first = own.begin; first < own.end; first += CHUNK) {
    const int here = min(CHUNK, own.end - first);
    __syncthreads();
    for (int s = threadIdx.x; s < here; s += BLOCK) stage(chunk, s, prepared_sample(in, (long long)begin + first + s));
    __syncthreads();
#pragma unroll UNROLL
    for (int s = part; s < here; s += PARTS) add_all(staged_sample(chunk, s));
  }
@ else
#pragma unroll UNROLL
  for (int s = own.begin + part; s < own.end; s += PARTS) add_all(sample_at(in, begin, s));
@ end

  const results to = {re, im, partial, add != 0};
  keep_all(sum, [&](int v, float2 all) { keep(to, n, voxel(where, slot, v), all); });
}
@ end
