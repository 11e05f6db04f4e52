/* emu_ptxas.h -- what ptxas makes of PTX, as far as the cost model wants to know. */
#ifndef EMU_PTXAS_H
#define EMU_PTXAS_H

#include "emu_code.h"

typedef struct emu_ptxas { /* per instruction */
  uint8_t *leads;          /* does a basic block begin here that is left after predication? */
  uint8_t *folded;         /* does another instruction do it in passing? */
  uint8_t *moves;          /* can the multipliers' pipe do it in place of the ALU's? */
  int32_t *guards;         /* predicate that it hangs on and that is wanted besides, plus one */
} emu_ptxas;

/* emu_ptxas_init -- false: no memory; clear it all the same */
bool emu_ptxas_init(emu_ptxas *x, const emu_func *f);
void emu_ptxas_clear(emu_ptxas *x);
/* emu_ptxas_unrolls -- are the instructions from s to e a loop that it unrolls further? */
bool emu_ptxas_unrolls(const emu_func *f, int s, int e);
/* emu_synchronizes -- does the warp wait here, for others or for copies? */
bool emu_synchronizes(const emu_insn *in);

#endif
