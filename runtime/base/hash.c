#include "hash.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void hash_bytes(const void *bytes, size_t n, char out[HASH_TEXT]) {
  XXH128_hash_t h = XXH3_128bits(n ? bytes : "", n);
  snprintf(out, HASH_TEXT, "%016llx%016llx", (unsigned long long)h.high64,
           (unsigned long long)h.low64);
}

uint64_t hash_more(uint64_t before, const void *bytes, size_t n) {
  return XXH3_64bits_withSeed(n ? bytes : "", n, before);
}
