// gemm_wgmma.cu -- gemm of 16-bit numbers on the tensor cores of compute capability 9.0, by warpgroups.
//
// As many blocks as run at a time each compute tile after tile of C. One thread copies tiles of A and B
// to a ring of WGMMA_STAGES in shared memory, by tensor maps, which put zeros beyond the matrices'
// edges; GROUPS warpgroups multiply, each some columns of C in steps of 64, and write their part of C
// by way of shared memory while the next tiles' copies are under way. (The scheme is CUTLASS's
// warp-specialized persistent kernel.)
//
// In the instructions' terms this is C' = op(B)' op(A)': their rows are columns of C, so that two
// neighbouring elements of a thread are neighbours in memory, too. An operand may be contiguous
// along k or across: both lie in shared memory in rows of 128 bytes, of 64 elements along k of a
// row, or of 64 rows at one k.
//
// With FINISH=cluster, blocks that share a tile's k are a cluster, and add up through its shared memory.
//
// Two blocks of a cluster (CLUSTER) whose tiles are neighbours along rows or columns of C each copy
// half of the operand that they share to both.
#include "lanes.cuh"
#include "pdl.cuh"
#include "ptx90.cuh"
#include "wgmma.cuh"
#include "gemm_result.cuh"
#include "gemm_ring.cuh"
#include "gemm_panels.cuh"
#include "gemm_former.cuh"
@ if IN_CLUSTER then
#include "gemm_columns.cuh"
@ end
@ if PACKED then
#include "gemm_pack.cuh"
@ end

constexpr bool MAPPED = READ_C == READ_C_map;  // C is copied to shared memory where beta is not 0
constexpr bool EPILOGUE = SCALE != SCALE_none || BIAS != BIAS_none || ACT != ACT_none;

// ---- multiplying -------------------------------------------------------------------------------

__device__ __forceinline__ void wgmma(float (&d)[SUMS], unsigned long long b, unsigned long long a,
                                      bool add) {
  if constexpr (DTYPE == DTYPE_f16) {
    wgmma_f16<!B_ALONG_K, !A_ALONG_K>(d, b, a, add);
  } else {
    wgmma_bf16<!B_ALONG_K, !A_ALONG_K>(d, b, a, add);
  }
}

// The compiler must not move the sums' other uses into an asynchronous product.
__device__ __forceinline__ void pin(sums &c) {
#pragma unroll
  for (int r = 0; r < REPEAT; r++) {
#pragma unroll
    for (int i = 0; i < SUMS; i++) asm volatile("" : "+f"(c[r][i])::"memory");
  }
}

__device__ __forceinline__ void clear(sums &c) {
#pragma unroll
  for (int i = 0; i < REPEAT * SUMS; i++) c[i / SUMS][i % SUMS] = 0;
}

template <bool ALONG_K>
__device__ __forceinline__ unsigned long long descriptor(unsigned tile) {
  return ALONG_K ? swizzled_128(tile) : swizzled_128_across(tile, 8192);
}

// The products of one tile are under way while the next are issued; the last ones, while `meanwhile` runs.
template <typename OTHER>
__device__ __forceinline__ void multiply_tiles(ring &q, int tiles, int group, sums &c,
                                               const OTHER &meanwhile) {
  constexpr int A_STEP = (A_ALONG_K ? 32 : 2048) / 16, B_STEP = (B_ALONG_K ? 32 : 2048) / 16;
  ring done = q;
  pin(c);
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    q.wait_full();
    const unsigned long long a = descriptor<A_ALONG_K>(q.a());
    const unsigned long long b = descriptor<B_ALONG_K>(q.b() + group * REPEAT * 8192);
    wgmma_fence();
#pragma unroll
    for (int s = 0; s < 4; s++) {
#pragma unroll
      for (int r = 0; r < REPEAT; r++) {
        wgmma(c[r], b + r * (8192 / 16) + s * B_STEP, a + s * A_STEP, t > 0 || s > 0);
      }
    }
    wgmma_commit();
    if (t == (MAPPED ? 0 : tiles - 1)) meanwhile();
    if (t > 0) {
      wgmma_wait<1>();
      done.release();
      done.next();
    }
    q.next();
  }
  wgmma_wait<0>();
  pin(c);
  if (tiles > 0) done.release();
}

// ---- shares of k -------------------------------------------------------------------------------

// Stores this block's sums of a tile of C, as its threads have them. True for the last of the tile's blocks,
// which then has the sums of all, always added up in the same order, and does something else before. Only a warp's
// first `steps` are within C.
template <typename OTHER>
__device__ __forceinline__ bool add_up(sums &c, float *partial, unsigned *arrived, unsigned tile,
                                       unsigned split, int steps, const OTHER &before) {
  __shared__ bool last;
  constexpr int PER_STEP = SUMS / 4, VECTORS = REPEAT * PER_STEP, MULTIPLIERS = 128 * GROUPS;
  float4 *const from = reinterpret_cast<float4 *>(partial) +
                       (long long)tile * (SHARES * VECTORS * MULTIPLIERS) + threadIdx.x;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    if (v / PER_STEP >= steps) break;
    const float *const x = &c[0][0] + 4 * v;
    from[(split * VECTORS + v) * MULTIPLIERS] = make_float4(x[0], x[1], x[2], x[3]);
  }
  __threadfence();
  sync_some<MULTIPLIERS>();
  if (threadIdx.x == 0) last = atomicInc(arrived + tile, SHARES - 1) == SHARES - 1;
  sync_some<MULTIPLIERS>();
  if (!last) return false;
  before();
  __threadfence();
  clear(c);
#pragma unroll 1
  for (int s = 0; s < SHARES; s++) {
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
      if (v / PER_STEP >= steps) break;
      const float4 x = from[(s * VECTORS + v) * MULTIPLIERS];
      float *const to = &c[0][0] + 4 * v;
      to[0] += x.x;
      to[1] += x.y;
      to[2] += x.z;
      to[3] += x.w;
    }
  }
  return true;
}

// ---- the kernel --------------------------------------------------------------------------------

// The position of a tile takes divisions; the compiler must not move them from here.
__device__ __forceinline__ corner corner_now(unsigned tile, int m, int n, unsigned rank) {
  corner at(tile, m, n, rank);
  asm volatile("" : "+r"(at.row), "+r"(at.column));
  return at;
}

// The work of a block; without a map of C its threads store to C themselves. With alpha 0, A and B are not read, as
// in BLAS.
__device__ __forceinline__ void multiply(int m, int n, int k, double alpha, const tensor_map &A,
                                         const tensor_map &B, double beta, output *C, long long ldc,
                                         const output *scales, const output *biases, float *partial,
                                         unsigned *arrived, const tensor_map *C_map) {
  const unsigned base = (shared_address(memory) + 1023) / 1024 * 1024;
  const unsigned rank = BLOCKS > 1 ? cluster_rank() : 0;
  const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);  // the compiler sees that it is a warp's
  const work todo = {corner::rows(m) * corner::columns(n), alpha == 0 ? 0 : (k - 1) / 64 + 1,
                     gridDim.x / BLOCKS};
  ring q(base);
  const unsigned c_barriers = q.empty + 8 * RING;
  if (threadIdx.x == 0) {
    if (MAPPED) former::initialize(c_barriers);
    q.initialize();
  }
  if (threadIdx.x == 128 * GROUPS) {
    prefetch_map(A);
    prefetch_map(B);
    if (C_map) prefetch_map(*C_map);
  }
  const unsigned first = IN_CLUSTER ? blockIdx.x + blockIdx.y * gridDim.x : blockIdx.x / BLOCKS;
  const unsigned step = IN_CLUSTER ? gridDim.x * SPLITK : gridDim.x / BLOCKS;
  corner at = corner_now(todo.tile(first), m, n, rank);
  if (BLOCKS > 1) cluster_sync_barriers();
  else __syncthreads();
  pdl_wait();
  if (group == GROUPS) {
    if (GROUPS > 1) release_registers<LOADER_REGISTERS>();
    if (threadIdx.x == 128 * GROUPS) {
      if constexpr (PACKED) griddepcontrol_wait();
      for (unsigned unit = first; unit < todo.units(); unit += step) {
        copy_tiles(q, A, B, at, todo.k(unit), rank);
        at = corner_now(todo.tile(unit + step), m, n, rank);
      }
      if (BLOCKS > 1) q.drain();  // the other block still arrives here
    }
    __syncwarp();
@ if IN_CLUSTER then
    cluster_arrive_relaxed();
    cluster_wait();
    cluster_barrier();
@ end
  } else {
    if (GROUPS > 1) take_registers<MULTIPLIER_REGISTERS>();
    const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
    const int warp = threadIdx.x / 32;
    const unsigned panels = base + RING * (A_NBYTES + B_NBYTES) + warp * (PANELS * PANEL_NBYTES);
    former was(panels, c_barriers + 8 * warp * PANELS);
    const auto begin = [&] {
      if (MAPPED && to.beta != 0) {
        was.begin(at.row, at.column + group * REPEAT * 64 + warp % 4 * 16, to, *C_map);
      }
    };
    sums c;
    for (unsigned unit = first; unit < todo.units(); unit += step) {
      const int tiles = todo.k(unit).n;
      const auto find = [&] {
        at = corner_now(todo.tile(unit), m, n, rank);
        if (!todo.is_shared(unit)) begin();
      };
      multiply_tiles(q, tiles, group, c, find);
      if (tiles == 0) {
        clear(c);
        find();
      }
@ if IN_CLUSTER then
      finish_in_cluster(c, to, at, group * REPEAT * 64 + warp % 4 * 16);
@ else
      const int column = at.column + group * REPEAT * 64 + warp % 4 * 16;
      if (SHARES > 1 && todo.is_shared(unit)) {
        if (!add_up(c, partial, arrived, (todo.tile(unit) - todo.whole()) * BLOCKS + rank, todo.split(unit),
                    (n - column + 63) / 64, begin)) {
          continue;
        }
      }
      if (!EPILOGUE && to.beta == 0) {
        if (to.alpha != 1) scale(c, to.alpha);
        store_sums<true>(c, to, C_map, at.row, column, panels);
      } else if (MAPPED && to.beta != 0) {
        store_updated(c, to, *C_map, was);
      } else {
        store_sums<false>(c, to, C_map, at.row, column, panels);
      }
@ end
    }
    if (threadIdx.x % 32 == 0) bulk_wait_read<0>();
  }
}

@ local cluster = IN_CLUSTER and "__cluster_dims__(1, SPLITK, 1) "
@   or CLUSTER ~= "none" and "__cluster_dims__(2, 1, 1) " or ""
@ if PACKED then
extern "C" __global__ void @{cluster}__launch_bounds__(THREADS, MINBLOCKS)
gemm_warpgroup(int m, int n, int k, double alpha, const __grid_constant__ tensor_map A,
               const __grid_constant__ tensor_map B, double beta, output *C, long long ldc,
               const output *scales, const output *biases, float *partial, unsigned *arrived) {
  multiply(m, n, k, alpha, A, B, beta, C, ldc, scales, biases, partial, arrived, nullptr);
}
@ else
extern "C" __global__ void @{cluster}__launch_bounds__(THREADS, MINBLOCKS)
gemm_warpgroup(int m, int n, int k, double alpha, const __grid_constant__ tensor_map A,
               const __grid_constant__ tensor_map B, double beta, output *C, long long ldc,
               const output *scales, const output *biases, float *partial, unsigned *arrived,
               const __grid_constant__ tensor_map map_of_c) {
  multiply(m, n, k, alpha, A, B, beta, C, ldc, scales, biases, partial, arrived, &map_of_c);
}
@ end
