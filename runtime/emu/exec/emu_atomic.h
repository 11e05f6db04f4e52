/* emu_atomic.h -- atomic updates of one element of memory, by compare-and-swap on the host. */
#ifndef EMU_ATOMIC_H
#define EMU_ATOMIC_H

#include "emu_type.h"

/* emu_atomic_update -- op: ATOM_...; elements have 2, 4 or 8 bytes; returns the old value */
uint64_t emu_atomic_update(emu_type t, int op, uint8_t *p, uint64_t b, uint64_t c);

#endif
