/* emu_build.h -- the function under construction: instructions, registers, constants, labels. */
#ifndef EMU_BUILD_H
#define EMU_BUILD_H

#include "emu_parser.h"

int emu_build_start(emu_parser *p, emu_func *f);
/* emu_build_reg -- n more registers; *first is the number of the first */
int emu_build_reg(emu_parser *p, int bytes, int n, int32_t *first);
/* emu_build_insn -- append; returned pointer is good until the next append */
emu_insn *emu_build_insn(emu_parser *p, emu_kind kind);
emu_more *emu_build_more(emu_parser *p, emu_insn *in, int n_ops);
/* emu_build_use -- let slot `slot` of the last instruction name a register */
int emu_build_ref(emu_parser *p, int slot, int32_t reg, bool def);
/* emu_build_constant -- the operand for a number, or for a symbol's address when symbol >= 0 */
int emu_build_constant(emu_parser *p, int bytes, uint64_t value, int symbol, int32_t *operand);
/* emu_build_end -- lay out registers, resolve labels */
int emu_build_end(emu_parser *p);
/* emu_build_call -- note that the function under construction needs function `index` */
int emu_build_call(emu_parser *p, int index);

#endif
