/* emu_access_kind.h -- what an access does to memory. */
#ifndef EMU_ACCESS_KIND_H
#define EMU_ACCESS_KIND_H

typedef enum emu_access { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } emu_access;

#endif
