/* packed.h -- bytes that are compressed, by zlib. */
#ifndef BASE_PACKED_H
#define BASE_PACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "str.h"

/* packed_add -- append the bytes, compressed; *out has failed where memory ran out */
void packed_add(const void *bytes, size_t n, str *out);
/* packed_read -- the n bytes that were packed. False: the packed bytes are damaged, or are not n */
bool packed_read(const void *packed, size_t n_packed, void *out, size_t n);

#endif
