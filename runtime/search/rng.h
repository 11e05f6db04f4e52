/* rng.h -- reproducible random numbers, and random permutations that need no memory. */
#ifndef SEARCH_RNG_H
#define SEARCH_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* src: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (SplitMix64), OOPSLA
 * 2014 */
typedef struct rng {
  uint64_t state;
} rng;

uint64_t rng_next(rng *r);
size_t rng_below(rng *r, size_t n); /* n > 0 */
double rng_unit(rng *r);            /* [0, 1) */

/* rng_mix -- a hash: every bit of the input reaches every bit of the output */
uint64_t rng_mix(uint64_t x);

/* A random order of 0..n-1: a keyed Feistel network over the next even power of two, applied again
 * until the result is below n. src: Black and Rogaway, Ciphers with Arbitrary Finite Domains,
 * CT-RSA 2002. */
typedef struct shuffle {
  uint64_t n, next, seed;
  int half_bits;
} shuffle;

void shuffle_init(shuffle *s, uint64_t n, uint64_t seed);
bool shuffle_next(shuffle *s, size_t *i); /* false at the end */

#endif
