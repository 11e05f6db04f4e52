/* strategy_greedy.c -- hill climbing: try the neighbours of the current point in random order and
 * move to the first that is faster. When no neighbour is left, restart from a random point.
 *
 * Neighbours differ in one parameter, by any value. (src: Aarts and Lenstra, Local Search in
 * Combinatorial Optimization, 1997, chapter 1: iterative improvement with restarts.)
 */
#include <math.h>

#include "history.h"
#include "sampling.h"
#include "strategy.h"

typedef struct greedy {
  history h;
  size_t centre; /* an evaluation; SIZE_MAX: a new climb begins */
  size_t start;  /* the first point of the climb, without a result yet; SIZE_MAX: none */
} greedy;

static int start(void *self, err *e) {
  (void)e;
  greedy *x = self;
  x->centre = x->start = SIZE_MAX;
  return 0;
}

static bool ask(void *self, size_t *point) {
  greedy *x = self;
  if (x->centre != SIZE_MAX) {
    if (sample_neighbour(&x->h, x->h.coordinates[x->centre], point)) {
      return true;
    }
    x->centre = x->start = SIZE_MAX;
  }
  bool found = sample_random(&x->h, point);
  x->start = found && x->start == SIZE_MAX ? *point : x->start;
  return found;
}

/* Of results that are told before the first ask, the best is where the climb starts. */
static void tell(void *self, size_t point, double sec) {
  greedy *x = self;
  size_t new = history_tell(&x->h, point, sec);
  if (point == x->start) {
    x->start = SIZE_MAX; /* if it failed, the next random point starts the climb */
  } else if (x->centre == SIZE_MAX && x->start != SIZE_MAX) {
    return; /* a late result of the last climb */
  }
  if (new != SIZE_MAX && isfinite(x->h.evaluations[new].sec) &&
      (x->centre == SIZE_MAX || sec < x->h.evaluations[x->centre].sec)) {
    x->centre = new;
  }
}

const search_strategy search_greedy = {
    .name = "greedy",
    .brief = "local search from random points, first improvement",
    .nbytes = sizeof(greedy),
    .start = start,
    .ask = ask,
    .tell = tell,
};
