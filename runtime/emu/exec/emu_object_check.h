/* emu_object_check.h -- the object that an instruction reads or writes, and checks of its texels. */
#ifndef EMU_OBJECT_CHECK_H
#define EMU_OBJECT_CHECK_H

#include "emu_state.h"

/* emu_object_of -- the object of the first lane of *mask, which then keeps the lanes that name the
 * same one
 *   out  *o   NULL: there is none of that kind, which is reported; returns RUN_FAULT */
int emu_object_of(emu_warp *w, const emu_insn *in, uint32_t *mask, emu_object_kind kind,
                  const emu_object **o);
/* emu_object_fits -- has the object the dimensions that the instruction names? */
int emu_object_fits(emu_warp *w, const emu_insn *in, uint32_t mask, const emu_object *o);
/* emu_object_steady -- has this launch written none of the n bytes at each address? */
int emu_object_steady(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                      int n);
/* emu_object_count -- an access to n bytes at each address, for the cost model */
void emu_object_count(emu_warp *w, uint32_t mask, const emu_texels *t, const uint64_t address[32],
                      int n, emu_access access);

#endif
