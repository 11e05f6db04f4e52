/* strategy_anneal.c -- simulated annealing: move to a random neighbour if it is faster, and less
 * and less often if it is not.
 *
 * A neighbour slower by the factor r is accepted with probability r^(-1/T). The temperature T
 * starts at HOT (2x slower: one time in four) and is multiplied by COOL after each result. When it
 * reaches COLD, or no neighbour is left, it is reset and the walk continues from the best point
 * known. (src: Kirkpatrick, Gelatt and Vecchi, Optimization by Simulated Annealing, Science 220,
 * 1983.)
 */
#include <math.h>

#include "history.h"
#include "sampling.h"
#include "strategy.h"

static const double HOT = 0.5, COLD = 0.01, COOL = 0.98;

typedef struct anneal {
  history h;
  size_t at; /* an evaluation; SIZE_MAX: none worked yet */
  double temperature;
} anneal;

static int start(void *self, err *e) {
  (void)e;
  anneal *x = self;
  x->at = SIZE_MAX;
  x->temperature = HOT;
  return 0;
}

static bool ask(void *self, size_t *point) {
  anneal *x = self;
  if (x->at != SIZE_MAX && sample_neighbour(&x->h, x->h.coordinates[x->at], point)) {
    return true;
  }
  if (x->at != SIZE_MAX && x->at != x->h.best) {
    x->at = x->h.best;
    x->temperature = HOT;
    return ask(self, point);
  }
  return sample_random(&x->h, point);
}

static void tell(void *self, size_t point, double sec) {
  anneal *x = self;
  size_t new = history_tell(&x->h, point, sec);
  if (new == SIZE_MAX || !isfinite(x->h.evaluations[new].sec)) {
    return;
  }
  if (x->at == SIZE_MAX ||
      rng_unit(&x->h.rng) < pow(sec / x->h.evaluations[x->at].sec, -1 / x->temperature)) {
    x->at = new;
  }
  x->temperature *= COOL;
  if (x->temperature < COLD) {
    x->temperature = HOT;
    x->at = x->h.best;
  }
}

const search_strategy search_anneal = {
    .name = "anneal",
    .brief = "simulated annealing",
    .nbytes = sizeof(anneal),
    .start = start,
    .ask = ask,
    .tell = tell,
};
