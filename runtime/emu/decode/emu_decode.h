/* emu_decode.h -- loads PTX: text to a module whose instructions can be executed. */
#ifndef EMU_DECODE_H
#define EMU_DECODE_H

#include "emu_code.h"
#include "err.h"

/* emu_module_parse -- text to decoded functions; copies the text.
 *   err  ERR_COMPILE  malformed or unsupported; place is "PTX line N", the message names the
 *                     instruction;  ERR_NOMEM;  ERR_LIMIT  absurd sizes */
int emu_module_parse(const char *text, size_t nbytes, emu_module **m, err *e);

#endif
