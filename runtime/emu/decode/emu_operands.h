/* emu_operands.h -- the modifiers and operands of a statement, as the decoders take them. */
#ifndef EMU_OPERANDS_H
#define EMU_OPERANDS_H

#include "emu_build.h"

/* modifiers: each may be taken once; one that nobody takes makes the instruction unsupported */
bool emu_mod(emu_parser *p, const char *name);
/* emu_mod_is -- is modifier i this word? Modifier 0 is the base of the opcode. */
bool emu_mod_is(const emu_statement *s, int i, const char *name);
/* emu_mod_prefix -- a modifier that begins so: ".L2::128B" */
bool emu_mod_prefix(emu_parser *p, const char *prefix);
/* emu_mod_type -- the next modifier that is a type; T_none when there is none */
emu_type emu_mod_type(emu_parser *p);
/* emu_mod_choice -- index of the first of `names` (NULL ends) that is there; -1: none */
int emu_mod_choice(emu_parser *p, const char *const *names);
emu_round emu_mod_round(emu_parser *p);
int emu_unsupported(emu_parser *p, const char *why);

/* emu_begin -- an instruction of this kind under the statement's guard */
emu_insn *emu_begin(emu_parser *p, emu_kind kind, emu_pipe pipe);
/* emu_def, emu_use -- operand i of the statement becomes slot `slot` of the last instruction.
 * bytes is the lane width: 0 predicate, -1 any register's own width. t turns literals to bits. */
int emu_def(emu_parser *p, int slot, int i, int bytes);
int emu_use(emu_parser *p, int slot, int i, int bytes, emu_type t);
/* the same for an operand that is not at the top level */
int emu_def_operand(emu_parser *p, int slot, const emu_operand *o, int bytes);
int emu_use_operand(emu_parser *p, int slot, const emu_operand *o, int bytes, emu_type t);
/* emu_address -- slot gets the base, the instruction's imm the offset */
int emu_address(emu_parser *p, int slot, int i, emu_insn *in);
/* emu_reg_bytes -- lane width of a register operand; -1 for anything else */
int emu_reg_bytes(const emu_parser *p, const emu_operand *o);
/* emu_arity -- how many operands there must be */
int emu_arity(emu_parser *p, int least, int most);
/* emu_temp -- a new register of this width */
int emu_temp(emu_parser *p, int bytes, int32_t *reg);
static inline const emu_operand *emu_list(const emu_parser *p, const emu_operand *o, int i) {
  return &p->statement.list[o->first + i];
}

#endif
