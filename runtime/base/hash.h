/* hash.h -- names for contents: a template, a source, an image. XXH3 with 128 bits, from Debian's
 * libxxhash; it identifies and finds damage, it does not authenticate. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>

enum { HASH_TEXT = 33 }; /* 32 hexadecimal digits and the NUL */

/* hash_bytes -- the digest of n bytes, as text */
void hash_bytes(const void *bytes, size_t n, char out[HASH_TEXT]);

#endif
