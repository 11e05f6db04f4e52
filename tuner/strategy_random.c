/* strategy_random.c -- valid points in random order, each once.
 *
 * The order is a keyed permutation of 0..n-1: a Feistel network over the next even power of two,
 * walked until it lands inside (src: Black and Rogaway, Ciphers with Arbitrary Finite Domains,
 * CT-RSA 2002). No memory, whatever the space's size, and the same seed gives the same order.
 */
#include <stdlib.h>

#include "trail.h"

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  shuffle *s = malloc(sizeof *s);
  if (!s) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  shuffle_init(s, space->n, seed);
  *self = s;
  return 0;
}

static bool ask(void *self, size_t *point) {
  return shuffle_next(self, point);
}

const tune_strategy tune_random = {
    .name = "random",
    .brief = "valid points in random order",
    .open = open_,
    .ask = ask,
    .close = free,
};
