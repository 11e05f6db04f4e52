// Cooperative groups, half precision and the matrix fragments of mma.h.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#define GLOBAL extern "C" __global__ void
namespace cg = cooperative_groups;

// sums of tiles of 8, of the block, and the rank among threads with an odd value
GLOBAL tiles(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = in[block.thread_rank()], sum = v;
  for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_xor(sum, d);
  out[block.thread_rank()] = sum;
  int whole = cg::reduce(cg::tiled_partition<32>(block), v, cg::plus<int>());
  out[block.size() + block.thread_rank()] = whole;
  int rank = -1;
  if (v & 1) {
    auto odd = cg::coalesced_threads();
    rank = odd.thread_rank();
  }
  out[2 * block.size() + block.thread_rank()] = rank;
  block.sync();
}

GLOBAL halves(const __half *x, __half *y, int n) {
  int i = threadIdx.x;
  __half2 a = reinterpret_cast<const __half2 *>(x)[i], b = __half2half2(__float2half(0.5f));
  __half2 r = __hfma2(a, b, __hmul2(a, a));
  r = __hmax2(r, __hneg2(a));
  if (__hlt(__low2half(a), __high2half(a))) r = __lowhigh2highlow(r);
  reinterpret_cast<__half2 *>(y)[i] = __hadd2(r, __h2div(a, __hadd2(b, b)));
}
GLOBAL brains(const float *x, float *y, int n) {
  __nv_bfloat162 a = __floats2bfloat162_rn(x[2 * threadIdx.x], x[2 * threadIdx.x + 1]);
  a = __hfma2(a, a, a);
  float2 f = __bfloat1622float2(a);
  y[2 * threadIdx.x] = f.x;
  y[2 * threadIdx.x + 1] = f.y;
}

using namespace nvcuda;
template <class T, class U, int K, class AL, class BL>
__device__ void product(const T *a, const T *b, U *c, int lda, int ldb) {
  wmma::fragment<wmma::matrix_a, 16, 16, K, T, AL> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, K, T, BL> fb;
  wmma::fragment<wmma::accumulator, 16, 16, K, U> fc;
  wmma::fill_fragment(fc, U(1.0f));
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
GLOBAL wmma_half(const __half *a, const __half *b, float *c) {
  product<__half, float, 16, wmma::row_major, wmma::col_major>(a, b, c, 16, 16);
}
GLOBAL wmma_bytes(const signed char *a, const signed char *b, int *c) {
  product<signed char, int, 16, wmma::col_major, wmma::row_major>(a, b, c, 16, 16);
}

// every block reads what the next one has written before the barrier of the grid
GLOBAL grid_barrier(const int *in, int *out) {
  auto grid = cg::this_grid();
  int n = gridDim.x, i = blockIdx.x;
  for (int round = 0; round < 3; round++) {
    if (threadIdx.x == 0) out[round * n + i] = in[i] + (round ? out[(round - 1) * n + (i + 1) % n] : 0);
    grid.sync();
  }
}

// Tiles of several warps communicate through shared memory that the system reserves.
GLOBAL wide_tiles(const int *in, int *out) {
  __shared__ int own[128];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<64>(block);
  own[block.thread_rank()] = in[block.thread_rank()];
  int sum = cg::reduce(tile, own[block.thread_rank()], cg::plus<int>());
  out[block.thread_rank()] = sum;
  tile.sync();
  int whole = cg::reduce(cg::tiled_partition<128>(block), sum, cg::plus<int>());
  out[block.size() + block.thread_rank()] = whole + tile.meta_group_rank();
  out[2 * block.size() + block.thread_rank()] = tile.shfl(own[block.thread_rank()], 40);
  block.sync();
}
