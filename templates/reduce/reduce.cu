// reduce.cu -- the sum, product, maximum, minimum or norm of n elements.
#include "cluster.cuh"
#include "elements.cuh"
#include "last_block.cuh"
#include "pdl.cuh"
#include "words.cuh"

using type = element<DTYPE>;
using stored = type::stored;

constexpr bool ADDS = OP == OP_sum || OP == OP_norm1;
constexpr bool EXTREME = OP == OP_max || OP == OP_min;

// The type in which a thread combines the elements of one step; integers wrap.
using value = choose<type::INTEGER, choose<EXTREME, type::number, type::wrapping>,
                     choose<OP == OP_product || OP == OP_norm2, double, type::number>>;
// The type in which steps, threads and blocks are combined.
using wide = choose<type::INTEGER || EXTREME, value, double>;

__device__ __forceinline__ stored identity_element() {
  if constexpr (OP == OP_max) return type::least();
  if constexpr (OP == OP_min) return type::most();
  if constexpr (OP == OP_product) return type::one();
  return 0;
}

// Templates are compiled only where they are called, so types that they do not suit do no harm.
template <typename T>
__device__ __forceinline__ T magnitude(T v) {
  return fabs(v);
}

template <typename T>
__device__ __forceinline__ T root(T v) {
  return sqrt(v);
}

// What an element contributes.
__device__ __forceinline__ value take(stored v) {
  const value x = (value)type::widen(v);
  if constexpr (OP == OP_norm1) return magnitude(x);
  if constexpr (OP == OP_norm2) return x * x;
  return x;
}

template <typename T>
__device__ __forceinline__ T combine(T a, T b) {
  if constexpr (OP == OP_max) return a > b ? a : b;
  if constexpr (OP == OP_min) return a < b ? a : b;
  if constexpr (OP == OP_product) return a * b;
  return a + b;
}

__device__ __forceinline__ stored result(wide v) {
  if constexpr (OP == OP_norm2) v = root(v);
  return type::narrow((type::number)v);
}

__device__ __forceinline__ wide identity() { return (wide)take(identity_element()); }

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

__device__ __forceinline__ vector load(const vector *p) {
  if constexpr (LOAD == LOAD_constant) return load_constant(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

// ---- across a block: thread 0 has the result ----------------------------------------------------

__device__ __forceinline__ wide fold_warp(wide v, int lanes) {
#pragma unroll
  for (int d = lanes / 2; d > 0; d /= 2) v = combine(v, __shfl_down_sync(0xffffffff, v, d));
  return v;
}

__device__ __forceinline__ wide fold_by_shuffles(wide v) {
  __shared__ wide warps[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = fold_warp(v, 32);
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < BLOCK / 32 ? warps[lane] : identity();
    v = fold_warp(v, 32);
  }
  return v;
}

// A tree over memory of BLOCK elements.
__device__ __forceinline__ wide fold_by_tree(wide v, wide *all) {
  all[threadIdx.x] = v;
  if constexpr (FOLD == FOLD_simple) {
#pragma unroll 1
    for (int d = 1; d < BLOCK; d *= 2) {  // ever fewer threads of ever more warps
      __syncthreads();
      if (threadIdx.x % (2 * d) == 0) all[threadIdx.x] = v = combine(v, all[threadIdx.x + d]);
    }
  } else {
#pragma unroll
    for (int d = BLOCK / 2; d > 0; d /= 2) {
      __syncthreads();
      if (threadIdx.x < d) all[threadIdx.x] = v = combine(v, all[threadIdx.x + d]);
    }
  }
  return v;
}

__device__ __forceinline__ wide fold_block(wide v, wide *trees) {
  if constexpr (FOLD == FOLD_shuffle) {
    return fold_by_shuffles(v);
  } else if constexpr (FOLD == FOLD_shared) {
    __shared__ wide all[BLOCK];
    return fold_by_tree(v, all);
  } else {
    return fold_by_tree(v, trees + (long long)blockIdx.x * BLOCK);
  }
}

// ---- a block's share of x -----------------------------------------------------------------------

// Steps of STEP vectors, gridDim.x steps apart.
__device__ __forceinline__ wide fold_share(long long n, const stored *x) {
  const vector *from = reinterpret_cast<const vector *>(x);
  const long long vectors = n / VEC;
  wide sum = identity();
  for (long long i = (long long)blockIdx.x * STEP + threadIdx.x; i < vectors;
       i += (long long)gridDim.x * STEP) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (i + c * BLOCK < vectors) {
        v[c] = load(from + i + c * BLOCK);
      } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) v[c].e[e] = identity_element();
      }
    }
    value step = take(identity_element());
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) step = combine(step, take(v[c].e[e]));
    }
    sum = combine(sum, (wide)step);
  }
  const long long rest = vectors * VEC + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) sum = combine(sum, (wide)take(x[rest]));
  return sum;
}

// ---- across blocks ------------------------------------------------------------------------------

// Of the blocks of a cluster; thread 0 of the first has the result, the other blocks are done.
__device__ __forceinline__ wide fold_cluster(wide v) {
  __shared__ wide mates[CLUSTER];
  cluster_wait();  // until all have started
  if (threadIdx.x == 0) in_block(mates, 0)[blockIdx.x % CLUSTER] = v;
  cluster_barrier();
  if (blockIdx.x % CLUSTER > 0) return v;
  v = threadIdx.x < CLUSTER ? mates[threadIdx.x] : identity();
  return fold_warp(v, CLUSTER);
}

// The results of all blocks, by one block.
__device__ __forceinline__ void finish(int blocks, const wide *partial, stored *y, wide *trees) {
  wide sum = identity();
  for (int i = threadIdx.x; i < blocks; i += BLOCK) sum = combine(sum, partial[i]);
  __syncthreads();  // fold_block's memory may be in use still
  sum = fold_block(sum, trees);
  if (threadIdx.x == 0) *y = result(sum);
}

// By thread 0 of every block: the last one finds the whole sum, and leaves zero for the next launch.
template <typename T>
__device__ __forceinline__ void accumulate(T sum, T *total, unsigned *arrived, unsigned blocks,
                                           stored *y) {
  atomicAdd(total, sum);
  __threadfence();
  if (atomicInc(arrived, blocks - 1) < blocks - 1) return;
  __threadfence();
  *y = result(__ldcg(total));
  *total = 0;
}

template <typename T>
__device__ __forceinline__ void add_atomically(stored *y, T sum) {
  using added = choose<DTYPE == DTYPE_i64, unsigned long long, stored>;
  atomicAdd(reinterpret_cast<added *>(y), (added)sum);
}

@ local cluster = CLUSTER > 1 and "__cluster_dims__(CLUSTER, 1, 1) " or ""
extern "C" __global__ void @{cluster}__launch_bounds__(BLOCK)
reduce(long long n, const stored *x, stored *y, wide *partial, unsigned *arrived, wide *trees) {
  x += pdl_wait();
  if constexpr (CLUSTER > 1) cluster_arrive();
  wide sum = fold_block(fold_share(n, x), trees);
  if constexpr (CLUSTER > 1) {
    sum = fold_cluster(sum);
    if (blockIdx.x % CLUSTER > 0) return;
  }
  if (threadIdx.x == 0) {
    if constexpr (FINISH == FINISH_atomic) {
      add_atomically(y, sum);
    } else if constexpr (FINISH == FINISH_accumulate) {
      accumulate(sum, partial, arrived, gridDim.x / CLUSTER, y);
    } else if constexpr (FINISH == FINISH_cluster) {
      *y = result(sum);
    } else {
      partial[blockIdx.x / CLUSTER] = sum;
    }
  }
  if constexpr (FINISH == FINISH_last_block) {
    if (is_last_block(arrived, gridDim.x / CLUSTER)) finish(gridDim.x / CLUSTER, partial, y, trees);
  }
}

@ if FINISH == "two_launch" then
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_finish(int blocks, const wide *partial, stored *y, wide *trees) {
  finish(blocks, partial, y, trees);
}
@ end
