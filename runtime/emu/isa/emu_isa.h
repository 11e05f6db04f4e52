/* emu_isa.h -- the functions that compute each arithmetic operation for each type. */
#ifndef EMU_ISA_H
#define EMU_ISA_H

#include "emu_float.h"
#include "emu_ops.h"
#include "emu_type.h"

extern const emu_lane_fn emu_lanes_base[OP_COUNT][T_COUNT];
#ifdef __x86_64__
extern const emu_lane_fn emu_lanes_avx2[OP_COUNT][T_COUNT];
#endif

/* emu_lanes -- the table for the host's processor; an entry is NULL where PTX has no such
 * instruction */
const emu_lane_fn (*emu_lanes(void))[T_COUNT];
/* emu_rounded -- add, sub, mul, fma, div, rcp and sqrt of f32 and f64 with directed rounding; NULL
 * for other operations */
emu_lane_fn emu_rounded(emu_op op, emu_type t, emu_round mode);

#endif
