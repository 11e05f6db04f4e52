// histogram_shared.cu -- a block has COPIES copies of its counters in shared memory.
//
// With PARTS > 1, blockIdx.y selects the bins that a block counts. Each copy has one counter more, for samples
// beyond the block's bins: a branch around each sample costs more than counting it.
#include "last_block.cuh"

#include "histogram_copies.cuh"
#include "histogram_samples.cuh"

extern __shared__ unsigned words[];  // COPIES * WORDS; a word has one counter or two (COUNTER)

// Where this thread's copy begins, in bytes. Hidden from the compiler, which generates more instructions for
// the address if it knows which bits of it are zero.
__device__ __forceinline__ int copy_begin() {
  int at = 4 * (SPREAD == SPREAD_lanes ? threadIdx.x % COPIES : threadIdx.x / 32 % COPIES * WORDS);
  asm("" : "+r"(at));
  return at;
}

struct block_counters {
  static constexpr int NO_BIN = SHARE;

  unsigned *y, *partial;
  int begin = copy_begin();
  int steps = 0;         // since the counters were zero
  bool flushed = false;  // they have been written to global memory before

  __device__ static int own(int bin) {
    return PARTS > 1 ? min((unsigned)bin - blockIdx.y * SHARE, NO_BIN) : bin;
  }
  __device__ static bool counts(int bin) { return true; }
  __device__ void add(int bin, unsigned by) const {
    const int word = COUNTER == 16 ? bin / 2 : bin;
    char *at = (char *)words + (word * (SPREAD == SPREAD_lanes ? 4 * COPIES : 4) + begin);
    atomicAdd((unsigned *)at, COUNTER == 16 ? by << bin % 2 * 16 : by);
  }

  __device__ void clear() {
    for (int i = threadIdx.x; i < COPIES * WORDS; i += BLOCK) words[i] = 0;
    __syncthreads();
  }

  // Of all copies.
  __device__ static unsigned sum_of(int bin) {
    const int word = COUNTER == 16 ? bin / 2 : bin;
    unsigned sum = 0;
#pragma unroll 4
    for (int c = 0; c < COPIES; c++) {
      const int copy =
          (c + threadIdx.x) % COPIES;  // threads begin with different copies: different banks
      const unsigned v = words[SPREAD == SPREAD_lanes ? word * COPIES + copy : copy * WORDS + word];
      sum += COUNTER == 16 ? v >> bin % 2 * 16 & 0xffff : v;
    }
    return sum;
  }

  // Adds the counters to those in global memory.
  __device__ void commit() const {
    const int first = blockIdx.y * SHARE, copy = blockIdx.x;
    __syncthreads();
    for (int i = threadIdx.x; i < SHARE && first + i < BINS; i += BLOCK) {
      const unsigned sum = sum_of(i);
      const int bin = first + i;
      if constexpr (FINISH == FINISH_atomic) {
        if (sum > 0) atomicAdd(y + bin, sum);
      } else {
        unsigned *to = partial + (long long)copy * BINS + bin;
        *to = sum + (flushed ? load_second(to) : 0);
      }
    }
  }

  // Could a counter of 16 bits overflow in the next step?
  __device__ bool full() {
    if constexpr (COUNTER == 16) return steps++ == FULL;
    return false;
  }
  __device__ void flush() {
    commit();
    __syncthreads();
    clear();
    flushed = true;
    steps = 1;
  }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    histogram(long long n, const sample *__restrict__ x, unsigned *y, int copies, unsigned *partial,
              unsigned *arrived) {
  const samples all = {n, x};
  block_counters counters = {y, partial};
  counters.clear();
  count_samples(all, counters);
  counters.commit();
  if constexpr (FINISH == FINISH_last_block) {
    if (is_last_block(arrived + blockIdx.y, gridDim.x)) {
      const int begin = blockIdx.y * SHARE, end = min(begin + SHARE, BINS);
      for (int first = begin; first < end; first += 32) {
        sum_copies<BLOCK>(copies, partial, y, first, end);
        __syncthreads();
      }
    }
  }
}
