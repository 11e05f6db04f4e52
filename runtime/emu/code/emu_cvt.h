/* emu_cvt.h -- conversions between types. */
#ifndef EMU_CVT_H
#define EMU_CVT_H

#include "emu_code.h"

bool emu_cvt_can(emu_type to, emu_type from);
emu_pipe emu_cvt_pipe(emu_type to, emu_type from);
/* emu_cvt_fast -- a function for all lanes of this conversion; NULL: use emu_cvt_lanes */
emu_lane_fn emu_cvt_fast(const emu_insn *in);
/* emu_cvt_lanes -- all 32 lanes of a KIND_cvt instruction. b is the second operand of conversions
 * that pack two floats. mode: rounding, to integer?, saturate?, relu?, width of the operand, packs?
 */
void emu_cvt_lanes(const emu_insn *in, uint8_t *d, const uint8_t *a, const uint8_t *b);

#endif
