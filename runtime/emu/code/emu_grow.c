/* emu_grow.c -- see emu_grow.h. */
#include "emu_grow.h"

#include <stdlib.h>

bool emu_grow(void *array, int n, int *capacity, size_t nbytes) {
  void **p = array;
  if (n < *capacity) {
    return true;
  }
  int bigger = *capacity ? 2 * *capacity : 32;
  void *q = realloc(*p, (size_t)bigger * nbytes);
  if (!q) {
    return false;
  }
  *p = q;
  *capacity = bigger;
  return true;
}
