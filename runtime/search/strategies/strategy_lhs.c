/* strategy_lhs.c -- Latin hypercube sampling: all values of each parameter equally often.
 *
 * Each parameter's values are shuffled, and shuffled again when they are used up; the next point
 * takes the next value of each, or is the nearest valid one that was not asked for. Results are
 * ignored. (src: McKay, Beckman and Conover, A Comparison of Three Methods for Selecting Values of
 * Input Variables, Technometrics 21, 1979.)
 */
#include "history.h"
#include "sampling.h"
#include "strategy.h"

typedef struct lhs {
  history h;
  shuffle values[GEN_MAX_PARAMS];
} lhs;

static uint16_t next_value(lhs *x, size_t p) {
  size_t value = 0;
  while (!shuffle_next(&x->values[p], &value)) {
    shuffle_init(&x->values[p], x->h.space->n_values[p], rng_next(&x->h.rng));
  }
  return (uint16_t)value;
}

static bool ask(void *self, size_t *point) {
  lhs *x = self;
  uint16_t target[GEN_MAX_PARAMS] = {0};
  for (size_t i = 0; i < x->h.n_free; i++) {
    target[x->h.free[i]] = next_value(x, x->h.free[i]);
  }
  return sample_nearest(&x->h, target, point);
}

static void tell(void *self, size_t point, double sec) {
  lhs *x = self;
  history_tell(&x->h, point, sec);
}

const search_strategy search_lhs = {
    .name = "lhs",
    .brief = "Latin hypercube: spread evenly over every parameter's values",
    .nbytes = sizeof(lhs),
    .ask = ask,
    .tell = tell,
};
