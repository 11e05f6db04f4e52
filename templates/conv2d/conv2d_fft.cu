// conv2d_fft.cu -- products of spectra: a block transforms two tiles of TILE x TILE elements, one below the other, as the
// real and imaginary parts of one, multiplies by the filter's spectrum, and transforms back. A thread has a column
// or a row of them in registers; they pass through shared memory between. Results whose window wraps around are left out.
//
// Spectra lie in the order in which `fft` leaves them, which is the same for both factors.
#include "conv2d_image.cuh"
#include "fft.cuh"

constexpr int ACROSS = TILE - 2 * RX, DOWN = TILE - 2 * RY;  // results of a tile
constexpr int PITCH = TILE + 2;  // a row begins at 16 bytes, in other banks than its neighbours
constexpr int BLOCKS =
    65536 / (TILE * REGISTERS) < 32 ? 65536 / (TILE * REGISTERS) : 32;  // of a multiprocessor

struct alignas(16) pair {
  float2 first, second;
};

__shared__ pair memory[TILE * PITCH / 2];

__device__ __forceinline__ float2 *row_of(int row) {
  return reinterpret_cast<float2 *>(memory) + row * PITCH;
}

// Columns, transformed, to rows.
__device__ __forceinline__ void pass_columns(const float2 (&v)[TILE]) {
#pragma unroll
  for (int k = 0; k < TILE; k++) row_of(k)[threadIdx.x] = v[k];
  __syncthreads();
}
__device__ __forceinline__ void take_row(float2 (&v)[TILE]) {
#pragma unroll
  for (int k = 0; k < TILE; k += 2) {
    const pair two = *reinterpret_cast<const pair *>(row_of(threadIdx.x) + k);
    v[k] = two.first;
    v[k + 1] = two.second;
  }
}

// The conjugate of the filter's spectrum, column by column: sums of products then take the filter without turning it.
extern "C" __global__ void __launch_bounds__(TILE)
    conv2d_spectrum(const tap *__restrict__ f, const tap *__restrict__ fy,
                    float2 *__restrict__ spectrum) {
  const int i = threadIdx.x;
  f += pdl_wait();
  float2 v[TILE];
#pragma unroll
  for (int j = 0; j < TILE; j++) {
    v[j] = {0, 0};
    if (i < WIDE && j < HIGH) {
      v[j].x = RANK == RANK_full ? (float)f[j * WIDE + i] : (float)f[i] * (float)fy[j];
    }
  }
  fft(v);
  pass_columns(v);
  take_row(v);
  fft(v);
  constexpr float SCALE = 1.0f / (TILE * TILE);
#pragma unroll
  for (int k = 0; k < TILE; k++) spectrum[k * TILE + i] = {v[k].x * SCALE, v[k].y * -SCALE};
}

// Column i of both tiles.
__device__ __forceinline__ void load(float2 (&v)[TILE], const image &in, int left, int top, int i) {
  if (left >= 0 && top >= 0 && left + TILE <= in.nx && top + DOWN + TILE <= in.ny) {
    const stored *from = in.x + top * in.ldx + left + i;
    const long long below = DOWN * in.ldx;
#pragma unroll
    for (int k = 0; k < TILE; k++) {
      v[k] = {type::widen(load_second(from)), type::widen(load_second(from + below))};
      from += in.ldx;
    }
  } else {
#pragma unroll 1
    for (int k = 0; k < TILE; k++) {
      row_of(k)[i] = {in.at(left + i, top + k), in.at(left + i, top + DOWN + k)};
    }
#pragma unroll
    for (int k = 0; k < TILE; k++) v[k] = row_of(k)[i];
  }
}

__device__ __forceinline__ void put(stored *y, float v) {
  if constexpr (STORE == STORE_streaming) {
    store_streaming(y, type::narrow(v));
  } else {
    store_plain(y, type::narrow(v));
  }
}

extern "C" __global__ void __launch_bounds__(TILE, BLOCKS)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx,
           const float2 *__restrict__ spectrum, stored *__restrict__ y, long long ldy) {
  const tile_origin tile = find_tile<ACROSS, 2 * DOWN>(mx);
  const int i = threadIdx.x, column = tile.column + i;
  const image in = {nx, ny, x + pdl_wait(), ldx};
  float2 v[TILE], w[TILE];
  if constexpr (FETCHES) fetch_tile<ACROSS, 2 * DOWN, TILE>(in, mx, AHEAD, i);
  load(v, in, tile.column + SKIP_X - RX, tile.row + SKIP_Y - RY, i);
  fft(v);
  pass_columns(v);
  take_row(v);
  fft(v);
  // The inverse of a transform: real and imaginary parts exchanged before and after.
#pragma unroll
  for (int k = 0; k < TILE; k++) {
    const int place = fft_place<TILE>(k);
    w[k] = exchange(multiply(v[place], load_constant(spectrum + place * TILE + i)));
  }
  fft(w);
#pragma unroll
  for (int k = 0; k < TILE; k += 2) {
    *reinterpret_cast<pair *>(row_of(i) + k) = {w[fft_place<TILE>(k)], w[fft_place<TILE>(k + 1)]};
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < TILE; k++) v[k] = row_of(fft_place<TILE>(k))[i];
  fft(v);
  if (i >= ACROSS || column >= mx) return;
  const int rows = my - tile.row;
  y += tile.row * ldy + column;
#pragma unroll
  for (int k = 0; k < DOWN; k++) {
    const float2 result = exchange(v[fft_place<TILE>(k)]);
    if (k < rows) put(y, result.x);
    if (k + DOWN < rows) put(y + DOWN * ldy, result.y);
    y += ldy;
  }
}
