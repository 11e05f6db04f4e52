/* emu_function.h -- functions: their directives, labels and statements. */
#ifndef EMU_FUNCTION_H
#define EMU_FUNCTION_H

#include "emu_parser.h"

/* emu_function_parse -- what follows .entry or .func, the body included */
int emu_function_parse(emu_parser *p, bool entry);

#endif
