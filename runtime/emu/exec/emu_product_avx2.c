/* emu_product_avx2.c -- the loops of matrix products for x86 processors with AVX2 and FMA. */
#ifdef __x86_64__
#pragma GCC optimize("O3,no-math-errno,no-trapping-math,fp-contract=fast")
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#define EMU_PRODUCT emu_product_avx2
#include "emu_product_loops.h"
#endif
