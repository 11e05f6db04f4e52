/* strategy_bandit.c -- a multi-armed bandit over the other strategies: those that find better
 * points are asked more often.
 *
 * Every arm is told every result. An arm's credit is the area under the curve of its successes
 * among the last WINDOW points asked for, recent ones counting more, plus a bonus for arms that
 * were seldom asked. (src: Fialho, Da Costa, Schoenauer and Sebag, Analyzing bandit-based adaptive
 * operator selection mechanisms, 2010; Ansel et al., OpenTuner, PACT 2014.)
 */
#include <math.h>

#include "history.h"
#include "sampling.h"
#include "strategy.h"

enum { WINDOW = 50, ASKED = 256 };
static const double BONUS = 0.05;

static const search_strategy *const arms[] = {&search_forest, &search_evolve,  &search_genetic,
                                              &search_greedy, &search_anneal,  &search_tabu,
                                              &search_swarm,  &search_diffevo, &search_bayes};
enum { ARMS = sizeof arms / sizeof *arms };

typedef struct turn { /* one point asked for */
  size_t arm, point;
  bool success; /* it became the best so far */
} turn;

typedef struct bandit {
  history h;
  void *self[ARMS];
  turn turns[ASKED]; /* a ring; the last WINDOW of them count */
  size_t n_turns;
} bandit;

static void stop(void *self) {
  bandit *x = self;
  for (size_t i = 0; i < ARMS; i++) {
    if (x->self[i]) {
      search_strategy_close(arms[i], x->self[i]);
    }
  }
}

static int start(void *self, err *e) {
  bandit *x = self;
  for (size_t i = 0; i < ARMS; i++) {
    TRY(search_strategy_open(arms[i], x->h.space, rng_next(&x->h.rng), &x->self[i], e));
  }
  return 0;
}

/* Of an arm's n points, oldest first, a success at the k-th weighs k. */
static double credit(const bandit *x, size_t arm) {
  size_t n_window = x->n_turns < WINDOW ? x->n_turns : WINDOW, n = 0, area = 0;
  for (size_t i = x->n_turns - n_window; i < x->n_turns; i++) {
    const turn *t = &x->turns[i % ASKED];
    n += t->arm == arm;
    area += t->arm == arm && t->success ? n : 0;
  }
  if (!n) {
    return INFINITY;
  }
  return 2.0 * (double)area / (double)(n * (n + 1)) +
         BONUS * sqrt(2 * log((double)n_window) / (double)n);
}

/* Arms without a point in the window have infinite credit; the scan starts at another arm each
 * time. */
static size_t choose(const bandit *x) {
  size_t best = x->n_turns % ARMS;
  double most = credit(x, best);
  for (size_t k = 1; k < ARMS; k++) {
    size_t i = (x->n_turns + k) % ARMS;
    double c = credit(x, i);
    if (c > most) {
      best = i;
      most = c;
    }
  }
  return best;
}

/* An arm does not know the points of other arms that have no result yet: skip these. */
static bool ask_arm(bandit *x, size_t arm, size_t *point) {
  while (arms[arm]->ask(x->self[arm], point)) {
    if (!history_is_asked(&x->h, *point)) {
      history_mark_asked(&x->h, *point);
      return true;
    }
  }
  return false;
}

static bool ask(void *self, size_t *point) {
  bandit *x = self;
  size_t arm = choose(x);
  if (!ask_arm(x, arm, point) && !sample_random(&x->h, point)) {
    return false;
  }
  x->turns[x->n_turns++ % ASKED] = (turn){.arm = arm, .point = *point};
  return true;
}

static void tell(void *self, size_t point, double sec) {
  bandit *x = self;
  size_t new = history_tell(&x->h, point, sec);
  for (size_t i = 0; i < ASKED && i < x->n_turns && new == x->h.best; i++) {
    if (x->turns[i].point == point) {
      x->turns[i].success = true;
    }
  }
  for (size_t i = 0; i < ARMS; i++) {
    arms[i]->tell(x->self[i], point, sec);
  }
}

const search_strategy search_bandit = {
    .name = "bandit",
    .brief = "the others in turn, the more successful more often",
    .nbytes = sizeof(bandit),
    .start = start,
    .ask = ask,
    .tell = tell,
    .stop = stop,
};
