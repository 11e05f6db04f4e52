/* emu_declare.h -- declarations: variables, registers, parameters. */
#ifndef EMU_DECLARE_H
#define EMU_DECLARE_H

#include "emu_parser.h"

typedef struct emu_declaration {
  emu_space space;
  emu_type type;
  uint64_t align;
  int vector;
  bool external;
} emu_declaration;

/* emu_space_of -- the state space that a directive names; false: none */
bool emu_space_of(const emu_token *t, emu_space *space);
/* emu_declare_variables -- the rest of a declaration after its state space */
int emu_declare_variables(emu_parser *p, emu_declaration *d);
int emu_declare_regs(emu_parser *p);
/* emu_declare_params -- a parameter list up to its ')'; *at is the offset of the next parameter */
int emu_declare_params(emu_parser *p, emu_func *f, emu_param **params, int *n, uint64_t *at);

#endif
