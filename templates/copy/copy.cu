// copy.cu -- y = x, or every element of y = value, in words of WIDTH bytes.
#include "pdl.cuh"
#include "words.cuh"

using unit = word_of<WIDTH>::type;

__device__ __forceinline__ unit load(const unit *p) {
  if constexpr (LOAD == LOAD_constant) return load_constant(p);
  if constexpr (LOAD == LOAD_second) return load_second(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

__device__ __forceinline__ void store(unit *p, const unit &v) {
  if constexpr (STORE == STORE_second) {
    store_second(p, v);
  } else if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}

// 8 bytes of the elements' value, repeated if they are smaller.
__device__ __forceinline__ unsigned long long repeated(unsigned long long value) {
  if constexpr (SIZE < 8) {
    value &= (1ull << 8 * SIZE) - 1;
#pragma unroll
    for (int bits = 8 * SIZE; bits < 64; bits *= 2) value |= value << bits;
  }
  return value;
}

// WIDTH bytes of the pattern that `eight` repeats, from byte `at` of it on.
__device__ __forceinline__ unit part(unsigned long long eight, long long at) {
  const unsigned long long v[2] = {eight >> at % 8 * 8, eight};
  return *reinterpret_cast<const unit *>(v);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    copy(long long n, unsigned long long value, const unsigned char *__restrict__ x,
         unsigned char *__restrict__ y) {
  x += pdl_wait();
  const long long nbytes = n * SIZE, units = nbytes / WIDTH;
  const unit *from = reinterpret_cast<const unit *>(x);
  unit *to = reinterpret_cast<unit *>(y);
  const unsigned long long eight = repeated(value);
  for (long long tile = (long long)blockIdx.x * TILE; tile < units;
       tile += (long long)gridDim.x * TILE) {
    const long long first =
        tile + (ORDER == ORDER_interleaved ? threadIdx.x : threadIdx.x * COARSE);
    constexpr int STRIDE = ORDER == ORDER_interleaved ? BLOCK : 1;
    unit v[COARSE];
    if constexpr (OP == OP_copy) {
#pragma unroll
      for (int c = 0; c < COARSE; c++) {
        if (first + c * STRIDE < units) v[c] = load(from + first + c * STRIDE);
      }
    }
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      const long long i = first + c * STRIDE;
      if (i < units) store(to + i, OP == OP_copy ? v[c] : part(eight, i * WIDTH));
    }
  }
  const long long rest = units * WIDTH + threadIdx.x;
  if (blockIdx.x == 0 && rest < nbytes) {
    y[rest] = OP == OP_copy ? x[rest] : (unsigned char)(eight >> rest % 8 * 8);
  }
}
