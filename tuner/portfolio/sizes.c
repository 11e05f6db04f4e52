#define _GNU_SOURCE
#include "sizes.h"

#include <math.h>
#include <stdlib.h>

#include "serve_distance.h"
#include "suite.h"

bool sizes_hold(const gen_template *t, const sizes *s, const gen_problem *p) {
  for (size_t i = 0; i < s->n; i++) {
    if (gen_problem_equal(t, &s->p[i], p)) {
      return true;
    }
  }
  return false;
}

int sizes_read(gen_template *t, const char *from, const char *common, arena *a, sizes *out,
               err *e) {
  suite all;
  *out = (sizes){0};
  TRY(suite_read(t, from, common, a, &all, e));
  out->p = all.p;
  for (size_t i = 0; i < all.n; i++) {
    if (!sizes_hold(t, out, &all.p[i])) {
      out->p[out->n++] = all.p[i];
    }
  }
  return 0;
}

/* ---- the order ------------------------------------------------------------------------------ */

static double distance(const gen_template *t, const gen_problem *a, const gen_problem *b) {
  int64_t values[GEN_MAX_FIELDS];
  for (size_t i = 0; i < t->n_fields; i++) {
    values[i] = b->values[i].i;
  }
  const double d = serve_problem_distance(t, a, values);
  return isfinite(d) ? d : 1e9; /* another type or transposition: last, not never */
}

static void swap(gen_problem *a, gen_problem *b) {
  const gen_problem c = *a;
  *a = *b;
  *b = c;
}

/* The one with the least sum of distances to the others. */
static size_t middle(const gen_template *t, const sizes *s) {
  size_t best = 0;
  double least = INFINITY;
  for (size_t i = 0; i < s->n; i++) {
    double sum = 0;
    for (size_t j = 0; j < s->n && sum < least; j++) {
      sum += distance(t, &s->p[i], &s->p[j]);
    }
    if (sum < least) {
      least = sum;
      best = i;
    }
  }
  return best;
}

/* src: Prim, Shortest connection networks and some generalizations, 1957. */
int sizes_order(const gen_template *t, sizes *s, const gen_problem *tuned, size_t n_tuned, err *e) {
  double *near = malloc((s->n + 1) * sizeof *near);
  TRY(near ? 0 : err_nomem(e));
  if (!n_tuned && s->n) {
    swap(&s->p[0], &s->p[middle(t, s)]);
  }
  for (size_t i = 0; i < s->n; i++) {
    near[i] = n_tuned ? INFINITY : distance(t, &s->p[i], &s->p[0]);
    for (size_t j = 0; j < n_tuned; j++) {
      near[i] = fmin(near[i], distance(t, &s->p[i], &tuned[j]));
    }
  }
  for (size_t i = n_tuned ? 0 : 1; i < s->n; i++) {
    size_t next = i;
    for (size_t j = i; j < s->n; j++) {
      next = near[j] < near[next] ? j : next;
    }
    swap(&s->p[i], &s->p[next]);
    near[next] = near[i];
    for (size_t j = i + 1; j < s->n; j++) {
      near[j] = fmin(near[j], distance(t, &s->p[j], &s->p[i]));
    }
  }
  free(near);
  return 0;
}
