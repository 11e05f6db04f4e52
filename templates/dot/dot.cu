// dot.cu -- the sum of x[i] y[i].
#include "cluster.cuh"
#include "early_fetch.cuh"
#include "elements.cuh"
#include "fetch.cuh"
#include "last_block.cuh"
#include "pdl.cuh"
#include "ptx.cuh"
#include "words.cuh"

using type = element<DTYPE>;
using stored = type::stored;
using result_type = element<RESULT_DTYPE>;
using result_stored = result_type::stored;

// The type in which a thread adds up the products of one step.
using value = choose<WIDE_STEPS, double, float>;

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

__device__ __forceinline__ vector load(const vector *p) {
  if constexpr (LOAD == LOAD_constant) return load_constant(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  if constexpr (LOAD == LOAD_fetch_256) return load_256(p);
  return load_plain(p);
}

__device__ __forceinline__ result_stored narrow(double v) {
  return result_type::narrow((result_type::number)v);
}

// ---- across a block: thread 0 has the sum -------------------------------------------------------

template <int LANES>
__device__ __forceinline__ double fold_lanes(double v) {
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}

__device__ __forceinline__ double fold_by_shuffles(double v) {
  __shared__ double warps[BLOCK / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = fold_lanes<32>(v);
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  return warp == 0 ? fold_lanes<BLOCK / 32>(lane < BLOCK / 32 ? warps[lane] : 0) : v;
}

__device__ __forceinline__ double fold_by_tree(double v) {
  __shared__ double all[BLOCK];
  all[threadIdx.x] = v;
#pragma unroll
  for (int d = BLOCK / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) all[threadIdx.x] = v = v + all[threadIdx.x + d];
  }
  return v;
}

__device__ __forceinline__ double fold_block(double v) {
  return FOLD == FOLD_shuffle ? fold_by_shuffles(v) : fold_by_tree(v);
}

// ---- a block's share ----------------------------------------------------------------------------

// Both operands from one element on.
struct operands {
  const stored *x, *y;
  long long incx, incy;

  __device__ __forceinline__ operands from(long long i) const {
    return {CONTIGUOUS ? x + i : x + i * incx, CONTIGUOUS ? y + i : y + i * incy, incx, incy};
  }
  // Vector i.
  __device__ __forceinline__ vector of_x(int i) const {
    return load(reinterpret_cast<const vector *>(CONTIGUOUS ? x + i * VEC : x + i * incx));
  }
  __device__ __forceinline__ vector of_y(int i) const {
    return load(reinterpret_cast<const vector *>(CONTIGUOUS ? y + i * VEC : y + i * incy));
  }
};

// The first elements of both; backwards through both is forwards through both.
__device__ __forceinline__ operands first_of(long long n, const stored *x, long long incx,
                                             const stored *y, long long incy) {
  if (!CONTIGUOUS && incx < 0) x -= (n - 1) * incx;
  if (!CONTIGUOUS && incy < 0) y -= (n - 1) * incy;
  return {x, y, incx, incy};
}

// By one thread: both operands of the block's first step.
__device__ __forceinline__ void fetch_tile(long long n, const stored *x, const stored *y) {
  const long long first = (long long)blockIdx.x * TILE;
  let_next_start();
  if (threadIdx.x == 0 && first < n) {
    const long long nbytes = min((long long)TILE, n - first) * NBYTES;
    early_fetch(x + first, nbytes);
    early_fetch(y + first, nbytes);
  }
}

__device__ __forceinline__ value product(stored a, stored b, value sum) {
  return fma((value)type::widen(a), (value)type::widen(b), sum);
}

// A thread's products of a step of `left` elements, TILE if it is WHOLE; vectors are BLOCK apart. All are loaded
// first, if the compiler knows from RESIDENT that it need not save registers.
template <bool WHOLE>
__device__ __forceinline__ value multiply(const operands &of, int left) {
  const int vectors = left / VEC, behind = vectors * VEC + threadIdx.x;
  vector x[COARSE] = {}, y[COARSE] = {};
#pragma unroll
  for (int c = 0; c < COARSE; c++) {
    const int i = c * BLOCK + threadIdx.x;
    if (WHOLE || i < vectors) {
      x[c] = of.of_x(i);
      y[c] = of.of_y(i);
    }
  }
  stored last_x = 0, last_y = 0;
  if (!WHOLE && VEC > 1 && behind < left) {
    last_x = of.x[behind];
    last_y = of.y[behind];
  }
  value sum = 0;
#pragma unroll
  for (int c = 0; c < COARSE; c++) {
#pragma unroll
    for (int e = 0; e < VEC; e++) sum = product(x[c].e[e], y[c].e[e], sum);
  }
  return WHOLE || VEC == 1 ? sum : product(last_x, last_y, sum);
}

// Steps of TILE elements, gridDim.x steps apart.
__device__ __forceinline__ double sum_of_share(long long n, const operands &of) {
  double sum = 0;
#pragma unroll 1
  for (long long first = (long long)blockIdx.x * TILE; first < n;
       first += (long long)gridDim.x * TILE) {
    const int left = (int)min((long long)TILE, n - first);
    const operands here = of.from(first);
    sum += left == TILE ? multiply<true>(here, TILE) : multiply<false>(here, left);
  }
  return sum;
}

// ---- across blocks ------------------------------------------------------------------------------

// Of the blocks of a cluster; thread 0 of the first has the sum, the other blocks are done.
__device__ __forceinline__ double fold_cluster(double v) {
  __shared__ double mates[CLUSTER];
  cluster_wait();  // until all have started
  if (threadIdx.x == 0) in_block(mates, 0)[blockIdx.x % CLUSTER] = v;
  cluster_barrier();
  if (blockIdx.x % CLUSTER > 0 || threadIdx.x >= 32) return v;
  return fold_lanes<CLUSTER>(threadIdx.x < CLUSTER ? mates[threadIdx.x] : 0);
}

// A block's sum in a word of memory, which is 0 until it is there: its complement, since all ones are a NaN, which
// becomes another one.
__device__ __forceinline__ void put_sum(double *word, double sum) {
  const unsigned long long bits = ~(unsigned long long)__double_as_longlong(sum);
  store_relaxed(reinterpret_cast<unsigned long long *>(word), bits == 0 ? 1 : bits);
}
// Waits for it, and leaves zero for the next launch.
__device__ __forceinline__ double take_sum(double *from) {
  unsigned long long *word = reinterpret_cast<unsigned long long *>(from), bits;
  do {
    bits = load_relaxed(word);
  } while (bits == 0);
  store_relaxed(word, 0);
  return __longlong_as_double((long long)~bits);
}

// The sums of all blocks, by one block.
template <typename Get>
__device__ __forceinline__ void finish(int blocks, result_stored *result, Get get) {
  double sum = 0;
  for (int i = threadIdx.x; i < blocks; i += BLOCK) sum += get(i);
  __syncthreads();  // fold_block's memory may be in use still
  sum = fold_block(sum);
  if (threadIdx.x == 0) *result = narrow(sum);
}

// By thread 0 of every block: the last one finds the whole sum, and leaves zero for the next launch.
__device__ __forceinline__ void accumulate(double sum, double *total, unsigned *arrived,
                                           unsigned blocks, result_stored *result) {
  atomicAdd(total, sum);
  __threadfence();
  if (atomicInc(arrived, blocks - 1) < blocks - 1) return;
  __threadfence();
  *result = narrow(__ldcg(total));
  *total = 0;
}

// A template, since results of 16 bits have no atomicAdd.
template <typename T>
__device__ __forceinline__ void add_atomically(T *to, double sum) {
  atomicAdd(to, (T)sum);
}

@ local cluster = CLUSTER > 1 and "__cluster_dims__(CLUSTER, 1, 1) " or ""
extern "C" __global__ void @{cluster}__launch_bounds__(BLOCK, RESIDENT)
dot(long long n, const stored *x, long long incx, const stored *y, long long incy,
    result_stored *result, double *partial, unsigned *arrived) {
  if constexpr (AHEAD) fetch_tile(n, x, y);
  const int zero = pdl_wait();
  if constexpr (CLUSTER > 1) cluster_arrive();
  double sum = fold_block(sum_of_share(n, first_of(n, x + zero, incx, y + zero, incy)));
  if constexpr (CLUSTER > 1) {
    sum = fold_cluster(sum);
    if (blockIdx.x % CLUSTER > 0) return;
  }
  const unsigned block = blockIdx.x / CLUSTER, blocks = gridDim.x / CLUSTER;
  if constexpr (FINISH == FINISH_wait) {
    if (block < blocks - 1) {
      if (threadIdx.x == 0) put_sum(&partial[block], sum);
    } else {
      __shared__ double own;
      if (threadIdx.x == 0) own = sum;
      __syncthreads();
      finish(blocks, result, [&](int i) { return i < blocks - 1 ? take_sum(&partial[i]) : own; });
    }
    return;
  }
  if (threadIdx.x == 0) {
    if constexpr (FINISH == FINISH_atomic) {
      add_atomically(result, sum);
    } else if constexpr (FINISH == FINISH_accumulate) {
      accumulate(sum, partial, arrived, blocks, result);
    } else if constexpr (FINISH == FINISH_cluster) {
      *result = narrow(sum);
    } else {
      partial[block] = sum;
    }
  }
  if constexpr (FINISH == FINISH_last_block) {
    if (is_last_block(arrived, blocks)) finish(blocks, result, [=](int i) { return partial[i]; });
  }
}

@ if FINISH == "two_launch" then
extern "C" __global__ void __launch_bounds__(BLOCK)
dot_finish(int blocks, const double *partial, result_stored *result) {
  finish(blocks, result, [=](int i) { return partial[i]; });
}
@ end
