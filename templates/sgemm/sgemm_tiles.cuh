// sgemm_tiles.cuh -- from the sums of a block's tile to C: across edges, by way of scratch memory where several
// blocks share a tile's k, through the epilogue. Define before: position, CM and CN (the elements of a thread), has_sums().
#pragma once
#include "floats.cuh"

struct corner {  // of the block's tile in C
  int row, column;
  // Bands of RASTER rows of tiles; down within a band first.
  __device__ corner(unsigned tile, int m, int n) {
    const unsigned rows = (unsigned)(m - 1) / ROWS + 1, columns = (unsigned)(n - 1) / COLUMNS + 1;
    const unsigned band = tile / (RASTER * columns) * RASTER;
    const unsigned in = tile % (RASTER * columns);
    const unsigned height = rows - band < RASTER ? rows - band : RASTER;
    row = (int)(band + in % height) * ROWS;
    column = (int)(in / height) * COLUMNS;
  }
  __device__ corner(int row_, int column_) : row(row_), column(column_) {}
};

// ---- into C ------------------------------------------------------------------------------------

#if __CUDA_ARCH__ >= 900
constexpr bool HAS_VECTOR_RED = true;
#else
constexpr bool HAS_VECTOR_RED = false;
#endif
template <int N>
__device__ __forceinline__ void add_atomically(float *to, const floats<N> &v) {
  if constexpr (N > 1 && HAS_VECTOR_RED) {
    red_add(to, v.e);
  } else {
#pragma unroll
    for (int e = 0; e < N; e++) atomicAdd(to + e, v.e[e]);
  }
}

// C = alpha c. A tile that is WHOLE crosses no edge.
template <bool WHOLE>
__device__ __forceinline__ void put_new(const float (&c)[CM][CN], int first_row, int first_column,
                                        int m, int n, float alpha, float *C, long long ldc,
                                        const float *scales, const float *biases) {
  const int rows = m - first_row, columns = n - first_column;
  float *to = C + first_row + first_column * ldc;
  asm volatile(""
               : "+f"(alpha),
                 "+l"(ldc));  // otherwise every store reads the kernel's arguments again
#pragma unroll
  for (int j = 0; j < CN; j++) {
    const int column = position::column_offset(0, j);
    if (j > 0) to += (column - position::column_offset(0, j - 1)) * ldc;
#pragma unroll
    for (int i = 0; i < CM; i += STORE) {
      const int row = position::row_offset(i, j);
      floats<STORE> v;
#pragma unroll
      for (int e = 0; e < STORE; e++) v.e[e] = scaled(alpha, c[i + e][j]);
      if (!WHOLE && (row >= rows || column >= columns)) continue;
#pragma unroll
      for (int e = 0; e < STORE; e++) {
        v.e[e] = epilogue(v.e[e], first_row + row + e, first_column + column, scales, biases);
      }
      *reinterpret_cast<floats<STORE> *>(to + row) = v;
    }
  }
}

// C = alpha c + beta C; with beta 0, C is not read. Otherwise some of it is read at a time: no read passes a store to C.
__device__ __forceinline__ void put(const float (&c)[CM][CN], corner tile, int m, int n,
                                    float alpha, float beta, float *C, long long ldc,
                                    const float *scales, const float *biases) {
  const position at(threadIdx.x % GROUP);
  const int first_row = tile.row + at.row, first_column = tile.column + at.column;
  if constexpr (WRITEBACK == WRITEBACK_coalesced) {
    if (beta == 0) {
      if (EDGE != EDGE_guarded || m - tile.row >= ROWS && n - tile.column >= COLUMNS) {
        put_new<true>(c, first_row, first_column, m, n, alpha, C, ldc, scales, biases);
      } else {
        put_new<false>(c, first_row, first_column, m, n, alpha, C, ldc, scales, biases);
      }
      return;
    }
  }
  const int rows = m - first_row, columns = n - first_column;
  C += first_row + first_column * ldc;
  constexpr int IN_COLUMN = CM / STORE, ALL = IN_COLUMN * CN,
                AHEAD_OF_STORES = ALL * STORE < 32 ? ALL : 32 / STORE;
#pragma unroll
  for (int first = 0; first < ALL; first += AHEAD_OF_STORES) {
    floats<STORE> before[AHEAD_OF_STORES];
#pragma unroll
    for (int x = 0; x < AHEAD_OF_STORES; x++) {
      before[x] = floats<STORE>();
      if (FINISH == FINISH_atomic || beta == 0 || first + x >= ALL) continue;
      const int i = (first + x) % IN_COLUMN * STORE, j = (first + x) / IN_COLUMN;
      const int row = position::row_offset(i, j), column = position::column_offset(i, j);
      if (EDGE == EDGE_guarded && (row >= rows || column >= columns)) continue;
      before[x] = *reinterpret_cast<const floats<STORE> *>(C + row + column * ldc);
    }
#pragma unroll
    for (int x = 0; x < AHEAD_OF_STORES; x++) {
      if (first + x >= ALL) continue;
      const int i = (first + x) % IN_COLUMN * STORE, j = (first + x) / IN_COLUMN;
      const int row = position::row_offset(i, j), column = position::column_offset(i, j);
      if (EDGE == EDGE_guarded && (row >= rows || column >= columns)) continue;
      float *const to = C + row + column * ldc;
      floats<STORE> v;
#pragma unroll
      for (int e = 0; e < STORE; e++) {
        v.e[e] = FINISH == FINISH_atomic
                     ? alpha * c[i + e][j]
                     : epilogue(scaled(alpha, c[i + e][j], beta, before[x].e[e]),
                                first_row + row + e, first_column + column, scales, biases);
      }
      if constexpr (FINISH == FINISH_atomic) {
        add_atomically(to, v);
      } else {
        *reinterpret_cast<floats<STORE> *>(to) = v;
      }
    }
  }
}

// ---- parts of the product -------------------------------------------------------------------------

// A part of the product: of a tile of C the elements along k from `begin` on.
struct part {
  unsigned tile;
  long long begin, depth;
};

// Of this block: gridDim.y blocks take up to `share` of the elements along k each.
__device__ __forceinline__ part part_of_block(long long all, long long share) {
  const long long begin = blockIdx.y * share < all ? blockIdx.y * share : all;
  return {blockIdx.x, begin, all - begin < share ? all - begin : share};
}

// Partial sums lie in the order in which threads write them, in vectors of PV; these are of one column,
// like those of C, so that both need the same sums in neighbouring registers. With stream-K, vectors made
// a twentieth of the multiplications of large thread tiles (16 x 8) read three registers of one bank;
// without vectors none does.
constexpr int SUMS = CM * CN;  // of a thread
constexpr int PV = STREAM_K && SUMS > 64 ? 1 : SUMS < 4 ? SUMS : 4;
constexpr int PARTIAL = ROWS * COLUMNS / PV;  // vectors of one block

__device__ __forceinline__ floats<PV> *partials(float *partial, unsigned i) {
  return reinterpret_cast<floats<PV> *>(partial) + (long long)i * PARTIAL + threadIdx.x % GROUP;
}

__device__ __forceinline__ void put_partial(const float (&c)[CM][CN], floats<PV> *to) {
#pragma unroll
  for (int r = 0; r < CM * CN; r += PV) {
    floats<PV> v;
#pragma unroll
    for (int e = 0; e < PV; e++) v.e[e] = c[(r + e) % CM][(r + e) / CM];
    to[r / PV * GROUP] = v;
  }
}

__device__ __forceinline__ void add_partial(float (&c)[CM][CN], const floats<PV> *from) {
#pragma unroll
  for (int r = 0; r < CM * CN; r += PV) {
    const floats<PV> v = from[r / PV * GROUP];
#pragma unroll
    for (int e = 0; e < PV; e++) c[(r + e) % CM][(r + e) / CM] += v.e[e];
  }
}
constexpr int AT_ONCE = CM * CN < 64 ? 64 / (CM * CN) : 1;  // partial sums that are read at a time

// The sum over all parts of a tile, always in the same order.
__device__ __forceinline__ void add_partials(float (&c)[CM][CN], float *partial) {
#pragma unroll AT_ONCE
  for (int s = 0; s < PARTIALS; s++) add_partial(c, partials(partial, blockIdx.x * PARTIALS + s));
}

// A part's sums, which the threads have for which has_sums() holds; ARRIVING threads of the block come here,
// 0: all.
template <int ARRIVING>
__device__ __forceinline__ void put_part(float (&c)[CM][CN], const part &p, int m, int n,
                                         float alpha, float beta, float *C, long long ldc,
                                         const float *scales, const float *biases, float *partial,
                                         unsigned *arrived) {
  if constexpr (PARTIALS > 1) {
    if (has_sums()) put_partial(c, partials(partial, p.tile * PARTIALS + blockIdx.y));
    if constexpr (FINISH == FINISH_two_launch) return;
    if (!is_last_block<ARRIVING>(arrived + p.tile, PARTIALS) || !has_sums()) return;
#pragma unroll
    for (int r = 0; r < CM * CN; r++) c[r / CN][r % CN] = 0;
    add_partials(c, partial);
  } else if constexpr (FINISH == FINISH_atomic && PACK == PACK_no) {
    wait_for_last();
  }
  if (has_sums()) put(c, corner(p.tile, m, n), m, n, alpha, beta, C, ldc, scales, biases);
}
