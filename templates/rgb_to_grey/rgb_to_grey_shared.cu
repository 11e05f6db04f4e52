// rgb_to_grey_shared.cu -- a block loads the bytes of TILE pixels of a row as words of 16 bytes, side by side; each thread
// takes its own from shared memory. PIXELS words lie an odd number of them apart, so banks do not conflict.
#include "pdl.cuh"
#include "words.cuh"
#include "rgb_to_grey_level.cuh"
#include "rgb_to_grey_group.cuh"

__device__ __forceinline__ uint4 load_wide(const uint4 *p) {
  if constexpr (LOAD == LOAD_constant) return load_constant(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    rgb_to_grey(int width, int height, double wr, double wg, double wb,
                const unsigned char *__restrict__ src, long long src_pitch,
                unsigned char *__restrict__ dst, long long dst_pitch) {
  constexpr int WORDS = TILE * CHANNELS / 16, STEPS = (WORDS + BLOCK - 1) / BLOCK;
  __shared__ uint4 tile[WORDS];
  src += pdl_wait();
  const weights w = weights_of(wr, wg, wb);
  const unsigned tiles = ((unsigned)width + TILE - 1) / TILE;  // of a row
  const unsigned y = blockIdx.x / tiles, left = (blockIdx.x - y * tiles) * TILE;
  const unsigned char *from = src + y * src_pitch + (long long)left * CHANNELS;
  unsigned char *to = dst + y * dst_pitch + left;
  const int pixels = min(TILE, (int)(width - left)), words = pixels * CHANNELS / 16;
  uint4 v[STEPS];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int i = k * BLOCK + threadIdx.x;
    if (i < words) v[k] = load_wide(reinterpret_cast<const uint4 *>(from) + i);
  }
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    const int i = k * BLOCK + threadIdx.x;
    if (i < words) tile[i] = v[k];
  }
  __syncthreads();
  const int x = threadIdx.x * PIXELS;
  if ((x + PIXELS) * CHANNELS <= words * 16) {
    group g;
#pragma unroll
    for (int k = 0; k < CHANNELS; k++) {
      reinterpret_cast<unit *>(g.bytes)[k] =
          reinterpret_cast<const unit *>(tile)[threadIdx.x * CHANNELS + k];
    }
    store(reinterpret_cast<unit *>(to + x), levels_of(g, w));
  } else {  // the end of a row
    for (int k = x; k < min(x + PIXELS, pixels); k++) to[k] = level_at(from + k * CHANNELS, w);
  }
}
