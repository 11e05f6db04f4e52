/* strategy_lhs.c -- Latin hypercube: every value of every parameter equally often among the first
 * points.
 *
 * The next point's target takes, for each parameter, the next value of that parameter's own
 * shuffled list, which is shuffled again when it is used up; the nearest valid point nobody asked
 * for stands in where the target is not valid. (src: McKay, Beckman and Conover, A Comparison of
 * Three Methods for Selecting Values of Input Variables, Technometrics 21, 1979.) It spreads, and
 * learns nothing.
 */
#include <stdlib.h>

#include "trail.h"

typedef struct lhs {
  trail t;
  shuffle values[GEN_MAX_PARAMS];
} lhs;

static void close_(void *self) {
  lhs *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  lhs *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  int rc = trail_init(&x->t, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static uint16_t next_value(lhs *x, size_t p) {
  size_t value = 0;
  while (!shuffle_next(&x->values[p], &value)) {
    shuffle_init(&x->values[p], x->t.space->n_values[p], chance_next(&x->t.chance));
  }
  return (uint16_t)value;
}

static bool ask(void *self, size_t *point) {
  lhs *x = self;
  uint16_t target[GEN_MAX_PARAMS] = {0};
  for (size_t i = 0; i < x->t.n_free; i++) {
    target[x->t.free[i]] = next_value(x, x->t.free[i]);
  }
  return trail_near(&x->t, target, point);
}

static void tell(void *self, size_t point, double sec) {
  lhs *x = self;
  trail_tell(&x->t, point, sec);
}

const tune_strategy tune_lhs = {
    .name = "lhs",
    .brief = "Latin hypercube: spread evenly over every parameter's values",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
