/* emu_function.h -- functions: directives, labels, statements. */
#ifndef EMU_FUNCTION_H
#define EMU_FUNCTION_H

#include "emu_parser.h"

/* emu_function_parse -- a function after .entry or .func, with its body */
int emu_function_parse(emu_parser *p, bool entry);

#endif
