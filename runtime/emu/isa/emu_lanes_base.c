/* emu_lanes_base.c -- the lane loops for any processor. */
#pragma GCC optimize("O3,no-math-errno,no-trapping-math")
#define EMU_LANES emu_lanes_base
#include "emu_isa.h"
#include "emu_lanes.h"
