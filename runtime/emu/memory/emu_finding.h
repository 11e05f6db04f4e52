/* emu_finding.h -- report a failed check; the launch ends. Returns RUN_FAULT. */
#ifndef EMU_FINDING_H
#define EMU_FINDING_H

#include "emu_state.h"

int emu_finding(emu_warp *w, const emu_insn *in, int lane, rt_emu_check check, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

#endif
