/* emu_operands.h -- what decoders use: modifiers and operands of the statement, new instructions.
 */
#ifndef EMU_OPERANDS_H
#define EMU_OPERANDS_H

#include "emu_build.h"

/* Modifiers: each is taken once; an instruction with a modifier that no call takes is unsupported.
 */
bool emu_mod(emu_parser *p, const char *name);
/* emu_mod_is -- is modifier i this word? Modifier 0 is the base of the opcode. */
bool emu_mod_is(const emu_statement *s, int i, const char *name);
/* emu_mod_prefix -- take a modifier that begins with `prefix` */
bool emu_mod_prefix(emu_parser *p, const char *prefix);
/* emu_mod_type -- take the next modifier that is a type; T_none: none */
emu_type emu_mod_type(emu_parser *p);
/* emu_mod_choice -- take the first of `names` (NULL-terminated) that is present: its index, or -1
 */
int emu_mod_choice(emu_parser *p, const char *const *names);
emu_round emu_mod_round(emu_parser *p);
int emu_unsupported(emu_parser *p, const char *why);

/* emu_begin -- append an instruction of this kind, with the statement's guard; out may be NULL.
 * emu_begin_more -- the same with room for n_ops more operands */
int emu_begin(emu_parser *p, emu_kind kind, emu_pipe pipe, emu_insn **out);
int emu_begin_more(emu_parser *p, emu_kind kind, emu_pipe pipe, int n_ops, emu_insn **in);
/* emu_def, emu_use -- operand i of the statement becomes slot `slot` of the last instruction. bytes
 * is the lane width; 0: a predicate; -1: the register's own. Literals are converted to type t. */
int emu_def(emu_parser *p, int slot, int i, int bytes);
int emu_use(emu_parser *p, int slot, int i, int bytes, emu_type t);
/* the same for any operand, such as an element of a list */
int emu_def_operand(emu_parser *p, int slot, const emu_operand *o, int bytes);
int emu_use_operand(emu_parser *p, int slot, const emu_operand *o, int bytes, emu_type t);
/* emu_address -- slot gets the base register, in->imm the offset */
int emu_address(emu_parser *p, int slot, int i, emu_insn *in);
/* emu_reg_bytes -- lane width of a register; -1: the operand is no register */
int emu_reg_bytes(const emu_parser *p, const emu_operand *o);
/* emu_arity -- fails unless the statement has this many operands */
int emu_arity(emu_parser *p, int least, int most);
/* emu_def_temp -- slot gets a new register of this width */
int emu_def_temp(emu_parser *p, int slot, int bytes, int32_t *reg);
/* emu_operand_count, emu_operand_at -- elements of a list; any other operand is its own element */
static inline int emu_operand_count(const emu_operand *o) {
  return o->kind == OPERAND_LIST ? o->count : 1;
}
static inline const emu_operand *emu_operand_at(const emu_parser *p, const emu_operand *o, int i) {
  return o->kind == OPERAND_LIST ? &p->statement.list[o->first + i] : o;
}
static inline const emu_operand *emu_list(const emu_parser *p, const emu_operand *o, int i) {
  return &p->statement.list[o->first + i];
}

#endif
