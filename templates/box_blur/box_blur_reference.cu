// box_blur_reference.cu -- a thread per pixel; sums are exact, or in double precision.
@ local sum = dtype == "u8" and "long long" or "double"
@ local value = dtype == "u8" and "unsigned char" or "float"

// Pixel i of n: whether it counts, and which one it is; -1: zero.
__device__ bool counts(int &i, int n) {
  if (BORDER == BORDER_replicate) i = i < 0 ? 0 : i >= n ? n - 1 : i;
  if (BORDER == BORDER_mirror && n == 1) i = 0;
  if (BORDER == BORDER_mirror) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  if (i < 0 || i >= n) i = -1;
  return i >= 0 || BORDER == BORDER_zero;
}

extern "C" __global__ void reference(int width, int height, int radius, const @{value} *src, long long src_pitch,
                                     @{value} *dst, long long dst_pitch) {
  const int x = blockIdx.x * 128 + threadIdx.x;
  if (x >= width) return;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    @{sum} sum = 0;
    long long n = 0;
    for (int j = y - radius; j <= y + radius; j++) {
      for (int i = x - radius; i <= x + radius; i++) {
        int u = i, v = j;
        const bool both = counts(u, width) & counts(v, height);
        n += both;
        if (both && u >= 0 && v >= 0) sum += src[v * src_pitch + u];
      }
    }
    dst[y * dst_pitch + x] = (@{value})(sum / n);
  }
}
