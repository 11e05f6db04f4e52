// mma.sync and ldmatrix against fragments loaded element by element, by the formulas of the PTX
// manual (9.7.14.5): groupID = lane / 4, threadID = lane % 4.
#include <cuda_fp16.h>

#define GLOBAL extern "C" __global__ void
#define LANE const int g = threadIdx.x / 4, t = threadIdx.x % 4

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// c (16 x 8) = a (16 x 16) b (16 x 8, by columns) + 1; a by ldmatrix, b by hand
GLOBAL half_k16(const __half *a, const __half *b, float *c) {
  LANE;
  __shared__ __align__(16) __half s[256];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = a[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(shared_address(s + threadIdx.x % 16 * 16 + threadIdx.x / 16 * 8)));
  for (int i = 0; i < 8; i++) {  // what the manual says a holds
    int row = i < 2 || (i >= 4 && i < 6) ? g : g + 8, column = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    unsigned short have = ra[i / 2] >> (16 * (i & 1)), want = __half_as_ushort(s[row * 16 + column]);
    if (have != want) __trap();
  }
  __half hb[4];
  for (int i = 0; i < 4; i++) hb[i] = b[g * 16 + t * 2 + (i & 1) + (i >= 2 ? 8 : 0)];
  rb[0] = __half_as_ushort(hb[0]) | __half_as_ushort(hb[1]) << 16;
  rb[1] = __half_as_ushort(hb[2]) | __half_as_ushort(hb[3]) << 16;
  float d[4];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(1.0f));
  for (int i = 0; i < 4; i++) c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = d[i];
}

// signed bytes, k = 32
GLOBAL bytes_k32(const signed char *a, const signed char *b, int *c) {
  LANE;
  unsigned ra[4] = {}, rb[2] = {};
  for (int i = 0; i < 16; i++) {
    int row = i < 4 || (i >= 8 && i < 12) ? g : g + 8, column = t * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    ra[i / 4] |= (unsigned)(unsigned char)a[row * 32 + column] << (8 * (i & 3));
  }
  for (int i = 0; i < 8; i++) {
    int row = t * 4 + (i & 3) + (i >= 4 ? 16 : 0);
    rb[i / 4] |= (unsigned)(unsigned char)b[g * 32 + row] << (8 * (i & 3));
  }
  int d[4];
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "r"(1));
  for (int i = 0; i < 4; i++) c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = d[i];
}

// tf32, k = 8
GLOBAL tensor_k8(const float *a, const float *b, float *c) {
  LANE;
  unsigned ra[4], rb[2];
  for (int i = 0; i < 4; i++) ra[i] = __float_as_uint(a[(i & 1 ? g + 8 : g) * 8 + t + (i >= 2 ? 4 : 0)]);
  for (int i = 0; i < 2; i++) rb[i] = __float_as_uint(b[g * 8 + t + 4 * i]);
  float d[4];
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(1.0f));
  for (int i = 0; i < 4; i++) c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = d[i];
}

// double, 8 x 8, k = 4
GLOBAL double_k4(const double *a, const double *b, double *c) {
  LANE;
  double d[2];
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%4};"
               : "=d"(d[0]), "=d"(d[1]) : "d"(a[g * 4 + t]), "d"(b[g * 4 + t]), "d"(1.0));
  for (int i = 0; i < 2; i++) c[g * 8 + t * 2 + i] = d[i];
}

// y = transpose of x, 8 x 8 halves, three ways: ldmatrix.trans, movmatrix, stmatrix.trans
GLOBAL transposes(const unsigned short *x, unsigned short *y) {
  LANE;
  __shared__ __align__(16) unsigned short s[64], u[64];
  for (int i = threadIdx.x; i < 64; i += 32) s[i] = x[i];
  __syncwarp();
  unsigned straight, turned, moved;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(straight) : "r"(shared_address(s + threadIdx.x % 8 * 8)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(turned) : "r"(shared_address(s + threadIdx.x % 8 * 8)));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(straight));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(shared_address(u + threadIdx.x % 8 * 8)), "r"(straight) : "memory");
  __syncwarp();
  if (turned != moved || turned != (u[g * 8 + t * 2] | (unsigned)u[g * 8 + t * 2 + 1] << 16)) __trap();
  y[g * 8 + t * 2] = turned & 0xffff;
  y[g * 8 + t * 2 + 1] = turned >> 16;
}
