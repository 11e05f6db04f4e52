/* emu_exec.h -- the functions that execute instructions: exec_KIND for each kind; a block's barriers;
 * printf and assert of kernels. */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "emu_state.h"

#define EMU_DECLARE(name) int exec_##name(emu_warp *w, const emu_insn *in, uint32_t mask);
EMU_KINDS(EMU_DECLARE)
#undef EMU_DECLARE

/* emu_block_release -- wake the fragments at complete barriers; false: none was complete */
bool emu_block_release(emu_block *b);

int emu_vprintf(emu_warp *w, const emu_insn *in, int lane, uint64_t format, uint64_t arguments,
                int *printed);
/* emu_device_call -- a function of the device runtime; frame: the lane's, with the arguments */
int emu_device_call(emu_warp *w, const emu_insn *in, int lane, int builtin, const uint8_t *frame,
                    uint64_t *result);
int emu_assertfail(emu_warp *w, const emu_insn *in, int lane, const uint64_t arguments[5]);

#endif
