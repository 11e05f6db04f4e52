// box_blur_packed.cu -- a warp moves down STRIP rows, 4 * WORDS pixels a lane. Sums are of 16 bits, two in a register:
// those of a row's windows, of which each lane keeps 2 * R + 1 rows, and those of whole windows, which one row
// enters and another leaves. What a lane needs of its neighbours comes by shuffles.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_mean.cuh"

constexpr int D = 2 * R + 1, PIXELS = 4 * WORDS;

// A lane's pixels of a row; lane 0 also has the word before the warp's, lane 31 the one behind.
struct line {
  unsigned w[WORDS], beside;
};
// Of each word the sums of pixels 0 and 2, and of 1 and 3.
struct sums {
  unsigned even[WORDS], odd[WORDS];
};

// Four pixels, some of which are beyond the image.
__device__ __noinline__ unsigned gather(const value *row, int x, int width) {
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int u = inside(x + i, width);
    if (u >= 0) word |= (unsigned)__ldg(row + u) << 8 * i;
  }
  return word;
}
// Words that are not aligned come from two that are, up to MARGIN bytes further.
constexpr int MARGIN = WORD < 4 ? 4 : 0;
__device__ __forceinline__ unsigned word_at(const value *p) {
  if constexpr (WORD >= 4) return __ldg(reinterpret_cast<const unsigned *>(p));
  const unsigned shift = (unsigned)(size_t)p % 4;
  const unsigned *words = reinterpret_cast<const unsigned *>(p - shift);
  return __funnelshift_r(__ldg(words), __ldg(words + 1), shift * 8);
}

template <bool EDGE>
__device__ __forceinline__ unsigned load_word(const value *row, int x, int width) {
  if (!EDGE || (x >= MARGIN && x + 4 + MARGIN <= width)) return word_at(row + x);
  return gather(row, x, width);
}

// With EDGE, the warp has pixels beside which there is no image, or sums of fewer pixels.
template <bool EDGE>
__device__ __forceinline__ void load_line(line &l, const value *src, long long pitch, int x, int y,
                                          int width, int height, int lane) {
  const int v = (unsigned)y < (unsigned)height ? y : inside(y, height);
  l = {};
  if (v < 0) return;
  const value *row = src + v * pitch;
  if (!EDGE || (x >= MARGIN && x + PIXELS + MARGIN <= width)) {
    constexpr int N = WORD >= PIXELS ? PIXELS : WORD < 4 ? 4 : WORD;  // bytes of a load
#pragma unroll
    for (int i = 0; i < WORDS; i += N / 4) {
      if constexpr (N == 16) {
        const uint4 v = __ldg(reinterpret_cast<const uint4 *>(row + x) + i / 4);
        l.w[i] = v.x, l.w[i + 1] = v.y, l.w[i + 2] = v.z, l.w[i + 3] = v.w;
      } else if constexpr (N == 8) {
        const uint2 v = __ldg(reinterpret_cast<const uint2 *>(row + x) + i / 2);
        l.w[i] = v.x, l.w[i + 1] = v.y;
      } else {
        l.w[i] = word_at(row + x + 4 * i);
      }
    }
  } else if (x < width + R) {
#pragma unroll
    for (int i = 0; i < WORDS; i++) l.w[i] = gather(row, x + 4 * i, width);
  }
  if (lane == 0 || lane == 31) {
    const int u = lane == 0 ? x - 4 : x + PIXELS;
    if (!EDGE || u < width + R) l.beside = load_word<EDGE>(row, u, width);
  }
}

// Pixels s and s + 2 from word k of those with one more on either side.
__device__ __forceinline__ unsigned pair(const unsigned (&even)[WORDS + 2],
                                         const unsigned (&odd)[WORDS + 2], int k, int s) {
  const int word = k + (s + 8) / 4 - 2;
  const unsigned *of = s & 1 ? odd : even;
  return s & 2 ? __byte_perm(of[word], of[word + 1], 0x5432) : of[word];
}

__device__ __forceinline__ void add_row(const line &l, int lane, sums &s) {
  unsigned a[WORDS + 2], even[WORDS + 2], odd[WORDS + 2];
  a[0] = __shfl_up_sync(~0u, l.w[WORDS - 1], 1);
  a[WORDS + 1] = __shfl_down_sync(~0u, l.w[0], 1);
  if (lane == 0) a[0] = l.beside;
  if (lane == 31) a[WORDS + 1] = l.beside;
#pragma unroll
  for (int k = 0; k < WORDS; k++) a[k + 1] = l.w[k];
#pragma unroll
  for (int k = 0; k < WORDS + 2; k++) {
    even[k] = __byte_perm(a[k], 0, 0x4240);
    odd[k] = __byte_perm(a[k], 0, 0x4341);
  }
#pragma unroll
  for (int k = 0; k < WORDS; k++) {
    unsigned middle = 0;
#pragma unroll
    for (int d = 1 - R; d <= R; d++) middle += pair(even, odd, k + 1, d);
    s.even[k] = middle + pair(even, odd, k + 1, -R);
    s.odd[k] = middle + pair(even, odd, k + 1, R + 1);
  }
}

// Where fewer pixels count.
__device__ __noinline__ unsigned means_at_border(unsigned even, unsigned odd, int x, int width,
                                                 int ny) {
  const unsigned s[4] = {even & 0xffff, odd & 0xffff, even >> 16, odd >> 16};
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    word |= (unsigned)mean_of(s[i], max(counted(x + i, width, R), 1), ny) << 8 * i;
  }
  return word;
}

// Means of the windows of a word's pixels; x is the first. A product with the reciprocal, rounded up, of an area of at
// most 81 has its integral part in the uppermost byte: what rounding adds is below 255 * 81 * 81 / 2^24 of 1 / area.
template <bool EDGE>
__device__ __forceinline__ unsigned means(unsigned even, unsigned odd, int x, int width, int ny) {
  if (EDGE && BORDER == BORDER_shrink && (ny < D || x < R || x + 4 + R > width)) {
    return means_at_border(even, odd, x, width, ny);
  }
  constexpr unsigned RECIPROCAL = ((1u << 24) + D * D - 1) / (D * D);
  const unsigned low = __byte_perm((even & 0xffff) * RECIPROCAL, (odd & 0xffff) * RECIPROCAL, 0x73);
  const unsigned high = __byte_perm((even >> 16) * RECIPROCAL, (odd >> 16) * RECIPROCAL, 0x73);
  return __byte_perm(low, high, 0x5410);
}

// The first n pixels of a word.
__device__ __noinline__ void put_some(value *to, unsigned word, int n) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (i < n) to[i] = word >> 8 * i;
  }
}

template <bool EDGE>
__device__ __forceinline__ void put(value *to, const unsigned (&w)[WORDS], int n) {
  if (WORD < 4 && (!EDGE || n >= PIXELS)) {
#pragma unroll
    for (int i = 0; i < PIXELS; i++) to[i] = w[i / 4] >> 8 * (i % 4);
    return;
  }
  if (!EDGE || n >= PIXELS) {
    constexpr int N = WORD >= PIXELS ? PIXELS : WORD < 4 ? 4 : WORD;
#pragma unroll
    for (int i = 0; i < WORDS; i += N / 4) {
      if constexpr (N == 16) {
        const uint4 v = make_uint4(w[i], w[i + 1], w[i + 2], w[i + 3]);
        uint4 *p = reinterpret_cast<uint4 *>(to) + i / 4;
        if (STORE == STORE_streaming) __stcs(p, v);
        if (STORE != STORE_streaming) *p = v;
      } else if constexpr (N == 8) {
        const uint2 v = make_uint2(w[i], w[i + 1]);
        uint2 *p = reinterpret_cast<uint2 *>(to) + i / 2;
        if (STORE == STORE_streaming) __stcs(p, v);
        if (STORE != STORE_streaming) *p = v;
      } else {
        reinterpret_cast<unsigned *>(to)[i] = w[i];
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < WORDS; i++) {
    if (4 * i < n) put_some(to + 4 * i, w[i], n - 4 * i);
  }
}

template <bool EDGE>
__device__ __forceinline__ void blur(int width, int height, int x, int top, int lane,
                                     const value *src, long long src_pitch, value *dst,
                                     long long dst_pitch) {
  const int rows = min(STRIP, height - top) + 2 * R;
  line ahead[D];
  sums ring[D] = {}, total = {};
#pragma unroll
  for (int j = 0; j < D; j++) {
    load_line<EDGE>(ahead[j], src, src_pitch, x, top - R + j, width, height, lane);
  }
#pragma unroll 1
  for (int t = 0; t < rows; t += D) {
#pragma unroll
    for (int j = 0; j < D; j++) {
      if (t + j >= rows) break;
      const int y = top + t + j - 2 * R;  // of the windows that this row completes
      sums row;
      add_row(ahead[j], lane, row);
      if (t + j + D < rows) {
        load_line<EDGE>(ahead[j], src, src_pitch, x, y + R + D, width, height, lane);
      }
#pragma unroll
      for (int k = 0; k < WORDS; k++) {
        total.even[k] += row.even[k] - ring[j].even[k];
        total.odd[k] += row.odd[k] - ring[j].odd[k];
      }
      ring[j] = row;
      if (y < top) continue;
      const int ny = EDGE ? counted(y, height, R) : D;
      unsigned out[WORDS];
#pragma unroll
      for (int k = 0; k < WORDS; k++) {
        out[k] = means<EDGE>(total.even[k], total.odd[k], x + 4 * k, width, ny);
      }
      put<EDGE>(dst + y * dst_pitch + x, out, width - x);
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT * 32 / BLOCK)
    box_blur(int width, int height, int radius, const value *__restrict__ src, long long src_pitch,
             value *__restrict__ dst, long long dst_pitch) {
  const int lane = threadIdx.x % 32, x = (blockIdx.x * BLOCK + threadIdx.x) * PIXELS;
  const int left = x - lane * PIXELS, top = blockIdx.y * STRIP;
  if (left >= width) return;
  src += pdl_wait();
  const bool fewer = BORDER == BORDER_shrink && (top < R || top + STRIP + R > height);
  if (left < 4 + MARGIN || left + 32 * PIXELS + 4 + MARGIN > width || fewer) {
    blur<true>(width, height, x, top, lane, src, src_pitch, dst, dst_pitch);
  } else {
    blur<false>(width, height, x, top, lane, src, src_pitch, dst, dst_pitch);
  }
}
