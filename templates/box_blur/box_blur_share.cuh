// box_blur_share.cuh -- the K bytes around a segment as four lanes share them.
#pragma once

constexpr int SEGMENT = 32, SEGMENTS = 8, HALO = (K - SEGMENT) / 2, PAIRS = CHUNKS / 2;

// The bytes of a lane's share of a row: of each 64 bytes around the segment 16, of the last 32, where
// CHUNKS is odd, 8.
struct share {
  unsigned words[2 * CHUNKS];
};

// Place of word 2 c + reg of the share in the segment's K bytes.
__device__ __forceinline__ int place_of(int c, int reg, int place) {
  if (c < 2 * PAIRS) return c / 2 * 64 + 16 * place + 8 * (c % 2) + 4 * reg;
  return c * 32 + 8 * place + 4 * reg;
}
