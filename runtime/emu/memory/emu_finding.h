/* emu_finding.h -- findings: reports of failed checks. */
#ifndef EMU_FINDING_H
#define EMU_FINDING_H

#include "emu_state.h"

/* emu_finding -- report what thread `lane` of the warp does and end the launch; returns RUN_FAULT */
int emu_finding(emu_warp *w, const emu_insn *in, int lane, rt_emu_check check, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* emu_note -- keep a remark of something that is allowed but suspicious; the launch continues */
void emu_note(emu_warp *w, const emu_insn *in, int lane, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* emu_place_text -- "file.cu:12" of an instruction, else its line of the PTX */
void emu_place_text(const emu_warp *w, const emu_insn *in, char *place, size_t n);

enum { EMU_THREAD_TEXT = 48 };
/* emu_thread_text -- "thread (31,0,0)" for a thread of the warp's block */
const char *emu_thread_text(const emu_warp *w, int thread, char out[EMU_THREAD_TEXT]);

#endif
