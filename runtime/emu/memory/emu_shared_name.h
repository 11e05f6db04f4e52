/* emu_shared_name.h -- names of variables in shared memory, for findings. */
#ifndef EMU_SHARED_NAME_H
#define EMU_SHARED_NAME_H

#include "emu_state.h"

enum { EMU_SHARED_NAME = 120 };
/* emu_shared_name -- the variable at an address: "s[37]", counting its elements where the PTX has
 * their type, else elements of `width` bytes, those of the access */
void emu_shared_name(const emu_warp *w, uint64_t address, int width, char out[EMU_SHARED_NAME]);
/* emu_shared_width -- bytes of an element of an access of n bytes */
int emu_shared_width(const emu_insn *in, int n);

#endif
