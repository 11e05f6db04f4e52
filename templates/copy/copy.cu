// copy.cu -- y = x, or every element of y = value, in words of WIDTH bytes.
#include "pdl.cuh"
#include "words.cuh"

using unit = word_of<WIDTH>::type;

template <typename W>
__device__ __forceinline__ W load(const W *p) {
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
  const unsigned long long v[2] = {WIDTH < 8 ? eight >> at % 8 * 8 : eight, eight};
  return *reinterpret_cast<const unit *>(v);
}

// Whole words of y: `head` bytes stand before them. Each begins `shift` bytes after a word of x.
struct words {
  long long head, count;
  unsigned shift;
};

__device__ __forceinline__ words whole_words(const unsigned char *x, const unsigned char *y,
                                             long long nbytes) {
  if constexpr (ALIGN == ALIGN_both) return {0, nbytes / WIDTH, 0};
  const unsigned head = (WIDTH - reinterpret_cast<unsigned long long>(y) % WIDTH) % WIDTH;
  const unsigned shift =
      OP == OP_copy ? (reinterpret_cast<unsigned long long>(x) + head) % WIDTH : 0;
  // No word of x is read that begins before its first byte or ends after its last.
  const long long skipped = head < shift ? head + WIDTH : head;
  const long long count = (nbytes - skipped + shift) / WIDTH - (shift > 0);
  return {skipped, count > 0 ? count : 0, shift};
}

// 16 bytes, from byte `shift` of `low` on.
__device__ __forceinline__ uint4 shifted(const uint4 &low, const uint4 &high, unsigned shift) {
  const unsigned v[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  unsigned two[6], one[5], r[4];
#pragma unroll
  for (int i = 0; i < 6; i++) two[i] = shift & 8 ? v[i + 2] : v[i];
#pragma unroll
  for (int i = 0; i < 5; i++) one[i] = shift & 4 ? two[i + 1] : two[i];
#pragma unroll
  for (int i = 0; i < 4; i++) r[i] = __funnelshift_r(one[i], one[i + 1], shift % 4 * 8);
  return make_uint4(r[0], r[1], r[2], r[3]);
}

template <typename W>
__device__ __forceinline__ W load_shifted(const W *p, unsigned) {
  return load(p);
}
__device__ __forceinline__ uint4 load_shifted(const uint4 *p, unsigned shift) {
  if (ALIGN == ALIGN_both || shift == 0) return load(p);
  return shifted(load(p), load(p + 1), shift);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    copy(long long n, unsigned long long value, const unsigned char *__restrict__ x,
         unsigned char *__restrict__ y) {
  x += pdl_wait();
  const long long nbytes = n * SIZE;
  const words w = whole_words(x, y, nbytes);
  const unit *from = reinterpret_cast<const unit *>(x + w.head - w.shift);
  unit *to = reinterpret_cast<unit *>(y + w.head);
  const unsigned long long eight = repeated(value);
  const unsigned turn = w.head % 8 * 8;
  const unsigned long long turned = turn > 0 ? eight >> turn | eight << (64 - turn) : eight;
  for (long long tile = (long long)blockIdx.x * TILE; tile < w.count;
       tile += (long long)gridDim.x * TILE) {
    const long long first =
        tile + (ORDER == ORDER_interleaved ? threadIdx.x : threadIdx.x * COARSE);
    constexpr int STRIDE = ORDER == ORDER_interleaved ? BLOCK : 1;
    unit v[COARSE];
    if constexpr (OP == OP_copy) {
#pragma unroll
      for (int c = 0; c < COARSE; c++) {
        if (first + c * STRIDE < w.count) v[c] = load_shifted(from + first + c * STRIDE, w.shift);
      }
    }
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      const long long i = first + c * STRIDE;
      if (i < w.count) store(to + i, OP == OP_copy ? v[c] : part(turned, i * WIDTH));
    }
  }
  // fewer bytes than a block has threads
  const long long at = threadIdx.x < w.head ? threadIdx.x : threadIdx.x + w.count * WIDTH;
  if (blockIdx.x == 0 && at < nbytes)
    y[at] = OP == OP_copy ? x[at] : (unsigned char)(eight >> at % 8 * 8);
}
