// gemm_loaders.cuh -- tiles of A and B to the ring of gemm_ring.cuh by asynchronous copies of single doubles, for
// addresses and leading dimensions that tensor maps do not take; by the 128 threads behind those that multiply.
#pragma once
#include "ptx.cuh"
#include "gemm_ring.cuh"

// Of an operand's rows of 128 bytes a thread copies an element of every eighth.
template <bool ALONG_K>
struct loader {
  const double *from;  // the thread's first element, at k = 0
  long long ld;
  int near, far,
      room;  // of that in a tile; rows (or columns) of the operand behind the tile's first
  unsigned to;

  __device__ loader(const double *matrix, long long ld_, int first, int extent) {
    const int thread = threadIdx.x - 32 * WARPS;
    near = thread % 16;
    far = thread / 16;
    ld = ld_;
    room = extent - first;
    from = matrix + (ALONG_K ? (first + far) * ld + near : far * ld + first + near);
    to = far * 128 + (((near / 2) ^ far) << 4) + near % 2 * 8;
  }

  // WIDTH_ rows or columns from k on, of which `depth` elements along k count; zeros beyond.
  template <int WIDTH_>
  __device__ __forceinline__ void copy(unsigned tile, int k, int depth) const {
    const double *at = from + (ALONG_K ? k : k * ld);
#pragma unroll 4
    for (int i = 0; i < WIDTH_ / 8; i++) {
      const int y = ALONG_K ? far + 8 * i : near + i / 2 * 16;  // across k
      const int z = ALONG_K ? near : far + i % 2 * 8;           // along k
      const double *const source = at + (ALONG_K ? 8 * i * ld : i % 2 * 8 * ld + i / 2 * 16);
      cp_async<8>(tile + to + i * 1024, source, y < room && z < depth ? 8 : 0);
    }
  }
};

__device__ __forceinline__ void load_tiles(ring &q, const loader<A_ALONG_K> &a,
                                           const loader<B_ALONG_K> &b, int k, span part) {
#pragma unroll 1
  for (int t = part.first; t < part.first + part.n; t++) {
    q.wait_empty();
    a.copy<BM>(q.a(), 16 * t, k - 16 * t);
    b.copy<BN>(q.b(), 16 * t, k - 16 * t);
    cp_async_mbarrier_arrive(q.full + 8 * q.i);
    q.next();
  }
}
