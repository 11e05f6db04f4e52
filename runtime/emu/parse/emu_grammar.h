/* emu_grammar.h -- the parts of the parser: declarations of variables, registers and parameters;
 * instructions; functions. */
#ifndef EMU_GRAMMAR_H
#define EMU_GRAMMAR_H

#include "emu_parser.h"

typedef struct emu_declaration {
  emu_space space;
  emu_type type;
  uint64_t align;
  int vector;
  bool external, managed;
} emu_declaration;

/* emu_space_of -- the state space that a directive names; false: none */
bool emu_space_of(const emu_token *t, emu_space *space);
/* emu_declare_variables -- the rest of a declaration after its state space */
int emu_declare_variables(emu_parser *p, emu_declaration *d);
int emu_declare_regs(emu_parser *p);
/* emu_declare_params -- a parameter list up to its ')'; *at is the offset of the next parameter */
int emu_declare_params(emu_parser *p, emu_func *f, emu_param **params, int *n, uint64_t *at);

/* emu_loc_parse -- the rest of a .loc directive */
int emu_loc_parse(emu_parser *p);

/* emu_statement_guard -- the predicate after '@' */
int emu_statement_guard(emu_parser *p);
/* emu_statement_instruction -- parse the operands after the opcode and decode the statement */
int emu_statement_instruction(emu_parser *p, const emu_token *opcode);

/* emu_function_parse -- a function after .entry or .func, with its body */
int emu_function_parse(emu_parser *p, bool entry);

#endif
