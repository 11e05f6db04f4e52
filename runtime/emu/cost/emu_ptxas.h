/* emu_ptxas.h -- how ptxas changes PTX, as far as the cost model needs it. */
#ifndef EMU_PTXAS_H
#define EMU_PTXAS_H

#include "emu_code.h"

typedef struct emu_ptxas { /* per instruction */
  uint8_t *leads;          /* does a basic block begin here after predication? */
  uint8_t *folded;         /* is it part of another instruction? */
  uint8_t *moves;          /* can the multipliers execute it instead of the ALU? */
  int32_t *guards;         /* its predicate, plus one, if that is used again */
} emu_ptxas;

/* emu_ptxas_init -- false: out of memory; clear it in any case */
bool emu_ptxas_init(emu_ptxas *x, const emu_func *f);
void emu_ptxas_clear(emu_ptxas *x);
/* emu_ptxas_unrolls -- are instructions s to e a loop that ptxas unrolls further? */
bool emu_ptxas_unrolls(const emu_func *f, int s, int e);
/* emu_synchronizes -- does the warp wait here for other warps or for copies? */
bool emu_synchronizes(const emu_insn *in);

#endif
