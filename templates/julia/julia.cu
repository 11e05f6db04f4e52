// julia.cu -- how many steps z = z^2 + c from each pixel's point of the plane stay inside a circle.
#include "pdl.cuh"

// The square of the circle's radius. From beyond it a step leads further out whatever c is, up to 100 + 100i, and in
// the end to infinities and NaNs: a test finds out at any later step.
constexpr float BOUND = 1000.0f;

struct point {
  float x, y, x2, y2;  // the squares, where ROUND=each
  int n;               // steps so far; beyond `iterations` they do not count
  float norms[STEPS];  // after each of the last STEPS steps but one, for COUNT=kept
};

__device__ __forceinline__ void square(point &p) {
  p.x2 = __fmul_rn(p.x, p.x);
  p.y2 = __fmul_rn(p.y, p.y);
}

__device__ __forceinline__ void step(point &p, float cr, float ci) {
  if constexpr (ROUND == ROUND_fused) {
    const float x = fmaf(p.x, p.x, fmaf(-p.y, p.y, cr));
    p.y = fmaf(p.x + p.x, p.y, ci);
    p.x = x;
  } else {
    p.y = fmaf(2.0f, __fmul_rn(p.x, p.y), ci);  // rounds once, as the addition does: twice a number is exact
    p.x = __fadd_rn(__fsub_rn(p.x2, p.y2), cr);
    square(p);
  }
}

__device__ __forceinline__ float norm(const point &p) {
  return ROUND == ROUND_fused ? fmaf(p.x, p.x, p.y * p.y) : __fadd_rn(p.x2, p.y2);
}
__device__ __forceinline__ bool is_inside(const point &p) { return norm(p) <= BOUND; }

// STEPS steps; is it still inside? Those behind the bound do not count: each step tells (each), or finish finds them,
// from their norms (kept), or by repeating the last STEPS steps (redo), before which the point stays.
__device__ __forceinline__ bool advance(point &p, float cr, float ci) {
  const point from = p;
#pragma unroll
  for (int s = 0; s < STEPS; s++) {
    if constexpr (COUNT == COUNT_each) p.n += is_inside(p);
    step(p, cr, ci);
    if constexpr (COUNT == COUNT_kept) p.norms[s] = norm(p);
  }
  const bool inside = is_inside(p);
  if constexpr (COUNT == COUNT_kept) p.n += STEPS;
  if constexpr (COUNT == COUNT_redo) {
    p.n += STEPS;
    if (!inside) p = from;
  }
  return inside;
}

__device__ __forceinline__ int finish(point &p, int iterations, float cr, float ci) {
  if constexpr (COUNT == COUNT_kept) {
#pragma unroll
    for (int s = 0; s < STEPS - 1; s++) p.n -= !(p.norms[s] <= BOUND);
  }
  if constexpr (COUNT == COUNT_redo) {
    while (p.n < iterations && is_inside(p)) {
      step(p, cr, ci);
      p.n++;
    }
  }
  return min(p.n, iterations);
}

// What is computed: the image, or of two points z and -z, which take the same steps, one: the rows from the middle up
// to the first. An even number of columns has one more before the middle than behind it, and gets one more there.
struct image {
  int width, height, columns, rows;
  float pitch;  // distance of two pixels
  int *out, *last;  // out + i and last - i are mirror images
};

__device__ __forceinline__ image image_of(int width, int height, float scale, int *out) {
  const bool whole = SYMMETRY == SYMMETRY_none;
  return {width, height, whole ? width : width / 2 * 2 + 1, whole ? height : height / 2 + 1,
          __fdiv_rn(2.0f * scale, (float)height), out,
          out + (long long)(height / 2 * 2) * width + width / 2 * 2};
}

__device__ __forceinline__ point point_of(const image &m, int column, int row) {
  point p = {};
  p.x = __fmul_rn((float)(column - m.width / 2), m.pitch);
  p.y = __fmul_rn((float)(SYMMETRY == SYMMETRY_none ? row - m.height / 2 : -row), m.pitch);
  square(p);
  return p;
}

__device__ __forceinline__ void put(const image &m, int column, int row, int n) {
  const int y = SYMMETRY == SYMMETRY_none ? row : m.height / 2 - row;
  const long long i = (long long)y * m.width + column;
  if (column < m.width) m.out[i] = n;
  if constexpr (SYMMETRY == SYMMETRY_point) {
    const bool behind = column + m.width >= m.columns, below = row > 0 && row < m.height - m.height / 2;
    if (behind && below) *(m.last - i) = n;
  }
}

@ if ALG == "pixels" then
// Each thread its PIXELS points, BLOCK_X columns apart, until the last of them has left; then those of the next of
// its ROWS rows.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
julia(int width, int height, int iterations, float cr, float ci, float scale, int *out) {
  const image m = image_of(width, height, scale, out);
  const int column = blockIdx.x * (BLOCK_X * PIXELS) + threadIdx.x;
  int row = blockIdx.y * (BLOCK_Y * ROWS) + threadIdx.y;
  pdl_wait();
#pragma unroll 1
  for (int r = 0; r < ROWS; r++, row += BLOCK_Y) {
    point p[PIXELS];
    bool inside = false;
    int done = 0;  // steps
#pragma unroll
    for (int i = 0; i < PIXELS; i++) {
      p[i] = point_of(m, column + i * BLOCK_X, row);
      inside |= is_inside(p[i]);
    }
#pragma unroll 1
    while (inside && done < iterations) {
      inside = false;
#pragma unroll
      for (int i = 0; i < PIXELS; i++) inside |= advance(p[i], cr, ci);
      done = COUNT == COUNT_kept ? p[0].n : done + STEPS;
    }
#pragma unroll
    for (int i = 0; i < PIXELS; i++) {
      const int n = finish(p[i], iterations, cr, ci);
      if (column + i * BLOCK_X < m.columns && row < m.rows) put(m, column + i * BLOCK_X, row, n);
    }
  }
}
@ else
// The next tile for this warp, of 32 columns and ROWS rows, and how many there are; the last of all warps to find
// none leaves the queue empty for the next launch.
__device__ __forceinline__ unsigned take_tile(unsigned *queue, unsigned tiles, unsigned lane) {
  const unsigned last = tiles + gridDim.x * (BLOCK_X * BLOCK_Y / 32) - 1;
  unsigned t = 0;
  if (lane == 0) {
    t = atomicAdd(queue, 1);
    if (t == last) atomicExch(queue, 0);
  }
  return __shfl_sync(0xffffffff, t, 0);
}

// Each lane a point; REFILL lanes whose points have left take the next ones of the warp's tile.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
julia(int width, int height, int iterations, float cr, float ci, float scale, int *out, unsigned *queue) {
  constexpr int TILE = 32 * ROWS;
  const image m = image_of(width, height, scale, out);
  const unsigned lane = threadIdx.x, wide = (m.columns + 31) / 32, tiles = wide * ((m.rows + ROWS - 1) / ROWS);
  int next = TILE, left = 0, top = 0, column = 0, row = 0;
  int enough = 32 - REFILL;  // more lanes than that go on; after the last tile, -1: all do
  int busy = 0, running = 0;
  point p = {};
  pdl_wait();
  while (true) {
    if (next >= TILE && enough >= 0) {
      const unsigned t = take_tile(queue, tiles, lane);
      if (t >= tiles) enough = -1;
      next = t < tiles ? 0 : TILE;
      left = t % wide * 32;
      top = t / wide * ROWS;
    }
    const unsigned idle = __ballot_sync(0xffffffff, !busy);
    if (enough < 0 && idle == 0xffffffff) return;
    const int i = next + __popc(idle & ((1u << lane) - 1));
    next += __popc(idle);
    if (!busy && i < TILE) {
      column = left + i / 32 % 4 * 8 + i % 8;  // 8 columns and 4 rows after the other
      row = top + i / 128 * 4 + i / 8 % 4;
      p = point_of(m, column, row);
      busy = column < m.columns && row < m.rows;
      running = busy && iterations > 0 && is_inside(p);
    }
    if (running) {
      do {
        running = advance(p, cr, ci) && p.n < iterations;
      } while (running && (int)__popc(__activemask()) > enough);  // whose number changes no result
    }
    if (busy && !running) {
      put(m, column, row, finish(p, iterations, cr, ci));
      busy = 0;
    }
  }
}
@ end
