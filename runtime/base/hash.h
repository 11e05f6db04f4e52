/* hash.h -- digests of contents: a template, a source, an image. XXH3 with 128 bits, from Debian's
 * libxxhash; they identify contents and reveal damage, but do not authenticate. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_TEXT = 33 }; /* 32 hexadecimal digits and the NUL */

/* hash_bytes -- the digest of n bytes, as text */
void hash_bytes(const void *bytes, size_t n, char out[HASH_TEXT]);
typedef struct hash_part {
  const void *bytes;
  size_t n;
} hash_part;
/* hash_parts -- the digest of n parts in sequence */
void hash_parts(const hash_part *parts, size_t n, char out[HASH_TEXT]);
/* hash_more -- continue a 64-bit digest: `before` is that of the preceding bytes, 0 at the start */
uint64_t hash_more(uint64_t before, const void *bytes, size_t n);
/* hash_mix -- the hash of one word.  src  SplitMix64's finalizer: Steele, Lea, Flood, Fast
 * splittable pseudorandom number generators, 2014 */
static inline uint64_t hash_mix(uint64_t h) {
  h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
  return h ^ h >> 31;
}

#endif
