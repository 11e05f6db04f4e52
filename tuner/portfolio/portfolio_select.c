/* portfolio_select.c -- which few configurations serve all sizes: a greedy set cover, in which a
 * configuration covers a size if it is at most `loss` slower than the best, then made smaller and
 * better by exchanges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "portfolio_table.h"

static const double LOST_MOST = 3; /* a logarithm: what a size that is not served counts as lost */

typedef struct set { /* being chosen */
  const portfolio_table *t;
  double bound;     /* logarithm */
  double *lost;     /* [config * n_sizes + size], at most LOST_MOST */
  bool *in;         /* per configuration */
  unsigned *covers; /* per size: the number of chosen configurations that cover it */
  size_t *chosen;
  size_t n;
} set;

static double lost(const set *s, size_t config, size_t size) {
  return s->lost[config * s->t->n_sizes + size];
}

static bool covered_by(const set *s, size_t config, size_t size) {
  return lost(s, config, size) <= s->bound;
}

static double total_lost(const set *s, size_t config) {
  double sum = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    sum += lost(s, config, j);
  }
  return sum;
}

static void put(set *s, size_t config, int by) {
  s->in[config] = by > 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    if (covered_by(s, config, j)) {
      s->covers[j] += (unsigned)by;
    }
  }
}

static void add(set *s, size_t config) {
  put(s, config, 1);
  s->chosen[s->n++] = config;
}

static void drop(set *s, size_t place) {
  put(s, s->chosen[place], -1);
  memmove(&s->chosen[place], &s->chosen[place + 1], (--s->n - place) * sizeof *s->chosen);
}

static size_t newly_covered(const set *s, size_t config) {
  size_t n = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    n += !s->covers[j] && covered_by(s, config, j);
  }
  return n;
}

/* Add the configuration that covers most of the sizes that are not covered yet; of equal ones, the
 * one that loses least over all sizes. */
static bool greedy_step(set *s) {
  size_t best = 0, most = 0;
  for (size_t i = 0; i < s->t->n_configs; i++) {
    const size_t n = s->in[i] ? 0 : newly_covered(s, i);
    if (n > most || (n && n == most && total_lost(s, i) < total_lost(s, best))) {
      most = n;
      best = i;
    }
  }
  if (most) {
    add(s, best);
  }
  return most > 0;
}

static size_t n_covered(const set *s) {
  size_t n = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    n += s->covers[j] > 0;
  }
  return n;
}

/* Drop a configuration whose sizes others cover as well. */
static bool drop_needless(set *s) {
  const size_t covered = n_covered(s);
  for (size_t i = s->n; i-- > 0;) {
    const size_t config = s->chosen[i];
    put(s, config, -1);
    const bool needless = s->n > 1 && n_covered(s) == covered;
    put(s, config, 1);
    if (needless) {
      drop(s, i);
      return true;
    }
  }
  return false;
}

/* missing: sizes that are not covered any more */
static bool replaces(set *s, size_t missing, size_t config) {
  return !s->in[config] && newly_covered(s, config) >= missing;
}

/* Replace two configurations by one. */
static bool merge_two(set *s) {
  const size_t covered = n_covered(s);
  for (size_t i = 0; i < s->n; i++) {
    for (size_t k = i + 1; k < s->n; k++) {
      const size_t a = s->chosen[i], b = s->chosen[k];
      put(s, a, -1);
      put(s, b, -1);
      const size_t missing = covered - n_covered(s);
      size_t other = 0;
      while (other < s->t->n_configs &&
             (other == a || other == b || !replaces(s, missing, other))) {
        other++;
      }
      put(s, a, 1);
      put(s, b, 1);
      if (other < s->t->n_configs) {
        drop(s, k);
        drop(s, i);
        add(s, other);
        return true;
      }
    }
  }
  return false;
}

static double set_lost(const set *s) {
  double sum = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    double least = LOST_MOST;
    for (size_t i = 0; i < s->n; i++) {
      least = fmin(least, lost(s, s->chosen[i], j));
    }
    sum += least;
  }
  return sum;
}

/* Replace a configuration by one that covers as much and loses less. */
static bool exchange(set *s) {
  const size_t covered = n_covered(s);
  const double before = set_lost(s);
  for (size_t i = 0; i < s->n; i++) {
    const size_t old = s->chosen[i];
    put(s, old, -1);
    const size_t missing = covered - n_covered(s);
    for (size_t other = 0; other < s->t->n_configs; other++) {
      if (other == old || !replaces(s, missing, other)) {
        continue;
      }
      s->chosen[i] = other;
      if (set_lost(s) < before - 1e-9) {
        put(s, other, 1);
        return true;
      }
    }
    s->chosen[i] = old;
    put(s, old, 1);
  }
  return false;
}

/* This ends: an exchange lowers the loss at the same number, the others lower the number. */
static void choose(set *s) {
  while (s->n < PORTFOLIO_CONFIGS && greedy_step(s)) {
  }
  while (drop_needless(s) || merge_two(s) || exchange(s)) {
  }
}

static void fill_lost(set *s) {
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    const double least = portfolio_least(s->t, j);
    for (size_t i = 0; i < s->t->n_configs; i++) {
      const double sec = portfolio_sec(s->t, i, j);
      s->lost[i * s->t->n_sizes + j] =
          isfinite(sec) ? fmin(log(sec / least), LOST_MOST) : LOST_MOST;
    }
  }
}

static size_t servable(const portfolio_table *t) {
  size_t n = 0;
  for (size_t j = 0; j < t->n_sizes; j++) {
    n += isfinite(portfolio_least(t, j));
  }
  return n;
}

int portfolio_select(const portfolio_table *t, double loss, size_t *chosen, size_t *n,
                     size_t *n_left, err *e) {
  set s = {.t = t, .bound = log1p(loss) + 1e-12, .chosen = chosen};
  s.lost = calloc(t->n_configs * t->n_sizes + 1, sizeof *s.lost);
  s.in = calloc(t->n_configs + 1, sizeof *s.in);
  s.covers = calloc(t->n_sizes + 1, sizeof *s.covers);
  const bool ok = s.lost && s.in && s.covers;
  if (ok) {
    fill_lost(&s);
    choose(&s);
    *n = s.n;
    *n_left = servable(t) - n_covered(&s);
  }
  free(s.lost);
  free(s.in);
  free(s.covers);
  return ok ? 0 : err_nomem(e);
}
