// bitmap.cu -- a picture whose pixels come from their mirror image within a block, by way of shared memory. Threads
// write their tile by columns: of rows of 17 words (PAD=1) these are in 16 banks, of rows of 16 (PAD=0) in two.
// CUDA by Example, chapter 5, shows what it looks like without the barrier; autotune check --device emu says why.
//
//   autotune bitmap.cu dim=1024
//@ problem dim 1..16384 default 1024
//@ param PAD = 0,1
//@ arg dim:i32
//@ arg out:u8[4 * dim * dim]:out
//@ kernel bitmap
//@ grid ceildiv(dim, 16), ceildiv(dim, 16)
//@ block 16, 16
//@ reference slow
//@ grid ceildiv(dim, 16), ceildiv(dim, 16)
//@ block 16, 16
//@ bytes 4 * dim * dim
//@ size emu dim=100

#ifndef PAD
#define PAD 1
#endif

// 0 to 255, once every 128 pixels
static __device__ float wave(int x, int y) {
  return 255 * (sinpif(x / 64.0f) + 1) * (sinpif(y / 64.0f) + 1) / 4;
}

static __device__ void put(unsigned char *out, int dim, int x, int y, float green) {
  if (x < dim && y < dim) {
    reinterpret_cast<uchar4 *>(out)[(long long)y * dim + x] =
        make_uchar4(0, (unsigned char)green, 0, 255);
  }
}

__global__ void bitmap(int dim, unsigned char *out) {
  __shared__ float tile[16][16 + PAD];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  tile[threadIdx.x][threadIdx.y] = wave(x, y);
  __syncthreads();
  put(out, dim, x, y, tile[15 - threadIdx.x][15 - threadIdx.y]);
}

__global__ void slow(int dim, unsigned char *out) {
  const int left = blockIdx.x * 16, top = blockIdx.y * 16;
  put(out, dim, left + threadIdx.x, top + threadIdx.y, wave(left + 15 - threadIdx.x, top + 15 - threadIdx.y));
}
