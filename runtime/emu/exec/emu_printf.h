/* emu_printf.h -- printf and assert of kernels. */
#ifndef EMU_PRINTF_H
#define EMU_PRINTF_H

#include "emu_state.h"

int emu_vprintf(emu_warp *w, const emu_insn *in, int lane, uint64_t format, uint64_t arguments,
                int *printed);
int emu_assertfail(emu_warp *w, const emu_insn *in, int lane, const uint64_t arguments[5]);

#endif
