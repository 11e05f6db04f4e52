// split.cuh -- single-precision numbers in parts that tensor cores take, for tensor.cuh and tensor80.cuh.
//
// A single-precision number x is the sum of two that the tensor cores take (TF32, 11 significant
// bits): hi = x rounded, lo = x - hi rounded; what is left is below 2^-23 |x|. Then
//   a b = hi_a hi_b + hi_a lo_b + lo_a hi_b + (lo_a lo_b, about 2^-24 |a b|, left out):
// three products make one of single precision (PARTS 2); one product alone is TF32's (PARTS 1).
// The tensor cores add up with truncation, whose errors have one sign and so would grow with k.
// Therefore each PROMOTE tiles' sum starts from zero and is added to a sum in ordinary registers,
// and in it the small products come first. TF32 has single precision's exponents: parts are exact as
// far down as 2^-113, below it up to multiples of 2^-136, the least TF32 there is; what infinities and
// the largest numbers have no parts for is nonfinite.cuh's. (Ootomo and Yokota, Recovering single precision
// accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance, 2022.)
#pragma once
#include "floats.cuh"

constexpr bool TRANSPOSED = SWAP == SWAP_yes;
constexpr int HELD_ROWS = 64 * GROUPS;  // of the held operand per tile, A or (TRANSPOSED) B
constexpr int DEEP = 32;                // elements along k per tile

// Floats between rows of a tile that is copied as it lies in memory: without bank conflicts where a
// warp reads eight rows at four elements along k.
__device__ constexpr int raw_row(int rows, bool along_k) { return along_k ? DEEP + 4 : rows + 8; }
constexpr int HELD_ROW = raw_row(HELD_ROWS, HELD_ALONG_K);

// Rows of op(A), or columns of op(B), from the tile's first on, and elements along k from there on.
struct operand {
  const float *at;
  long long ld;
  int rows, k;  // that the matrix has
  bool along_k;

  __device__ operand(const float *matrix, long long ld, bool along_k, int first, int rows,
                     long long k, long long depth)
      : at(matrix + (along_k ? k + first * ld : first + k * ld)),
        ld(ld),
        rows(rows - first),
        k((int)depth),
        along_k(along_k) {}
  __device__ const float *element(int row, int p) const {
    return at + (along_k ? p + row * ld : row + p * ld);
  }
  __device__ bool has(int row, int p) const { return EDGE == EDGE_whole || (row < rows && p < k); }
  __device__ void advance() {
    at += along_k ? DEEP : DEEP * ld;
    k -= DEEP;
  }
};

// A tile as it is, by THREADS_ threads.
template <int ROWS_, bool ALONG_K, int THREADS_>
__device__ __forceinline__ void copy_raw(const operand &x, unsigned to) {
  constexpr int ALONG = (ALONG_K ? DEEP : ROWS_) / VEC;  // vectors side by side
  constexpr int ALL = ROWS_ * DEEP / VEC;
  int thread = threadIdx.x % THREADS_;
  // Places are computed again for every tile where registers are few.
  if (GROUPS == 3) asm volatile("" : "+r"(thread));
#pragma unroll
  for (int i = 0; i < (ALL + THREADS_ - 1) / THREADS_; i++) {
    const int v = thread + THREADS_ * i, along = v % ALONG * VEC, across = v / ALONG;
    if (ALL % THREADS_ > 0 && v >= ALL) break;
    const int row = ALONG_K ? across : along, k = ALONG_K ? along : across;
    const bool has = x.has(row, k);
    cp_async<4 * VEC>(to + 4 * (across * raw_row(ROWS_, ALONG_K) + along),
                      has ? x.element(row, k) : x.at, has ? 4 * VEC : 0);
  }
}

// Rounded to TF32, half away from zero; the tensor cores ignore the bits cut off here. A NaN may become a number, but
// then its low part is a NaN. With one part alone, cvt keeps a NaN, except that one whose only bits are those cut off
// becomes an infinity.
__device__ __forceinline__ unsigned hi_part(float x) {
  if (PARTS == 2) return (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  unsigned hi;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(hi) : "f"(x));
  return hi;
}
// At most twelve bits, of which cutting off loses no more than rounding.
__device__ __forceinline__ unsigned lo_part(float x, unsigned hi) {
  return __float_as_uint(x - __uint_as_float(hi));
}
