/* emu_statement.h -- the text of one instruction: guard, opcode, operands. */
#ifndef EMU_STATEMENT_H
#define EMU_STATEMENT_H

#include "emu_parser.h"

/* emu_statement_guard -- the predicate after '@' */
int emu_statement_guard(emu_parser *p);
/* emu_statement_instruction -- parse the operands after the opcode and decode the statement */
int emu_statement_instruction(emu_parser *p, const emu_token *opcode);

#endif
