/* strategy_greedy.c -- local search: the neighbours of the best point of this climb, in random
 * order; the first that is faster becomes the centre. When no neighbour is left, climb again from a
 * random point.
 *
 * A neighbour differs in one parameter, by any value. (src: Aarts and Lenstra, Local Search in
 * Combinatorial Optimization, 1997, chapter 1: iterative improvement with restarts.)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trail.h"

typedef struct greedy {
  trail t;
  size_t centre; /* answer; SIZE_MAX: a new climb begins */
  size_t start;  /* the point that it begins with, asked for but not answered; SIZE_MAX: none */
} greedy;

static void close_(void *self) {
  greedy *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  greedy *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  x->centre = x->start = SIZE_MAX;
  int rc = trail_init(&x->t, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static bool ask(void *self, size_t *point) {
  greedy *x = self;
  if (x->centre != SIZE_MAX) {
    if (trail_neighbour(&x->t, x->t.places[x->centre], point)) {
      return true;
    }
    x->centre = x->start = SIZE_MAX;
  }
  bool found = trail_fresh(&x->t, point);
  x->start = found && x->start == SIZE_MAX ? *point : x->start;
  return found;
}

/* Known points from before the first question: the best of them is where to begin. */
static void tell(void *self, size_t point, double sec) {
  greedy *x = self;
  size_t new = trail_tell(&x->t, point, sec);
  if (point == x->start) {
    x->start = SIZE_MAX; /* it failed, perhaps: then the next one starts */
  } else if (x->centre == SIZE_MAX && x->start != SIZE_MAX) {
    return; /* left over from the last climb */
  }
  if (new != SIZE_MAX && isfinite(x->t.told[new].sec) &&
      (x->centre == SIZE_MAX || sec < x->t.told[x->centre].sec)) {
    x->centre = new;
  }
}

const tune_strategy tune_greedy = {
    .name = "greedy",
    .brief = "local search from random points, first improvement",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
