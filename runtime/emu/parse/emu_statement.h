/* emu_statement.h -- one instruction's text: guard, opcode, operands. */
#ifndef EMU_STATEMENT_H
#define EMU_STATEMENT_H

#include "emu_parser.h"

/* emu_statement_guard -- the predicate behind '@' */
int emu_statement_guard(emu_parser *p);
/* emu_statement_instruction -- the operands behind the opcode; decoded by p->decode */
int emu_statement_instruction(emu_parser *p, const emu_token *opcode);

#endif
