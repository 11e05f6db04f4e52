// mma.cuh -- a warp's matrix instructions, one wrapper each; "Warp Level Matrix Multiply-Accumulate
// Instructions" in the PTX ISA. How a matrix lies in the lanes: with quad = lane / 4 and
// place = lane % 4, an accumulator of 16 x 8 has rows quad (c[0], c[1]) and quad + 8 (c[2], c[3]) and
// columns 2 place and 2 place + 1.
#pragma once

// "ldmatrix": four 8 x 8 matrices of 16-bit elements; lane i gives the address of row i % 8 of
// matrix i / 8. The transposed form gives a lane columns instead of rows.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_transposed(unsigned (&r)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// "mma", .m16n8k16: c += a b, halves or bfloats into floats; compute capability 8.0.
#define MMA_16(name, type)                                                   \
  __device__ __forceinline__ void name(float(&c)[4], const unsigned(&a)[4],  \
                                       const unsigned(&b)[2]) {              \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type               \
        ".f32 {%0, %1, %2, %3}, "                                            \
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                      \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                     \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
MMA_16(mma_f16, "f16")
MMA_16(mma_bf16, "bf16")
#undef MMA_16

// "mma", .m16n8k8, of floats cut to TF32, with 11 significant bits; compute capability 8.0. Lanes hold
// rows quad and quad + 8 of a at place, then at place + 4, and column quad of b likewise.
__device__ __forceinline__ void mma_tf32(float (&c)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// "mma" of doubles, c of 16 x 8 by steps of 4, 8 or 16 along k: two of .m8n8k4, compute capability
// 8.0, or one instruction of 9.0. Lanes hold rows quad and quad + 8 of a at place, place + 4, ...,
// rows first, and column quad of b likewise.
__device__ __forceinline__ void mma_f64(double (&c)[4], const double (&a)[2],
                                        const double (&b)[1]) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
        : "d"(a[half]), "d"(b[0]));
  }
}
__device__ __forceinline__ void mma_f64(double (&c)[4], const double (&a)[4],
                                        const double (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
__device__ __forceinline__ void mma_f64(double (&c)[4], const double (&a)[8],
                                        const double (&b)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
