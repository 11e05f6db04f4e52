// transpose_shifted.cu -- tiles for matrices whose rows are not aligned to vectors.
//
// A block loads all vectors that contain an element of TM x TN. Of each row of y it stores the part from
// the first to the last sector boundary in its tile: only whole vectors, and no sector is written by two
// blocks. Therefore tiles overlap by a sector of rows, and by almost a vector of columns of x.
//
// A step of the block is a multiple of VEC rows of x, or of a sector of rows of y. So all rows that a
// thread loads from are misaligned by as much as its first one, and all that it stores to.
#include "transpose_common.cuh"

constexpr int SECTOR = 32 / NBYTES;  // elements
constexpr int ABOVE = SECTOR - 1;    // rows of x that a tile may begin earlier
constexpr int DOWN = TM - SECTOR,
              ALONG = TN - VEC + 1;  // between the origins of neighbouring tiles
constexpr int PER_ROW = TN / VEC, PER_COLUMN = TM / VEC;             // vectors
constexpr int ROWS = BLOCK / PER_ROW, COLUMNS = BLOCK / PER_COLUMN;  // of x, in a step
constexpr int LOADS = TM / ROWS, STORES = TN / COLUMNS;

// Where element r of row c of the transposed tile lies in shared memory. Neighbouring threads write rows
// that are VEC apart, and read elements that are VEC apart.
__device__ __forceinline__ int place(int c, int r) {
  return c * TM + c / VEC + r % VEC * PER_COLUMN + r / VEC;
}

// By how many elements p + i is past a multiple of N elements.
template <int N>
__device__ __forceinline__ int misalignment(const stored *p, long long i) {
  return (int)(((unsigned long long)p / NBYTES + i) % N);
}

// The first vector that this thread loads: its row and column in the tile, and its address. It may begin
// to the left of the tile.
struct first_vector {
  int r, c;
  const stored *from;

  __device__ __forceinline__ first_vector(const stored *x, int cols, tile_origin tile) {
    r = threadIdx.x / PER_ROW;
    const long long first = (long long)(tile.row + r) * cols + tile.column;
    c = (int)threadIdx.x % PER_ROW * VEC - misalignment<VEC>(x, first);
    from = x + first + c;
  }
};

// The vectors that contain elements of the tile, to registers. INSIDE: all rows and columns of the tile
// are in x; otherwise the first and the last vector of x, which is [begin, end), may be partly outside.
template <bool INSIDE>
__device__ __forceinline__ void load_vectors(vector (&v)[LOADS], const first_vector &s,
                                             const stored *begin, const stored *end, int rows,
                                             int cols, tile_origin tile) {
  const long long step = (long long)ROWS * cols;
#pragma unroll
  for (int k = 0; k < LOADS; k++) {
    const int row = tile.row + s.r + k * ROWS;
    const stored *from = s.from + k * step;
    if (!INSIDE && (row < 0 || row >= rows || s.c >= cols - tile.column)) continue;
    if (INSIDE || VEC == 1 || (from >= begin && end - from >= VEC)) {
      v[k] = load(reinterpret_cast<const vector *>(from));
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (from + e >= begin && from + e < end) v[k].e[e] = from[e];
      }
    }
  }
}

template <bool INSIDE>
__device__ __forceinline__ void transpose_vectors(const vector (&v)[LOADS], const first_vector &s,
                                                  stored *shared, int rows, int cols,
                                                  tile_origin tile) {
  const int width = INSIDE ? ALONG : min(ALONG, cols - tile.column);
#pragma unroll
  for (int e = 0; e < VEC; e++) {
    if (s.c + e < 0 || s.c + e >= width) continue;
    stored *to = shared + place(s.c + e, s.r);
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      const int row = tile.row + s.r + k * ROWS;
      if (INSIDE || (row >= 0 && row < rows)) to[k * (ROWS / VEC)] = v[k].e[e];
    }
  }
}

template <bool INSIDE>
__device__ __forceinline__ void store_tile(const stored *shared, stored *y, int rows, int cols,
                                           tile_origin tile) {
  const int k = threadIdx.x % PER_COLUMN * VEC, c = threadIdx.x / PER_COLUMN;
  const int width = INSIDE ? ALONG : min(ALONG, cols - tile.column);
  const long long start = (long long)(tile.column + c) * rows, step = (long long)COLUMNS * rows;
  const int r = ABOVE - misalignment<SECTOR>(y, start) + k, row = tile.row + r;
  if (k >= DOWN || (!INSIDE && (row >= rows || row <= -VEC))) return;
#pragma unroll
  for (int s = 0; s < STORES; s++) {
    if (c + s * COLUMNS >= width) break;
    const stored *from = shared + s * place(COLUMNS, 0);
    stored *to = y + start + row + s * step;
    if (INSIDE || (row >= 0 && row + VEC <= rows)) {
      vector v;
#pragma unroll
      for (int e = 0; e < VEC; e++) v.e[e] = from[place(c, r + e)];
      store(reinterpret_cast<vector *>(to), v);
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (row + e >= 0 && row + e < rows) to[e] = from[place(c, r + e)];
      }
    }
  }
}

template <bool INSIDE>
__device__ __forceinline__ void transpose_tile(stored *shared, const stored *x, stored *y,
                                               const stored *begin, const stored *end, int rows,
                                               int cols, tile_origin tile) {
  vector v[LOADS];
  const first_vector s(x, cols, tile);
  load_vectors<INSIDE>(v, s, begin, end, rows, cols, tile);
  transpose_vectors<INSIDE>(v, s, shared, rows, cols, tile);
  __syncthreads();
  store_tile<INSIDE>(shared, y, rows, cols, tile);
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    transpose(int rows, int cols, int batch, const stored *__restrict__ x, stored *__restrict__ y) {
  extern __shared__ __align__(16) unsigned char tile_memory[];
  stored *shared = reinterpret_cast<stored *>(tile_memory);
  const tile_origin tile = find_tile<DOWN, ALONG, ABOVE>(rows, cols);
  // x has a row above an inside tile, in which its first vectors may begin.
  const bool inside = tile.row > 0 && tile.row + TM <= rows && tile.column + TN <= cols;
  x += pdl_wait();
  const stored *end = x + (long long)batch * rows * cols;
  for (long long m = blockIdx.y; m < batch; m += gridDim.y) {
    const long long matrix = m * rows * cols;
    if (inside) {
      transpose_tile<true>(shared, x + matrix, y + matrix, x, end, rows, cols, tile);
    } else {
      transpose_tile<false>(shared, x + matrix, y + matrix, x, end, rows, cols, tile);
    }
  }
}
