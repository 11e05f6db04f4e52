// mri_samples.cuh -- samples of k-space, by LAYOUT, MU and SAMPLES: as the caller has them, as the kernel `prepare`
// wrote them (PACK), or in constant or shared memory.
#pragma once

// What samples are made of; rd and id are NULL where Mu is given.
struct inputs {
  const float *kx, *ky, *kz, *r, *i, *rd, *id, *packed;
  int m;
};

// A wave of a sample at a voxel: with POLAR or REAL of amplitude a, else of a + i b.
struct sample {
  float x, y, z, phase, a, b;
};

// What LAYOUT=aos keeps together: w is the phase, or with REAL the amplitude.
@ if POLAR or REAL then
struct alignas(16) record {
  float x, y, z, w;
};
@ else
struct record {
  float x, y, z;
};
@ end
constexpr int PLANES = REAL ? 4 : 5;  // numbers of a sample

@ if SAMPLES == "constant" and LAYOUT == "soa" then
__constant__ float constant_x[CHUNK], constant_y[CHUNK], constant_z[CHUNK], constant_phase[POLAR ? CHUNK : 1];
@ elseif SAMPLES == "constant" then
__constant__ record constant_records[CHUNK];
@ end

template <typename T>
__device__ __forceinline__ T load(const T *p) {
  if constexpr (SAMPLES != SAMPLES_readonly) return *p;
@ if SAMPLES == "readonly" and (POLAR or REAL) and LAYOUT == "aos" then
  if constexpr (sizeof(T) == 16) {
    const float4 w = __ldg(reinterpret_cast<const float4 *>(p));
    return *reinterpret_cast<const T *>(&w);
  }
@ end
  T v;
#pragma unroll
  for (int i = 0; i < sizeof(T) / 4; i++) {
    reinterpret_cast<float *>(&v)[i] = __ldg(reinterpret_cast<const float *>(p) + i);
  }
  return v;
}

// Mu, or with REAL the squared magnitude.
__device__ __forceinline__ float2 mu_of(const inputs &in, long long s) {
  const float r = load(in.r + s), i = load(in.i + s);
  if constexpr (REAL) return {fmaf(r, r, i * i), 0.0f};
  if constexpr (GIVEN_DATA) {
    const float rd = load(in.rd + s), id = load(in.id + s);
    return {fmaf(r, rd, i * id), fmaf(r, id, -i * rd)};
  }
  return {r, i};
}

// Sample s of what the caller gave.
__device__ __forceinline__ sample given_sample(const inputs &in, long long s) {
  const float2 mu = mu_of(in, s);
  return {load(in.kx + s), load(in.ky + s), load(in.kz + s), 0.0f, mu.x, mu.y};
}

// The same with phases in units of UNIT, and with POLAR in polar coordinates.
__device__ __forceinline__ sample prepared_sample(const inputs &in, long long s) {
  sample p = given_sample(in, s);
  if constexpr (RADIANS) p = {TURN * p.x, TURN * p.y, TURN * p.z, 0.0f, p.a, p.b};
  if constexpr (POLAR) {
    p.phase = atan2f(p.b, p.a) / UNIT;
    p.a = hypotf(p.a, p.b);
  }
  return p;
}

// Sample s of this launch, whose first is `begin`.
__device__ __forceinline__ sample sample_at(const inputs &in, int begin, int s) {
  const long long at = (long long)begin + s;
  sample p = {};
  if constexpr (!PACK) {
    const float2 mu = mu_of(in, at);
    p.a = mu.x;
    p.b = mu.y;
  }
@ if SAMPLES == "constant" and LAYOUT == "soa" then
  p.x = constant_x[s];
  p.y = constant_y[s];
  p.z = constant_z[s];
  if constexpr (POLAR) p.phase = constant_phase[s];
@ elseif LAYOUT == "soa" then
  p.x = load(PACK ? in.packed + at : in.kx + at);
  p.y = load(PACK ? in.packed + in.m + at : in.ky + at);
  p.z = load(PACK ? in.packed + 2ll * in.m + at : in.kz + at);
  if constexpr (POLAR) p.phase = load(in.packed + 3ll * in.m + at);
@ else
@   if SAMPLES == "constant" then
  const record r = constant_records[s];
@   else
  const record r = load(reinterpret_cast<const record *>(in.packed) + at);
@   end
  p.x = r.x;
  p.y = r.y;
  p.z = r.z;
@   if POLAR then
  p.phase = r.w;
@   elseif REAL then
  p.a = r.w;
@   end
@ end
  if constexpr (PACK && !(REAL && LAYOUT == LAYOUT_aos)) {
    p.a = load(in.packed + (POLAR ? 4ll : 3ll) * in.m + at);
    if constexpr (!POLAR && !REAL) p.b = load(in.packed + 4ll * in.m + at);
  }
  return p;
}

// What a thread adds for a sample at the place (x, y, z), and how it does.
__device__ __forceinline__ float phase_at(const sample &p, float x, float y, float z) {
  constexpr bool SCALED = PACK || SAMPLES == SAMPLES_shared;
  float phase;
  if constexpr (POLAR) {
    phase = fmaf(p.x, x, fmaf(p.y, y, fmaf(p.z, z, p.phase)));
  } else {
    phase = fmaf(p.x, x, fmaf(p.y, y, p.z * z));
  }
  return RADIANS && !SCALED ? TURN * phase : phase;
}
template <bool POLYNOMIAL>
__device__ __forceinline__ void add_sample(float2 &sum, const sample &p, float phase) {
  if constexpr (POLAR || REAL) {
    add_wave<POLYNOMIAL>(sum, p.a, phase);
  } else {
    add_product<POLYNOMIAL>(sum, p.a, p.b, phase);
  }
}
