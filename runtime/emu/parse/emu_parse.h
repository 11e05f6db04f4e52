/* emu_parse.h -- PTX text to a module. */
#ifndef EMU_PARSE_H
#define EMU_PARSE_H

#include "emu_parser.h"

/* emu_parse -- copies the text. `decode` turns each statement into instructions.
 *   err  ERR_COMPILE  malformed or unsupported; place is "PTX line N", the message names the
 *                     instruction;  ERR_NOMEM;  ERR_LIMIT  absurd sizes */
int emu_parse(const char *text, size_t nbytes, int (*decode)(emu_parser *), emu_module **m, err *e);

#endif
