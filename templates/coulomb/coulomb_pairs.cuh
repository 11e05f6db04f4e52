// coulomb_pairs.cuh -- what an atom adds to the energies of a thread's points, which lie on a line.
#pragma once

constexpr float LEAST_NORMAL = 0x1p-126f;

// The points of a grid, and what is the same for all pairs.
struct lattice {
  int nx, ny, nz;
  float spacing, x0, y0, z0;
  float soft2;  // added to squares of distances
  float most;   // square of the cutoff, and soft2

  // Coordinates are defined as rounded once, so that differences to atoms have an error of their own size.
  __device__ __forceinline__ float x(int i) const { return fmaf((float)i, spacing, x0); }
  __device__ __forceinline__ float y(int i) const { return fmaf((float)i, spacing, y0); }
  __device__ __forceinline__ float z(int i) const { return fmaf((float)i, spacing, z0); }
};

__device__ __forceinline__ lattice lattice_of(int nx, int ny, int nz, float spacing, float x0,
                                              float y0, float z0, float soften, float cutoff) {
  return {nx, ny, nz, spacing, x0, y0, z0, soften * soften, fmaf(cutoff, cutoff, soften * soften)};
}

__device__ __forceinline__ float4 load_atom(const float *atoms, long long i) {
  if constexpr (ALIGN == 4) return __ldg(reinterpret_cast<const float4 *>(atoms) + i);
  const float *const a = atoms + 4 * i;
  return make_float4(__ldg(a), __ldg(a + 1), __ldg(a + 2), __ldg(a + 3));
}

// ---- a thread's points --------------------------------------------------------------------------

// POINTS points along AXIS, `stride` apart; those from `length` on do not exist.
struct column {
  float u, v, c[POINTS];  // coordinates across AXIS, and along it
  long long at, step;     // of the first in the array, and from one to the next
  int first, stride, length;
};

__device__ __forceinline__ column column_of(const lattice &g, int x, int y, int z, int stride) {
  column p;
  p.at = ((long long)z * g.ny + y) * g.nx + x;
  p.u = AXIS == AXIS_x ? g.y(y) : g.x(x);
  p.v = AXIS == AXIS_z ? g.y(y) : g.z(z);
  p.first = AXIS == AXIS_x ? x : AXIS == AXIS_y ? y : z;
  p.length = AXIS == AXIS_x ? g.nx : AXIS == AXIS_y ? g.ny : g.nz;
  p.stride = stride;
  p.step = (AXIS == AXIS_x   ? 1ll
            : AXIS == AXIS_y ? (long long)g.nx
                             : (long long)g.nx * g.ny) *
           stride;
#pragma unroll
  for (int k = 0; k < POINTS; k++) {
    const int i = p.first + k * stride;
    p.c[k] = AXIS == AXIS_x ? g.x(i) : AXIS == AXIS_y ? g.y(i) : g.z(i);
  }
  // outside of the grid across AXIS
  if ((AXIS != AXIS_x && x >= g.nx) || (AXIS != AXIS_y && y >= g.ny) ||
      (AXIS != AXIS_z && z >= g.nz))
    p.length = 0;
  return p;
}

// Are others adding to the same points at the same time?
template <bool SHARED>
__device__ __forceinline__ void add_energies(const column &p, const float *sum, float *energy) {
#pragma unroll
  for (int k = 0; k < POINTS; k++) {
    if (p.first + k * p.stride >= p.length) return;
    float *const to = energy + p.at + k * p.step;
    if constexpr (SHARED) {
      atomicAdd(to, sum[k]);
    } else {
      *to += sum[k];
    }
  }
}

__device__ __forceinline__ void put_energies(const column &p, const float *sum, float *to) {
#pragma unroll
  for (int k = 0; k < POINTS; k++) {
    if (p.first + k * p.stride < p.length) to[p.at + k * p.step] = sum[k];
  }
}

// ---- pairs --------------------------------------------------------------------------------------

// By the special function unit, which takes one of these in the time of eight other instructions; off by 2^-22.9 at
// most. Squares below the least normal number count as 0.
// src: PTX ISA, "rsqrt"
__device__ __forceinline__ float rsqrt_unit(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The same, and never computed where it is not asked for.
__device__ __forceinline__ float rsqrt_on_demand(float x) {
  float y;
  asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// By other instructions: negating and halving the exponent comes within 3.5 %, so e = 1 - x y^2 is at most 0.0682, for
// which the polynomial is (1 - e)^(-1/2) within 2^-24; all within 2^-22.5. Of no use below the least normal number.
__device__ __forceinline__ float rsqrt_arithmetic(float x) {
  const float y = __int_as_float(0x5f374600 - (__float_as_int(x) >> 1));
  const float e = fmaf(-x * y, y, 1.0f);
  float p = fmaf(e, 0.27453787f, 0.31364596f);
  p = fmaf(p, e, 0.37499928f);
  p = fmaf(p, e, 0.49999934f);
  return y * fmaf(p, e, 1.0f);
}

// MIXED of 16 pairs, evenly spread.
__device__ __forceinline__ constexpr bool is_arithmetic(int pair) {
  return (pair + 1) * MIXED / 16 > pair * MIXED / 16;
}

// With FLAT what is the same for all points, which have one z, has been added up in a.z: see flatten.
__device__ __forceinline__ float across(const column &p, const float4 &a, float soft2) {
  const float du = p.u - (AXIS == AXIS_x ? a.y : a.x), dv = p.v - (AXIS == AXIS_z ? a.y : a.z);
  return FLAT ? fmaf(du, du, a.z) : fmaf(dv, dv, fmaf(du, du, soft2));
}
__device__ __forceinline__ float4 flatten(const lattice &g, float4 a) {
  if (FLAT) a.z = fmaf(g.z(0) - a.z, g.z(0) - a.z, g.soft2);
  return a;
}
__device__ __forceinline__ float along(const float4 &a) {
  return AXIS == AXIS_x ? a.x : AXIS == AXIS_y ? a.y : a.z;
}

// N atoms: first the squares of all distances, then all roots, then the sums, so that no sum waits for its root while
// there are others to compute. Returns what is at most the least square.
template <int N, class ATOM>
__device__ __forceinline__ float add_group(const lattice &g, const column &p, const ATOM &atom,
                                           float *sum) {
  float charge[N], r2[N * POINTS], inverse[N * POINTS];
  float least = LEAST_NORMAL;
#pragma unroll
  for (int u = 0; u < N; u++) {
    const float4 a = atom(u);
    const float r = across(p, a, g.soft2);
    least = fminf(least, r);
    charge[u] = a.w;
#pragma unroll
    for (int k = 0; k < POINTS; k++) {
      const float d = p.c[k] - along(a);
      r2[u * POINTS + k] = fmaf(d, d, r);
    }
  }
#pragma unroll
  for (int i = 0; i < N * POINTS; i++) {
    if (!is_arithmetic(i) && !SKIP) inverse[i] = rsqrt_unit(r2[i]);
  }
#pragma unroll
  for (int i = 0; i < N * POINTS; i++) {
    if (is_arithmetic(i)) inverse[i] = rsqrt_arithmetic(r2[i]);
  }
#pragma unroll
  for (int i = 0; i < N * POINTS; i++) {
    float &to = sum[i % POINTS];
    if (CUT && !(r2[i] <= g.most)) continue;
    if constexpr (ROOT == ROOT_divide) {
      to += __fdiv_rn(charge[i / POINTS], __fsqrt_rn(r2[i]));
    } else if (SKIP && !is_arithmetic(i)) {
      to = fmaf(charge[i / POINTS], rsqrt_on_demand(r2[i]), to);
    } else {
      to = fmaf(charge[i / POINTS], inverse[i], to);
    }
  }
  return least;
}

// What add_group has left out: an atom at the point itself, whose energy is infinite.
__device__ __forceinline__ void add_infinities(const lattice &g, const column &p, const float4 &a,
                                               float *sum) {
  const float r = across(p, a, g.soft2);
  if (!(r < LEAST_NORMAL)) return;
#pragma unroll
  for (int k = 0; k < POINTS; k++) {
    const float d = p.c[k] - along(a);
    if (fmaf(d, d, r) < LEAST_NORMAL) sum[k] += a.w * __int_as_float(0x7f800000);
  }
}

// Atoms `atom(0)` to `atom(n - 1)`.
template <class ATOM>
__device__ __forceinline__ void add_atoms(const lattice &g, const column &p, int n, float *sum,
                                          const ATOM &atom) {
  float least = LEAST_NORMAL;
  int i = 0;
#pragma unroll 1
  for (; i + UNROLL <= n; i += UNROLL) {
    least = fminf(least, add_group<UNROLL>(
                             g, p, [&](int u) { return atom(i + u); }, sum));
  }
  if constexpr (UNROLL > 1) {
#pragma unroll 1
    for (; i < n; i++)
      least = fminf(least, add_group<1>(
                               g, p, [&](int) { return atom(i); }, sum));
  }
  if constexpr (MIXED > 0) {
    if (!(least < LEAST_NORMAL)) return;
#pragma unroll 1
    for (i = 0; i < n; i++) add_infinities(g, p, atom(i), sum);
  }
}
