/* emu_grow.h -- arrays that grow. */
#ifndef EMU_GROW_H
#define EMU_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* emu_grow -- make room for element n; false: out of memory
 *   in   array   address of the pointer to the elements, of nbytes each */
bool emu_grow(void *array, int n, int *capacity, size_t nbytes);

#endif
