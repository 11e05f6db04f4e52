// conv2d_register.cu -- a thread marches down OUT_X columns of the image. It reads each row once, and adds its products
// to the sums of the results that it is part of, in registers. With SUMS=slide these are HIGH results, which move up by
// one for each row; taps are constants of the code. With SUMS=stay they are those of OUT_Y, and taps are addressed, but
// for SUMS=whole, whose code has all of a thread's FMAs one after the other, for threads whose window is in the image.
#include "conv2d_sums.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx, ARGUMENT_OF_TAPS,
           stored *__restrict__ y, long long ldy) {
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx);
  const int column = tile.column + threadIdx.x * OUT_X, row = tile.row + threadIdx.y * OUT_Y;
  const int n = min(OUT_Y, my - row), top = row + SKIP_Y - RY;
  const columns in({nx, ny, x + pdl_wait(), ldx}, column);
  if constexpr (FETCHES) {
    fetch_tile<ACROSS, DOWN, BLOCK_X * BLOCK_Y>(in.of, mx, AHEAD, threadIdx.y * BLOCK_X + threadIdx.x);
  }
@ if FILTER == "shared" then
  place_taps(f, threadIdx.y * BLOCK_X + threadIdx.x, BLOCK_X * BLOCK_Y);
  __syncthreads();
@ end
  if (column >= mx || n <= 0) return;
  y += row * ldy + column;
@ if SUMS == "slide" then
  results sums = {};
  const auto step = [&](int s, const line &v) {
    number done[OUT_X];
    if (HIGH == 1 || s >= 2 * RY && s < n) {
      sums.step<true>(v, f, s, n, done);
    } else {
      sums.step<false>(v, f, s, n, done);
    }
    if (s >= 2 * RY) {
      put(y, column, mx, done);
      y += ldy;
    }
  };
  march(in, top, n + 2 * RY, step);
@ else
  number sum[OUT_Y][OUT_X] = {};
  const auto step = [&](int s, const line &v) {
#pragma unroll
    for (int o = 0; o < OUT_Y; o++) {
      if ((unsigned)(s - o) < HIGH) add(sum[o], v, f, s - o);
    }
  };
@ if SUMS == "whole" then
  if (in.inside && top >= 0 && top + OUT_Y + 2 * RY <= ny) {
    const stored *from = in.of.x + top * ldx;
#pragma unroll
    for (int s = 0; s < OUT_Y + 2 * RY; s++) {
      step(s, in.whole(from));
      from += ldx;
    }
  } else {
    march_through<false>(in, top, OUT_Y + 2 * RY, step);
  }
@ else
  march(in, top, OUT_Y + 2 * RY, step);
@ end
#pragma unroll
  for (int o = 0; o < OUT_Y; o++) {
    if (o < n) put(y + o * ldy, column, mx, sum[o]);
  }
@ end
}
