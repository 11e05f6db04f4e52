// conv2d_stream.cu -- a block marches down BLOCK_X * OUT_X columns of the image. Rows come to shared memory STAGES - 1
// rows ahead, and sums of HIGH results slide through a thread's registers. The first and last rows of a part are
// multiplied with all taps, too: sums of results that are not the block's are not stored.
#include "conv2d_sums.cuh"
#include "ptx.cuh"

constexpr int COPIED_AHEAD = STAGES - 1;
constexpr int WIDTH = ACROSS - OUT_X + ELEMENTS, PIECES = WIDTH / VEC;
constexpr int COPIES = (PIECES + BLOCK_X - 1) / BLOCK_X;

// Copies rows to shared memory; what does not exist, or stands for nothing, becomes zero.
struct loader {
  image of;
  int first;  // column where the rows begin
  stored *shared;
  unsigned address;  // of `shared`

  __device__ __forceinline__ void load(int row, int slot) const {
    const int line = border_index(row, of.ny);
    const stored *from = of.x + max(line, 0) * of.ldx;
#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int piece = k * BLOCK_X + threadIdx.x, column = first + piece * VEC;
      const int to = slot * WIDTH + piece * VEC;
      if (piece >= PIECES) break;
      if (VEC * NBYTES >= 4 && column >= 0 && column + VEC <= of.nx) {
        constexpr int BYTES = VEC * NBYTES >= 4 ? VEC * NBYTES : 4;
        cp_async<BYTES>(address + to * NBYTES, from + column, line < 0 ? 0 : BYTES);
      } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) {
          place(to + e, from, line < 0 ? NOTHING : border_index(column + e, of.nx));
        }
      }
    }
  }
  __device__ __forceinline__ void place(int to, const stored *from, int column) const {
    if (column < 0) {
      shared[to] = stored();
    } else if constexpr (NBYTES >= 4) {
      cp_async<NBYTES>(address + to * NBYTES, from + column, NBYTES);
    } else {
      shared[to] = from[column];
    }
  }
};

__device__ __forceinline__ line load_line(const stored *from) {
  line v;
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    const vector w = reinterpret_cast<const vector *>(from)[i];
#pragma unroll
    for (int e = 0; e < VEC; e++) v.e[i * VEC + e] = type::widen(w.e[e]);
  }
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK_X, RESIDENT)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx, int rows,
           ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  extern __shared__ uint4 memory[];
  const unsigned strips = (unsigned)(mx - 1) / ACROSS + 1;
  const int left = (int)(blockIdx.x % strips) * ACROSS, row = (int)(blockIdx.x / strips) * rows;
  const int n = min(rows, my - row) + 2 * RY, top = row + SKIP_Y - RY;
  const int column = left + threadIdx.x * OUT_X;
  stored *const shared = reinterpret_cast<stored *>(memory);
  const loader from = {
      {nx, ny, x + pdl_wait(), ldx}, left - BEFORE - SHIFT, shared, shared_address(shared)};
  y += row * ldy + column;
  results sums = {};
  int slot = 1, loaded = 0;  // slot of row s
#pragma unroll 1
  for (int s = -COPIED_AHEAD; s < n; s++) {
    if (s >= 0) {
      cp_async_wait<COPIED_AHEAD - 1>();
      __syncthreads();
    }
    if (s + COPIED_AHEAD < n) from.load(top + s + COPIED_AHEAD, loaded);
    cp_async_commit();
    if (s >= 0) {
      number done[OUT_X];
      sums.step<true>(load_line(shared + slot * WIDTH + threadIdx.x * OUT_X), f, s, n, done);
      if (s >= 2 * RY) {
        put(y, column, mx, done);
        y += ldy;
      }
    }
    slot = slot == COPIED_AHEAD ? 0 : slot + 1;
    loaded = loaded == COPIED_AHEAD ? 0 : loaded + 1;
  }
}
