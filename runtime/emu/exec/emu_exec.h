/* emu_exec.h -- the functions that execute instructions: exec_KIND for each kind. */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "emu_state.h"

typedef int (*emu_executor)(emu_warp *w, const emu_insn *in, uint32_t mask);
extern const emu_executor emu_executors[KIND_COUNT];
#define EMU_DECLARE(name) int exec_##name(emu_warp *w, const emu_insn *in, uint32_t mask);
EMU_KINDS(EMU_DECLARE)
#undef EMU_DECLARE

#endif
