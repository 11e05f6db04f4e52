// gemm_result.cuh -- where a block's tile lies in C, and how a sum becomes an element of C.
#pragma once
#include "gemm_elements.cuh"
#include "scaled_sum.cuh"

extern __shared__ __align__(16) unsigned char memory[];

struct corner {  // of a block's tile in C
  int row, column;
  // A cluster's blocks have two tiles side by side.
  static constexpr int HEIGHT = CLUSTER == CLUSTER_rows ? 2 * BM : BM;
  static constexpr int ACROSS = CLUSTER == CLUSTER_columns ? 2 * BN : BN;
  __device__ static unsigned rows(int m) { return (unsigned)(m - 1) / HEIGHT + 1; }
  __device__ static unsigned columns(int n) { return (unsigned)(n - 1) / ACROSS + 1; }
  // Bands of RASTER rows of tiles; down within a band first.
  __device__ corner(unsigned tile, int m, int n, unsigned rank = 0) {
    const unsigned band = tile / (RASTER * columns(n)) * RASTER;
    const unsigned in = tile % (RASTER * columns(n));
    const unsigned height = rows(m) - band < RASTER ? rows(m) - band : RASTER;
    row = (int)(band + in % height) * HEIGHT + (CLUSTER == CLUSTER_rows ? (int)rank * BM : 0);
    column = (int)(in / height) * ACROSS + (CLUSTER == CLUSTER_columns ? (int)rank * BN : 0);
  }
};

struct result {
  wide alpha, beta;
  output *C;
  long long ld;
  int m, n;
  const output *scales, *biases;

  __device__ __forceinline__ bool excludes(int row, int column) const {
    return EDGE == EDGE_guarded && (row >= m || column >= n);
  }
  __device__ __forceinline__ wide finished(wide sum, output before, int row, int column) const {
    return epilogue(scaled(alpha, sum, beta, widen(before)), row, column, scales, biases);
  }
  // With beta 0, C is not read.
  __device__ __forceinline__ output before(int row, int column) const {
    return beta == 0 || excludes(row, column) ? output() : C[row + column * ld];
  }
  __device__ __forceinline__ void put(wide sum, output was, int row, int column) const {
    if (excludes(row, column)) return;
    C[row + column * ld] = rounded(finished(sum, was, row, column));
  }
  __device__ __forceinline__ void put(wide sum, int row, int column) const {
    put(sum, before(row, column), row, column);
  }
};
