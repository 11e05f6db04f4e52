// wgmma.cuh -- a warpgroup's matrix instructions of compute capability 9.0a, one wrapper each, by the number of sums
// that a thread has; "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation" in the PTX ISA. The
// instructions around them (fence, commit, wait, descriptors) are in ptx90.cuh.
#pragma once

// The names of a thread's first sums in the instruction,
#define WGMMA_NAMES_32                                                   \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_48 \
  WGMMA_NAMES_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_64 \
  WGMMA_NAMES_48       \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_80 \
  WGMMA_NAMES_64       \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_NAMES_96 \
  WGMMA_NAMES_80       \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_NAMES_128                                                                          \
  WGMMA_NAMES_96                                                                                 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// and the operands that they stand for, d[i] and those behind.
#define WGMMA_SUMS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_SUMS_16(i) \
  WGMMA_SUMS_4(i), WGMMA_SUMS_4(i + 4), WGMMA_SUMS_4(i + 8), WGMMA_SUMS_4(i + 12)
#define WGMMA_SUMS_32 WGMMA_SUMS_16(0), WGMMA_SUMS_16(16)
#define WGMMA_SUMS_48 WGMMA_SUMS_32, WGMMA_SUMS_16(32)
#define WGMMA_SUMS_64 WGMMA_SUMS_48, WGMMA_SUMS_16(48)
#define WGMMA_SUMS_80 WGMMA_SUMS_64, WGMMA_SUMS_16(64)
#define WGMMA_SUMS_96 WGMMA_SUMS_80, WGMMA_SUMS_16(80)
#define WGMMA_SUMS_128 WGMMA_SUMS_96, WGMMA_SUMS_16(96), WGMMA_SUMS_16(112)

// ".m64nNk16", d = a b, or d += a b: halves or bfloats into floats, both operands in shared memory, given by
// descriptors. A_ACROSS, B_ACROSS: the operand is contiguous across k, not along it. D0 to D4 are the names of the
// operands behind the SUMS.
#define WGMMA_16(name, type, N, SUMS, D0, D1, D2, D3, D4)                                  \
  template <bool A_ACROSS, bool B_ACROSS>                                                  \
  __device__ __forceinline__ void name(float(&d)[SUMS], unsigned long long a,              \
                                       unsigned long long b, bool add) {                   \
    asm volatile("{ .reg .pred add; setp.ne.b32 add, " D2                                  \
                 ", 0;\n"                                                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type           \
                 " "                                                                       \
                 "{" WGMMA_NAMES_##SUMS "}, " D0 ", " D1 ", add, 1, 1, " D3 ", " D4 "; }"  \
                 : WGMMA_SUMS_##SUMS                                                       \
                 : "l"(a), "l"(b), "r"((int)add), "n"((int)A_ACROSS), "n"((int)B_ACROSS)); \
  }
WGMMA_16(wgmma_f16, "f16", 64, 32, "%32", "%33", "%34", "%35", "%36")
WGMMA_16(wgmma_f16, "f16", 128, 64, "%64", "%65", "%66", "%67", "%68")
WGMMA_16(wgmma_f16, "f16", 192, 96, "%96", "%97", "%98", "%99", "%100")
WGMMA_16(wgmma_f16, "f16", 256, 128, "%128", "%129", "%130", "%131", "%132")
WGMMA_16(wgmma_bf16, "bf16", 64, 32, "%32", "%33", "%34", "%35", "%36")
WGMMA_16(wgmma_bf16, "bf16", 128, 64, "%64", "%65", "%66", "%67", "%68")
WGMMA_16(wgmma_bf16, "bf16", 192, 96, "%96", "%97", "%98", "%99", "%100")
WGMMA_16(wgmma_bf16, "bf16", 256, 128, "%128", "%129", "%130", "%131", "%132")
#undef WGMMA_16

// ".m64nNk8" of floats cut to TF32: the first operand in registers, four per thread, the other one in shared memory,
// contiguous along k.
#define WGMMA_TF32(N, SUMS, D0, D1, D2, D3, D4, D5)                                    \
  __device__ __forceinline__ void wgmma_tf32(float(&d)[SUMS], const unsigned(&a)[4],   \
                                             unsigned long long b, bool add) {         \
    asm volatile("{ .reg .pred add; setp.ne.b32 add, " D5                              \
                 ", 0;\n"                                                              \
                 "wgmma.mma_async.sync.aligned.m64n" #N                                \
                 "k8.f32.tf32.tf32 "                                                   \
                 "{" WGMMA_NAMES_##SUMS "}, {" D0 ", " D1 ", " D2 ", " D3 "}, " D4     \
                                        ", add, 1, 1; }"                               \
                 : WGMMA_SUMS_##SUMS                                                   \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add)); \
  }
WGMMA_TF32(64, 32, "%32", "%33", "%34", "%35", "%36", "%37")
WGMMA_TF32(96, 48, "%48", "%49", "%50", "%51", "%52", "%53")
WGMMA_TF32(128, 64, "%64", "%65", "%66", "%67", "%68", "%69")
WGMMA_TF32(160, 80, "%80", "%81", "%82", "%83", "%84", "%85")
#undef WGMMA_TF32
