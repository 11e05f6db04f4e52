/* emu_build.h -- builds a function: instructions, registers, constants. */
#ifndef EMU_BUILD_H
#define EMU_BUILD_H

#include "emu_parser.h"

int emu_build_start(emu_parser *p, emu_func *f);
/* emu_build_reg -- declare n registers; *first is the number of the first */
int emu_build_reg(emu_parser *p, int bytes, int n, int32_t *first);
/* emu_build_insn -- append an instruction; the pointer is valid until the next one is appended */
int emu_build_insn(emu_parser *p, emu_kind kind, emu_insn **in);
/* emu_build_more -- room for n_ops more operands of the instruction */
int emu_build_more(emu_parser *p, emu_insn *in, int n_ops);
/* emu_build_ref -- slot `slot` of the last instruction names a register */
int emu_build_ref(emu_parser *p, int slot, int32_t reg, bool def);
/* emu_build_constant -- the operand of a number, or of a symbol's address when symbol >= 0 */
int emu_build_constant(emu_parser *p, int bytes, uint64_t value, int symbol, int32_t *operand);
/* emu_build_end -- lay out registers and move the code into the module's memory */
int emu_build_end(emu_parser *p);
/* emu_build_discard -- drop the function's code */
void emu_build_discard(emu_parser *p);
/* emu_build_call -- the function calls function `index`, or takes its address */
int emu_build_call(emu_parser *p, int index);

#endif
