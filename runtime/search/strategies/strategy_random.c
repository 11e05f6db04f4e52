/* strategy_random.c -- valid points in random order, each once. */
#include <stdlib.h>

#include "rng.h"
#include "strategy.h"

static int open_(const search_space *space, uint64_t seed, void **self, err *e) {
  shuffle *s = malloc(sizeof *s);
  if (!s) {
    return err_nomem(e);
  }
  shuffle_init(s, space->n, seed);
  *self = s;
  return 0;
}

static bool ask(void *self, size_t *point) {
  return shuffle_next(self, point);
}

const search_strategy search_random = {
    .name = "random",
    .brief = "valid points in random order",
    .open = open_,
    .ask = ask,
    .close = free,
};
