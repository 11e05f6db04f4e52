// argmax.cu -- the position of the largest or smallest of n elements, the first if several are equal.
#include "elements.cuh"
#include "last_block.cuh"
#include "pdl.cuh"

using type = element<DTYPE>;
using value = type::stored;

struct alignas(VEC * sizeof(value)) vector {
  value e[VEC];
};

// An element and its position; none at all loses to every other.
struct candidate {
  value v;
  long long at;
};

constexpr long long NOWHERE = 0x7fffffffffffffffll;

__device__ __forceinline__ candidate none() { return {value(), NOWHERE}; }

// No element is worse, and comparisons with a NaN are false.
__device__ __forceinline__ value worst() {
  if constexpr (OP == OP_max) return type::least();
  return type::most();
}

// Does x come before y?
__device__ __forceinline__ bool better(const candidate &x, const candidate &y) {
  if (x.at == NOWHERE || y.at == NOWHERE) return y.at == NOWHERE;
  return x.v == y.v ? x.at < y.at : OP == OP_max ? x.v > y.v : x.v < y.v;
}

__device__ __forceinline__ candidate combine(const candidate &x, const candidate &y) {
  return better(y, x) ? y : x;
}

// ---- across a block: thread 0 has the result ----------------------------------------------------

__device__ __forceinline__ candidate fold_warp(candidate f) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    f = combine(f, {__shfl_down_sync(0xffffffff, f.v, d), __shfl_down_sync(0xffffffff, f.at, d)});
  }
  return f;
}

__device__ __forceinline__ candidate fold_by_shuffles(candidate f) {
  __shared__ value values[32];
  __shared__ long long positions[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  f = fold_warp(f);
  if (lane == 0) {
    values[warp] = f.v;
    positions[warp] = f.at;
  }
  __syncthreads();
  if (warp == 0) {
    f = lane < BLOCK / 32 ? candidate{values[lane], positions[lane]} : none();
    f = fold_warp(f);
  }
  return f;
}

__device__ __forceinline__ candidate fold_by_tree(candidate f) {
  __shared__ value values[BLOCK];
  __shared__ long long positions[BLOCK];
  values[threadIdx.x] = f.v;
  positions[threadIdx.x] = f.at;
#pragma unroll
  for (int d = BLOCK / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) {
      f = combine(f, candidate{values[threadIdx.x + d], positions[threadIdx.x + d]});
      values[threadIdx.x] = f.v;
      positions[threadIdx.x] = f.at;
    }
  }
  return f;
}

__device__ __forceinline__ candidate fold_block(candidate f) {
  if constexpr (FOLD == FOLD_shuffle) return fold_by_shuffles(f);
  return fold_by_tree(f);
}

// ---- a block's share of x -----------------------------------------------------------------------

// One more element of a thread's share, behind those that it has seen; NaNs do not count.
__device__ __forceinline__ void take(candidate &f, value v, long long at) {
  if (v == v && (f.at == NOWHERE || (OP == OP_max ? v > f.v : v < f.v))) f = {v, at};
}

// Steps of STEP vectors, gridDim.x steps apart.
__device__ __forceinline__ candidate fold_share(long long n, const value *x) {
  const vector *from = reinterpret_cast<const vector *>(x);
  const long long vectors = n / VEC;
  candidate f = none();
  for (long long i = (long long)blockIdx.x * STEP + threadIdx.x; i < vectors;
       i += (long long)gridDim.x * STEP) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (i + c * BLOCK < vectors) v[c] = from[i + c * BLOCK];
    }
    // The best of the step, from its last element to its first, so that the first of equal ones stays:
    // a comparison and a 32-bit index each, instead of a 64-bit position.
    value best = worst();
    int which = -1;
#pragma unroll
    for (int c = COARSE - 1; c >= 0; c--) {
#pragma unroll
      for (int e = VEC - 1; e >= 0; e--) {
        if (i + c * BLOCK < vectors && (OP == OP_max ? v[c].e[e] >= best : v[c].e[e] <= best)) {
          best = v[c].e[e];
          which = c * VEC + e;
        }
      }
    }
    if (which >= 0) take(f, best, (i + which / VEC * BLOCK) * VEC + which % VEC);
  }
  const long long rest = vectors * VEC + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) take(f, x[rest], rest);
  return f;
}

// ---- across blocks ------------------------------------------------------------------------------

// An element of 4 bytes and its position as a word that is larger the better; 0 is none.
__device__ __forceinline__ unsigned long long word_of(const candidate &f) {
  unsigned key = (unsigned)f.v ^ 0x80000000;
  if constexpr (!type::INTEGER) {
    const unsigned bits = __float_as_uint(f.v + 0.0f);  // -0 becomes 0
    key = bits ^ (bits >> 31 ? 0xffffffff : 0x80000000);
  }
  if constexpr (OP == OP_min) key = ~key;
  return f.at == NOWHERE ? 0 : (unsigned long long)key << 32 | (0xffffffff - (unsigned)f.at);
}

// By thread 0 of every block: the last one writes the result, and leaves zero for the next launch.
__device__ __forceinline__ void accumulate(const candidate &f, unsigned long long *best,
                                           unsigned *arrived, unsigned blocks, long long *y) {
  atomicMax(best, word_of(f));
  __threadfence();
  if (atomicInc(arrived, blocks - 1) < blocks - 1) return;
  __threadfence();
  const unsigned long long word = atomicExch(best, 0);
  *y = word ? 0xffffffff - (unsigned)word : -1ll;
}

// The results of all blocks, by one block.
__device__ __forceinline__ void finish(int blocks, const candidate *partial, long long *y) {
  candidate f = none();
  for (int i = threadIdx.x; i < blocks; i += BLOCK) f = combine(f, partial[i]);
  __syncthreads();  // fold_block's memory may be in use still
  f = fold_block(f);
  if (threadIdx.x == 0) *y = f.at == NOWHERE ? -1 : f.at;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
argmax(long long n, const value *x, long long *y, candidate *partial, unsigned *arrived) {
  x += pdl_wait();
  const candidate f = fold_block(fold_share(n, x));
  if (threadIdx.x == 0) {
    if constexpr (FINISH == FINISH_accumulate) {
      accumulate(f, reinterpret_cast<unsigned long long *>(partial), arrived, gridDim.x, y);
    } else {
      partial[blockIdx.x].v = f.v;
      partial[blockIdx.x].at = f.at;
    }
  }
  if constexpr (FINISH == FINISH_last_block) {
    if (is_last_block(arrived, gridDim.x)) finish(gridDim.x, partial, y);
  }
}

@ if FINISH == "two_launch" then
extern "C" __global__ void __launch_bounds__(BLOCK)
argmax_finish(int blocks, const candidate *partial, long long *y) {
  finish(blocks, partial, y);
}
@ end
