// box_blur_mma.cu -- sums of bytes by tensor cores. A warp has 8 segments of 32 pixels side by side, and moves down
// STRIP rows. What a row adds to the sums of a segment's windows is a product: of a matrix of ones and zeros, 32
// windows by the K bytes around the segment, with the bytes as a column of another, one column a segment.
// PRODUCTS=bytes multiplies the row that enters and the one that leaves, =halves their difference.
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_bytes.cuh"
#include "box_blur_halves.cuh"

template <int>
struct products;
template <>
struct products<PRODUCTS_bytes> {
  using sums = byte_sums;
};
template <>
struct products<PRODUCTS_halves> {
  using sums = half_sums;
};
using window_sums = products<PRODUCTS>::sums;

// N bytes of a row. Words that are not aligned come from aligned ones, up to MARGIN bytes further.
constexpr int MARGIN = WORD < 4 ? 4 : 0;
template <int N>
__device__ __forceinline__ void load_inside(unsigned *to, const unsigned char *from) {
  if constexpr (WORD >= N && N == 16) {
    *reinterpret_cast<uint4 *>(to) = __ldg(reinterpret_cast<const uint4 *>(from));
  } else if constexpr (WORD >= 8) {
#pragma unroll
    for (int i = 0; i < N; i += 8) {
      *reinterpret_cast<uint2 *>(to + i / 4) = __ldg(reinterpret_cast<const uint2 *>(from + i));
    }
  } else if constexpr (WORD == 4) {
#pragma unroll
    for (int i = 0; i < N; i += 4) to[i / 4] = __ldg(reinterpret_cast<const unsigned *>(from + i));
  } else {
    const unsigned shift = (unsigned)(size_t)from % 4 * 8;
    const unsigned *words = reinterpret_cast<const unsigned *>(from - shift / 8);
    unsigned low = __ldg(words);
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const unsigned high = __ldg(words + i / 4 + 1);
      to[i / 4] = __funnelshift_r(low, high, shift);
      low = high;
    }
  }
}

template <int N>
__device__ __forceinline__ bool is_whole(int x, int width) {
  return x >= MARGIN && x + N <= width - MARGIN;
}

// Does the row have some, but not all of N bytes from x on, or all by mirroring? They are gathered one by one.
template <int N>
__device__ __forceinline__ bool is_gathered(int x, int width) {
  const bool none = x + N <= 0 || x >= width;
  return !is_whole<N>(x, width) && (BORDER == BORDER_mirror || !none);
}

// A lane's place in shared memory for what it gathers.
struct alignas(16) slot {
  unsigned words[4 * PAIRS + (CHUNKS % 2 ? 4 : 0)];
};

template <int N>
__device__ __noinline__ void gather(unsigned *to, const unsigned char *row, int x, int width) {
  unsigned char bytes[N];
#pragma unroll
  for (int i = 0; i < N; i++) {
    const int u = inside(x + i, width);
    bytes[i] = u >= 0 ? __ldg(row + u) : 0;
  }
#pragma unroll
  for (int i = 0; i < N; i++) reinterpret_cast<unsigned char *>(to)[i] = bytes[i];
}

template <int N>
__device__ __forceinline__ void load_bytes(unsigned *to, const unsigned char *row, int x, int width,
                                           unsigned *slot) {
  if (is_whole<N>(x, width)) {
    load_inside<N>(to, row + x);
  } else if (is_gathered<N>(x, width)) {
    gather<N>(slot, row, x, width);
#pragma unroll
    for (int i = 0; i < N / 4; i++) to[i] = slot[i];
  } else if (BORDER == BORDER_replicate) {
    const unsigned four = __ldg(row + (x < 0 ? 0 : width - 1)) * 0x01010101u;
#pragma unroll
    for (int i = 0; i < N / 4; i++) to[i] = four;
  }
}

struct image {
  const unsigned char *src;
  long long pitch;
  int width, height;
};

// Of row y from x on, both of which may be outside.
__device__ __forceinline__ share load_any(const image &m, int y, int x, int place, slot *mine) {
  share s = {};
  const int v = inside(y, m.height);
  if (v >= 0) {
    const unsigned char *row = m.src + v * m.pitch;
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
      load_bytes<16>(s.words + 4 * p, row, x + 64 * p + 16 * place, m.width, mine->words + 4 * p);
    }
    if constexpr (CHUNKS % 2) {
      load_bytes<8>(s.words + 4 * PAIRS, row, x + 64 * PAIRS + 8 * place, m.width,
                    mine->words + 4 * PAIRS);
    }
  }
  return s;
}

// The same where all bytes are inside.
__device__ __forceinline__ share load_share(const unsigned char *from, int place) {
  share s;
#pragma unroll
  for (int p = 0; p < PAIRS; p++) load_inside<16>(s.words + 4 * p, from + 64 * p + 16 * place);
  if constexpr (CHUNKS % 2) load_inside<8>(s.words + 4 * PAIRS, from + 64 * PAIRS + 8 * place);
  return s;
}

// "rcp.approx": relative error at most 2^-23, of a level 2^-15, which is less than half a pixel's share of
// up to 97 x 97.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ unsigned pack(unsigned a, unsigned b, unsigned c, unsigned d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

__device__ __forceinline__ void store_word(unsigned char *to, unsigned levels) {
  if constexpr (WORD < 4) {
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(levels >> 8 * i);
  } else if constexpr (STORE == STORE_streaming) {
    __stcs(reinterpret_cast<unsigned *>(to), levels);
  } else {
    *reinterpret_cast<unsigned *>(to) = levels;
  }
}

constexpr int BESIDE = ROWS < 4 ? ROWS : 4;  // rows loaded at a time beside the border

// A warp on its way down a strip. Each lane loads of one segment, and stores four pixels of two.
struct walker {
  image m;
  unsigned char *dst;
  long long dst_pitch;
  int left, bottom, radius, quad, place;
  window_sums sums;

  __device__ __forceinline__ int from() const { return left + quad * SEGMENT - HALO; }
  __device__ __forceinline__ int column() const { return left + 2 * place * SEGMENT + 4 * quad; }

  // Results i to i + 3 of segment 2 place + s: of accumulators' rows quad and quad + 8.
  __device__ __forceinline__ unsigned levels(int s, const float (&inverse)[4]) const {
    return pack(sums.mean(0, s, inverse[0]), sums.mean(0, s + 2, inverse[1]),
                sums.mean(1, s, inverse[2]), sums.mean(1, s + 2, inverse[3]));
  }

  // Some pixels, or pixels of their windows, may be outside.
  __device__ __forceinline__ void store_any(int y) const {
    const int rows = counted(y, m.height, radius);
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const int x = column() + s * SEGMENT;
      unsigned char *to = dst + y * dst_pitch + x;
      float inverse[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        inverse[i] = reciprocal((float)(rows * counted(min(x + i, m.width - 1), m.width, radius)));
      }
      const unsigned four = levels(s, inverse);
      if (x + 4 <= m.width) {
        store_word(to, four);
      } else {
        for (int i = 0; i < m.width - x; i++) to[i] = (unsigned char)(four >> 8 * i);
      }
    }
  }

  __device__ __forceinline__ void store_inside(unsigned char *to, float inverse) const {
    const float four[4] = {inverse, inverse, inverse, inverse};
    store_word(to, levels(0, four));
    store_word(to + SEGMENT, levels(1, four));
  }

  // The lines of row y, if it is one of the strip's, on their way to the second-level cache.
  __device__ __forceinline__ void prefetch(int y) const {
    const int lane = 4 * quad + place, x = left - HALO + 128 * lane;
    if (AHEAD > 0 && lane * 128 < SEGMENT * SEGMENTS + 2 * HALO && x >= 0 && x < m.width) {
      const int last = min(bottom + radius, m.height) - 1;
      asm volatile("prefetch.global.L2 [%0];" ::"l"(m.src + max(0, min(y, last)) * m.pitch + x));
    }
  }

  // N rows from y on, but for those from `end` on; INSIDE: none is outside.
  template <int N, bool INSIDE>
  __device__ __forceinline__ void load_rows(share (&s)[N], int y, int end, slot *mine) const {
    const unsigned char *in = m.src + y * m.pitch + from();
#pragma unroll
    for (int k = 0; k < N; k++) {
      if constexpr (INSIDE) {
        s[k] = load_share(in + k * m.pitch, place);
      } else {
        s[k] = y + k < end ? load_any(m, y + k, from(), place, mine) : share{};
      }
    }
  }

  template <int N, bool INSIDE>
  __device__ __forceinline__ void enter_rows(int y, int end, slot *mine) {
    share s[N];
    load_rows<N, INSIDE>(s, y, end, mine);
#pragma unroll
    for (int k = 0; k < N; k++) prefetch(y + k + AHEAD);
    sums.enter(s);
  }

  template <int N, bool INSIDE>
  __device__ __forceinline__ void step_rows(int y, float inverse, slot *mine) {
    share enters[N], leaves[N];
    load_rows<N, INSIDE>(enters, y + radius, bottom + radius, mine);
    load_rows<N, INSIDE>(leaves, y - radius - window_sums::BEFORE,
                         bottom - radius - window_sums::BEFORE, mine);
#pragma unroll
    for (int k = 0; k < N; k++) prefetch(y + radius + k + AHEAD);
    sums.slide(enters, leaves, [&](int k) {
      if constexpr (INSIDE) {
        store_inside(dst + (y + k) * dst_pitch + column(), inverse);
      } else if (y + k < bottom) {
        store_any(y + k);
      }
    });
  }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT / WARPS)
    box_blur(int width, int height, int radius, const unsigned char *__restrict__ src,
             long long src_pitch, unsigned char *__restrict__ dst, long long dst_pitch) {
  __shared__ slot slots[32 * WARPS];
  src += pdl_wait();
  const int lane = threadIdx.x % 32,
            left = (blockIdx.x * WARPS + threadIdx.x / 32) * (SEGMENT * SEGMENTS);
  if (left >= width) return;
  slot *mine = slots + threadIdx.x;
  const int top = blockIdx.y * STRIP, bottom = min(top + STRIP, height);
  walker w = {
      {src, src_pitch, width, height}, dst, dst_pitch, left, bottom, radius, lane / 4, lane % 4};
  w.sums.begin(w.quad, w.place, w.radius);
  const bool is_inside = is_whole<SEGMENT * SEGMENTS + 2 * HALO>(left - HALO, width);  // columns
  const int first = top + radius;  // row of the first window that enters last
  for (int y = top - radius - window_sums::BEFORE; y < first;) {
    if (is_inside && y >= 0 && y + ROWS <= min(first, height)) {
      w.enter_rows<ROWS, true>(y, first, mine);
      y += ROWS;
    } else {
      w.enter_rows<BESIDE, false>(y, first, mine);
      y += BESIDE;
    }
  }
  const float inverse = reciprocal((float)((2 * radius + 1) * (2 * radius + 1)));
  for (int y = top; y < bottom;) {
    if (is_inside && y >= radius + window_sums::BEFORE &&
        y + ROWS <= min(bottom, height - radius)) {
      w.step_rows<ROWS, true>(y, inverse, mine);
      y += ROWS;
    } else {
      w.step_rows<BESIDE, false>(y, inverse, mine);
      y += BESIDE;
    }
  }
}
