#include "hash.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static void print(XXH128_hash_t h, char out[HASH_TEXT]) {
  snprintf(out, HASH_TEXT, "%016llx%016llx", (unsigned long long)h.high64,
           (unsigned long long)h.low64);
}

void hash_bytes(const void *bytes, size_t n, char out[HASH_TEXT]) {
  print(XXH3_128bits(n ? bytes : "", n), out);
}

void hash_parts(const hash_part *parts, size_t n, char out[HASH_TEXT]) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (size_t i = 0; i < n; i++) {
    XXH3_128bits_update(&state, parts[i].n ? parts[i].bytes : "", parts[i].n);
  }
  print(XXH3_128bits_digest(&state), out);
}

uint64_t hash_more(uint64_t before, const void *bytes, size_t n) {
  return XXH3_64bits_withSeed(n ? bytes : "", n, before);
}
