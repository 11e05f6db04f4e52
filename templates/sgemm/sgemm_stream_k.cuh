// sgemm_stream_k.cuh -- stream-K: blocks get equal numbers of tiles along k instead of whole tiles of C.
// src: Osama et al., Stream-K: work-centric parallel decomposition for dense matrix-matrix multiplication
// on the GPU, 2023; here the data-parallel hybrid, in which blocks share only the tiles of the last wave.
#pragma once
#include "sgemm_tiles.cuh"

// A block's parts. The tiles of C that do not fill the last wave come first: the tiles along k of all of
// them, one after the other, are shared out equally, so that a block has parts of two of them at most.
// Then come whole ones.
struct parts {
  long long all;                  // elements along k
  unsigned depth;                 // and tiles
  unsigned shared, tiles;         // tiles of C: shared out; all
  unsigned long long begin, end;  // this block's share

  // Computed again for each part: kept, these would take registers from the products.
  __device__ parts(int m, int n, long long k) : all(k) {
    asm volatile("" : "+r"(m), "+r"(n), "+l"(all));
    depth = (unsigned)((all + BK - 1) / BK);
    tiles = ((unsigned)(m - 1) / ROWS + 1) * ((unsigned)(n - 1) / COLUMNS + 1);
    shared = depth == 0 ? 0 : tiles % gridDim.x;
    begin = first_of(blockIdx.x);
    end = first_of(blockIdx.x + 1);
  }
  __device__ unsigned long long first_of(unsigned block) const {
    return (unsigned long long)shared * depth * block / gridDim.x;
  }
  // The block that has tile i of the shared ones.
  __device__ unsigned owner(unsigned long long i) const {
    return (unsigned)(((i + 1) * gridDim.x - 1) / ((unsigned long long)shared * depth));
  }
  // The i-th, if there is one.
  __device__ bool find(unsigned i, part &p) const {
    const unsigned first = begin < end ? (unsigned)(begin / depth) : 0;
    const unsigned shares = begin < end ? (unsigned)((end - 1) / depth) - first + 1 : 0;
    if (i >= shares) {
      p.tile = shared + blockIdx.x + (i - shares) * gridDim.x;
      p.begin = 0;
      p.depth = all;
      return p.tile < tiles;
    }
    p.tile = first + i;
    const unsigned from = i == 0 ? (unsigned)(begin % depth) : 0;
    const unsigned long long left = end - ((unsigned long long)p.tile * depth + from);
    p.begin = (long long)from * BK;
    p.depth = all - p.begin;
    if (left < depth && (long long)left * BK < p.depth) p.depth = (long long)left * BK;
    return true;
  }
};

// Where its blocks store the partial sums of a shared tile, and how many they are.
struct shares {
  unsigned first, last, first_place;
  __device__ shares(const parts &all, unsigned tile) {
    const unsigned long long begin = (unsigned long long)tile * all.depth;
    first = all.owner(begin);
    last = all.owner(begin + all.depth - 1);
    first_place = 2 * first + (all.first_of(first) < begin);
  }
  __device__ unsigned place(unsigned block) const {
    return block == first ? first_place : 2 * block;
  }
};

// The sum over all parts of a tile, always in the same order.
__device__ __forceinline__ void add_partials(float (&c)[CM][CN], float *partial, shares of) {
#pragma unroll AT_ONCE
  for (unsigned b = of.first; b <= of.last; b++) add_partial(c, partials(partial, of.place(b)));
}

// As put_part, of a tile that these blocks share.
template <int ARRIVING>
__device__ __forceinline__ void put_shared_part(float (&c)[CM][CN], const part &p, long long all,
                                                int m, int n, float alpha, float beta, float *C,
                                                long long ldc, const float *scales,
                                                const float *biases, float *partial,
                                                unsigned *arrived) {
  if (p.depth < all) {
    const shares of(parts(m, n, all), p.tile);
    if (has_sums()) put_partial(c, partials(partial, of.place(blockIdx.x)));
    if (!is_last_block<ARRIVING>(arrived + p.tile, of.last - of.first + 1) || !has_sums()) return;
#pragma unroll
    for (int r = 0; r < CM * CN; r++) c[r / CN][r % CN] = 0;
    add_partials(c, partial, of);
  }
  if (has_sums()) put(c, corner(p.tile, m, n), m, n, alpha, beta, C, ldc, scales, biases);
}
