// gemm_dmma.cu -- gemm of doubles on the tensor cores of compute capability 9.0.
//
// As many blocks as run at a time each compute tile after tile of C. One thread copies tiles of A and B, of 16 along k,
// to a ring in shared memory, by tensor maps; where those cannot be, 128 threads copy element by element. Each
// multiplying warp computes WM x WN of the block's tile; it reads the next fragments while it multiplies, and waits for
// copies only, not for other warps.
//
// In 16 rows of op(A), 16 columns of op(B) and 8 along k, lanes take other elements than the instruction names: a lane
// reads 16 bytes at a time, without bank conflicts, whether an operand is contiguous along k or across, and its sums
// are pairs of neighbours in a column of C.
@ if SPLITK > 1 then
#include "cluster.cuh"
@ end
#include "lanes.cuh"
#include "mma.cuh"
#include "pdl.cuh"
#include "ptx90.cuh"
#include "gemm_result.cuh"
#include "gemm_ring.cuh"
#include "gemm_pairs.cuh"
@ if not MAPS then
#include "gemm_loaders.cuh"
@ end

// ---- fragments ---------------------------------------------------------------------------------

// Of 16 rows (or columns) of a tile, a lane's two at two elements along k. Tiles are swizzled: rows of 128 bytes, in
// which 16-byte chunks are permuted by the row.
template <bool ALONG_K>
struct reader {
  unsigned at[2];
  __device__ reader(int first, int lane) {
    const int quad = lane / 4, place = lane % 4;
#pragma unroll
    for (int x = 0; x < 2; x++) {
      const int far = ALONG_K ? 2 * spread<true>(quad) + x : 2 * place + x;
      at[x] = first * 128 + far * 128 + (((ALONG_K ? place : quad) ^ (far % 8)) << 4);
    }
  }
  // v[2 e + h]: row h of the two, e-th along k; of the group-th 16 rows, the step-th 8 along k.
  __device__ __forceinline__ void read(double (&v)[4], unsigned tile, int group, int step) const {
#pragma unroll
    for (int x = 0; x < 2; x++) {
      const unsigned from = tile + (ALONG_K ? at[x] ^ (step * 64) : at[x] + step * 1024) + group * 2048;
      if (ALONG_K) {
        load_shared(v[x], v[2 + x], from);
      } else {
        load_shared(v[2 * x], v[2 * x + 1], from);
      }
    }
  }
};

struct warp_readers {
  reader<A_ALONG_K> a;
  reader<B_ALONG_K> b;
};

struct fragments {  // of 16 rows of A, of all columns of B; each of this step and the next
  double a[2][4], b[2][NJ][4];
};

// One tile; MORE: another follows, whose first fragments are read.
template <bool MORE>
__device__ __forceinline__ void multiply_tile(ring &q, const warp_readers &from, fragments &f,
                                              sums &c) {
  ring next = q;
  next.next();
#pragma unroll
  for (int u = 0; u < 2 * MI; u++) {
    const int step = u / MI, i = u % MI;
    if (MORE && u == MI) next.wait_full();
#pragma unroll
    for (int j = i; j < NJ; j += MI) {
      if (step == 0) {
        from.b.read(f.b[1][j], q.b(), j, 1);
      } else if (MORE) {
        from.b.read(f.b[0][j], next.b(), j, 0);
      }
    }
    if (u + 1 < 2 * MI) {
      from.a.read(f.a[(u + 1) % 2], q.a(), (u + 1) % MI, (u + 1) / MI);
    } else {
      if (MAPS) fence_proxy_async();  // the copies that follow come after these reads
      __syncwarp();
      q.release();
      if (MORE) from.a.read(f.a[0], next.a(), 0, 0);
    }
#pragma unroll
    for (int j = 0; j < 2 * NJ; j++) {
      const double b[2] = {f.b[step][j / 2][j % 2], f.b[step][j / 2][2 + j % 2]};
      mma_f64(c[i][j], f.a[u % 2], b);
    }
  }
  q = next;
}

__device__ __forceinline__ void multiply_tiles(ring &q, int tiles, const warp_readers &from,
                                               sums &c) {
  fragments f;
  q.wait_full();
#pragma unroll
  for (int j = 0; j < NJ; j++) from.b.read(f.b[0][j], q.b(), j, 0);
  from.a.read(f.a[0], q.a(), 0, 0);
#pragma unroll 1
  for (int t = 1; t < tiles; t++) multiply_tile<true>(q, from, f, c);
  multiply_tile<false>(q, from, f, c);
}

// ---- the kernel --------------------------------------------------------------------------------

// What the block does; COPY copies the tiles of A and B that a corner and a span along k take.
template <typename COPY>
__device__ __forceinline__ void multiply(int m, int n, int k, const result &to, double *partial, unsigned *arrived,
                                         const COPY &copy) {
  const unsigned base = (shared_address(memory) + 1023) / 1024 * 1024;
  const unsigned rank = BLOCKS > 1 ? cluster_rank() : 0;
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);  // the compiler sees that it is a warp's
  const work todo = {corner::rows(m) * corner::columns(n), to.alpha == 0 ? 0 : (k - 1) / 16 + 1, gridDim.x / BLOCKS};
  ring q(base);
  if (threadIdx.x == 0) q.initialize();
  const unsigned first = blockIdx.x / BLOCKS + blockIdx.y * gridDim.x;
  const unsigned step = gridDim.x / BLOCKS * gridDim.y;
  if (BLOCKS > 1) cluster_sync_barriers();
  else __syncthreads();
  pdl_wait();
  if (warp >= WARPS) {
    if (REDISTRIBUTED) release_registers<LOADER_REGISTERS>();
    if (threadIdx.x < 32 * WARPS + COPIERS) {
      for (unsigned unit = first; unit < todo.units(); unit += step) {
        copy(q, corner(todo.tile(unit), m, n, rank), todo.k(unit), rank);
      }
      if (BLOCKS > 1) q.drain();  // the other block still arrives here
    }
    __syncwarp();
@ if SPLITK > 1 then
    cluster_arrive_relaxed();
    cluster_wait();
    cluster_barrier();
@ end
    return;
  }
  if (REDISTRIBUTED) take_registers<MULTIPLIER_REGISTERS>();
  const int row = warp % (BM / WM) * WM, column = warp / (BM / WM) * WN, lane = threadIdx.x % 32;
  const warp_readers from = {{row, lane}, {column, lane}};
  for (unsigned unit = first; unit < todo.units(); unit += step) {
    const corner tile(todo.tile(unit), m, n, rank);
    const pairs at(tile.row + row, tile.column + column, lane);
    const int tiles = todo.k(unit).n;
    sums c = {};
    if (tiles > 0) multiply_tiles(q, tiles, from, c);
@ if SPLITK > 1 then
    finish_in_cluster(c, to, at);
@ else
    if (TAIL > 1 && todo.is_shared(unit)) {
      const unsigned shared = (todo.tile(unit) - todo.whole()) * BLOCKS + rank;
      if (!add_up(c, partial, arrived, shared, todo.split(unit))) continue;
    }
    store(c, to, at);
@ end
  }
}

// With alpha 0, A and B are not read, as in BLAS.
@ local cluster = SPLITK > 1 and "__cluster_dims__(1, SPLITK, 1) "
@   or CLUSTER ~= "none" and "__cluster_dims__(2, 1, 1) " or ""
@ if MAPS then
extern "C" __global__ void @{cluster}__launch_bounds__(THREADS, MINBLOCKS)
gemm_doubles(int m, int n, int k, double alpha, const __grid_constant__ tensor_map A,
             const __grid_constant__ tensor_map B, double beta, double *C, long long ldc,
             const double *scales, const double *biases, double *partial, unsigned *arrived) {
  if (threadIdx.x == 32 * WARPS) {
    prefetch_map(A);
    prefetch_map(B);
  }
  multiply(m, n, k, {alpha, beta, C, ldc, m, n, scales, biases}, partial, arrived,
           [&](ring &q, corner at, span part, unsigned rank) { copy_tiles(q, A, B, at, part, rank); });
}
@ else
extern "C" __global__ void @{cluster}__launch_bounds__(THREADS, MINBLOCKS)
gemm_doubles(int m, int n, int k, double alpha, const double *__restrict__ A, long long lda,
             const double *__restrict__ B, long long ldb, double beta, double *C, long long ldc,
             const double *scales, const double *biases, double *partial, unsigned *arrived) {
  multiply(m, n, k, {alpha, beta, C, ldc, m, n, scales, biases}, partial, arrived,
           [&](ring &q, corner at, span part, unsigned) {
             const loader<A_ALONG_K> a(A, lda, at.row, m);
             const loader<B_ALONG_K> b(B, ldb, at.column, n);
             load_tiles(q, a, b, k, part);
           });
}
@ end
