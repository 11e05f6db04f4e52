// rgb_to_grey_words.cu -- a thread takes PIXELS neighbouring pixels of a row as words, COARSE times.
#include "pdl.cuh"
#include "words.cuh"
#include "elements.cuh"
#include "rgb_to_grey_level.cuh"
#include "rgb_to_grey_group.cuh"

using place = choose<WIDE, unsigned long long, unsigned>;

extern "C" __global__ void __launch_bounds__(BLOCK)
    rgb_to_grey(int width, int height, double wr, double wg, double wb,
                const unsigned char *__restrict__ src, long long src_pitch,
                unsigned char *__restrict__ dst, long long dst_pitch) {
  src += pdl_wait();
  const weights w = weights_of(wr, wg, wb);
  const unsigned groups = ((unsigned)width + PIXELS - 1) / PIXELS;  // of a row
  group g[COARSE];
  unsigned char *to[COARSE];
#pragma unroll
  for (int c = 0; c < COARSE; c++) {
    const place i = ((place)blockIdx.x * COARSE + c) * BLOCK + threadIdx.x, y = i / groups;
    const long long x = (long long)(i - y * groups) * PIXELS;
    const unsigned char *from = src + (long long)y * src_pitch + x * CHANNELS;
    to[c] = y < (place)height ? dst + (long long)y * dst_pitch + x : nullptr;
    if (to[c] && x + PIXELS > width) {  // the end of a row
      for (int k = 0; k < width - x; k++) to[c][k] = level_at(from + k * CHANNELS, w);
      to[c] = nullptr;
    }
#pragma unroll
    for (int k = 0; k < CHANNELS; k++) {
      if (to[c])
        reinterpret_cast<unit *>(g[c].bytes)[k] = load(reinterpret_cast<const unit *>(from) + k);
    }
  }
#pragma unroll
  for (int c = 0; c < COARSE; c++) {
    if (to[c]) store(reinterpret_cast<unit *>(to[c]), levels_of(g[c], w));
  }
}
