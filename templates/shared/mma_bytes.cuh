// mma_bytes.cuh -- "mma", .m16n8k32, of signed by unsigned bytes into 32-bit sums; compute capability
// 8.0. With quad = lane / 4 and place = lane % 4, a lane holds of a rows quad and quad + 8, bytes
// 4 place to 4 place + 3, then the same rows 16 bytes on; of b column quad likewise; of c as mma.cuh says.
#pragma once

__device__ __forceinline__ void mma_bytes(int (&c)[4], const unsigned (&a)[4], unsigned b0,
                                          unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
