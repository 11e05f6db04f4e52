/* emu_lanes_avx2.c -- the lane loops for x86 processors with AVX2, FMA and BMI2. */
#ifdef __x86_64__
#pragma GCC optimize("O3,no-math-errno,no-trapping-math")
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#define EMU_LANES emu_lanes_avx2
#include "emu_isa.h"
#include "emu_lanes.h"
#endif
