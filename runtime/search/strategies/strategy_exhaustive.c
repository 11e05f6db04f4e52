/* strategy_exhaustive.c -- every valid point, in declaration order. */
#include <stdlib.h>

#include "strategy.h"

typedef struct exhaustive {
  size_t next, n;
} exhaustive;

static int open_(const search_space *space, uint64_t seed, void **self, err *e) {
  (void)seed;
  exhaustive *x = malloc(sizeof *x);
  if (!x) {
    return err_nomem(e);
  }
  *x = (exhaustive){.n = space->n};
  *self = x;
  return 0;
}

static bool ask(void *self, size_t *point) {
  exhaustive *x = self;
  *point = x->next;
  return x->next < x->n && x->next++ < x->n;
}

const search_strategy search_exhaustive = {
    .name = "exhaustive",
    .brief = "every valid point, in declaration order",
    .open = open_,
    .ask = ask,
    .close = free,
};
