/* key_hash.h -- a fast hash of short keys in memory; hash.h has digests, which are stored. */
#ifndef BASE_KEY_HASH_H
#define BASE_KEY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Most keys are a few 64-bit words. Pairs are multiplied to 128 bits, whose halves are folded; the
 * products are rotated and added, so they do not depend on each other.  src  Wang Yi's wyhash */
static inline uint64_t key_hash_mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t key_hash(const void *key, size_t nbytes) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), other = UINT64_C(0xd6e8feb86659fd93);
  const unsigned char *p = key;
  uint64_t hash = nbytes, two[2];
#pragma GCC unroll 16
  for (; nbytes >= sizeof two; nbytes -= sizeof two, p += sizeof two) {
    memcpy(two, p, sizeof two);
    hash = (hash << 23 | hash >> 41) + key_hash_mix(two[0] ^ odd, two[1] ^ other);
  }
  two[0] = two[1] = 0;
  if (nbytes == sizeof two[0]) { /* the tail of typed keys: a size known to the compiler */
    memcpy(two, p, sizeof two[0]);
  } else if (nbytes) {
    memcpy(two, p, nbytes);
  }
  return key_hash_mix(hash ^ two[0] ^ odd, two[1] ^ other);
}

#endif
