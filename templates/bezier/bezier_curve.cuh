// bezier_curve.cuh -- a quadratic curve: how many points it gets, and where they are.
#pragma once

struct bezier_curve {
  float x[3], y[3];

  __device__ __forceinline__ void load(const float *__restrict__ p) {
#pragma unroll
    for (int i = 0; i < 3; i++) x[i] = p[2 * i], y[i] = p[2 * i + 1];
  }
};

// One rounding an operation, so that every kernel finds the same count. All three points equal, and
// NaNs, give a curvature of NaN and the least count; equal ends otherwise one of infinity and the most.
__device__ __forceinline__ int bezier_count(const bezier_curve &c, int max_points) {
  const float mx = __fsub_rn(c.x[1], __fmul_rn(0.5f, __fadd_rn(c.x[0], c.x[2]))),
              my = __fsub_rn(c.y[1], __fmul_rn(0.5f, __fadd_rn(c.y[0], c.y[2]))),
              ex = __fsub_rn(c.x[2], c.x[0]), ey = __fsub_rn(c.y[2], c.y[0]);
  const float away = __fsqrt_rn(__fadd_rn(__fmul_rn(mx, mx), __fmul_rn(my, my))),
              apart = __fsqrt_rn(__fadd_rn(__fmul_rn(ex, ex), __fmul_rn(ey, ey)));
  const float wanted = __fmul_rn(16.0f, __fdiv_rn(away, apart));
  const int n = wanted >= (float)max_points ? max_points : wanted >= 4.0f ? (int)wanted : 4;
  return n < max_points ? n : max_points;
}

struct bezier_point {
  float x, y;
};

// Point i of those from 0 to `last`, with step = 1 / last; the first and the last are P0 and P2 themselves.
__device__ __forceinline__ bezier_point bezier_at(const bezier_curve &c, float i, float last,
                                                  float step) {
  const float t = i == last ? 1.0f : i * step, s = i == 0.0f ? 1.0f : (last - i) * step;
  const float a = s * s, b = 2.0f * s * t, d = t * t;
  return {a * c.x[0] + b * c.x[1] + d * c.x[2], a * c.y[0] + b * c.y[1] + d * c.y[2]};
}

// To out[2 i], in pairs where WIDTH allows.
template <int WIDTH>
__device__ __forceinline__ void bezier_store(float *out, long long i, bezier_point p) {
  if constexpr (WIDTH == 1) {
    out[2 * i] = p.x;
    out[2 * i + 1] = p.y;
  } else {
    reinterpret_cast<float2 *>(out)[i] = make_float2(p.x, p.y);
  }
}
