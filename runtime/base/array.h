/* array.h -- arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* array_resize -- room for n elements of nbytes each; false: out of memory, nothing has changed
 *   in   array  address of the pointer to the elements, which is NULL at first */
bool array_resize(void *array, size_t n, size_t nbytes);
/* array_reserve -- room for at least n elements. It grows by doubling; *most is how many have room. */
bool array_reserve(void *array, size_t n, size_t *most, size_t nbytes);

#endif
