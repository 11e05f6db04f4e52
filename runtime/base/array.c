#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool array_resize(void *array, size_t n, size_t nbytes) {
  void *p;
  memcpy(&p, array, sizeof p);
  p = n <= SIZE_MAX / nbytes ? realloc(p, n ? n * nbytes : 1) : NULL;
  if (p) {
    memcpy(array, &p, sizeof p);
  }
  return p;
}

bool array_reserve(void *array, size_t n, size_t *most, size_t nbytes) {
  const size_t doubled = *most ? 2 * *most : 32;
  const size_t more = doubled > n ? doubled : n;
  if (n <= *most) {
    return true;
  }
  if (!array_resize(array, more, nbytes)) {
    return false;
  }
  *most = more;
  return true;
}
