#include "rng.h"

static const uint64_t GOLDEN = 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio */

uint64_t rng_mix(uint64_t x) {
  x += GOLDEN;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t rng_next(rng *r) {
  uint64_t x = rng_mix(r->state);
  r->state += GOLDEN;
  return x;
}

size_t rng_below(rng *r, size_t n) {
  return rng_next(r) % n;
}

double rng_unit(rng *r) {
  return (double)(rng_next(r) >> 11) * 0x1p-53;
}

void shuffle_init(shuffle *s, uint64_t n, uint64_t seed) {
  *s = (shuffle){.n = n, .seed = seed, .half_bits = 1};
  while ((1ull << 2 * s->half_bits) < n) {
    s->half_bits++;
  }
}

static uint64_t permute(const shuffle *s, uint64_t x) {
  enum { ROUNDS = 6 };
  uint64_t mask = (1ull << s->half_bits) - 1;
  uint64_t left = x >> s->half_bits, right = x & mask;
  for (uint64_t round = 0; round < ROUNDS; round++) {
    uint64_t f = rng_mix(rng_mix(s->seed + round) ^ right) & mask;
    uint64_t swap = left ^ f;
    left = right;
    right = swap;
  }
  return left << s->half_bits | right;
}

bool shuffle_next(shuffle *s, size_t *i) {
  if (s->next == s->n) {
    return false;
  }
  uint64_t x = s->next++;
  do {
    x = permute(s, x);
  } while (x >= s->n);
  *i = x;
  return true;
}
