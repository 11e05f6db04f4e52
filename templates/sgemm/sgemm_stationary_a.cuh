// sgemm_stationary_a.cuh -- a block keeps a strip of A, of all k, in shared memory for several tiles of C.
#pragma once

// All of `depth` of an operand's tile along k.
template <typename T>
__device__ __forceinline__ void copy_all(T o, int stage, int depth) {
#pragma unroll 1
  for (int k = 0; k < depth; k += BK) {
    const int part = depth - k < BK ? depth - k : BK;
    o.copy(stage + k * T::ROW, part, 0, 1);
    o.advance(part);
  }
  cp_async_commit();
}

__device__ __forceinline__ void product(float (&c)[TM][TN], const float *a_from,
                                        const float *b_from, int depth) {
#pragma unroll UNROLL
  for (int k = 0; k < depth; k++) {
    float a[TM], b[TN];
    read<TM, MV, LM>(a, a_from + k * A_ROW);
    read<TN, NV, LN>(b, b_from + k * B_ROW);
    multiply(c, a, b);
  }
}

// The block's tiles, of all counted along the rows of tiles; their results are given to `put_tile`. While one is
// multiplied, the next one's part of B is on its way.
template <typename F>
__device__ __forceinline__ void multiply_stationary_a(int m, int n, int depth, const float *A,
                                                      long long lda, const float *B, long long ldb,
                                                      float *shared, F put_tile) {
  const unsigned columns = (unsigned)(n - 1) / BN + 1,
                 tiles = ((unsigned)(m - 1) / BM + 1) * columns;
  const unsigned share = tiles / gridDim.x, more = tiles % gridDim.x;
  const unsigned begin = blockIdx.x * share + (blockIdx.x < more ? blockIdx.x : more);
  int left = (int)(share + (blockIdx.x < more));
  corner tile((int)(begin / columns) * BM, (int)(begin % columns) * BN);
  const int rows = (depth + BK - 1) / BK * BK;  // in shared memory
  float *const b_shared = shared + rows * A_ROW;
  const position at(threadIdx.x);
  const float *const a_from = shared + place_of<true>(at.row);
  const float *const b_from = b_shared + at.column;
  const auto copy_b = [&](int column, int stage) {
    copy_all(operand_b(B, ldb, column, n, 0, b_shared), stage, depth);
  };
  int stage = 0;
  bool fresh = true;  // is this strip of A not copied yet?
#pragma unroll 1
  for (; left > 0; left--) {
    if (fresh) {
      __syncthreads();  // no thread reads the strip before any more
      copy_all(operand_a(A, lda, tile.row, m, 0, shared), 0, depth);
      copy_b(tile.column, stage);
    }
    cp_async_wait<0>();
    __syncthreads();
    const int other = rows * B_ROW - stage;
    fresh = n - tile.column <= BN;
    if (left > 1 && !fresh) copy_b(tile.column + BN, other);
    float c[CM][CN] = {};
    product(c, a_from, b_from + stage, depth);
    put_tile(c, tile);
    tile = fresh ? corner(tile.row + BM, 0) : corner(tile.row, tile.column + BN);
    stage = other;
  }
}
