#include "recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial_table.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Is all of the text a number? Names sort after numbers. */
static bool number(const char *text, double *v) {
  char *end;
  *v = strtod(text, &end);
  return end != text && !*end && isfinite(*v);
}

static int by_value(const void *a, const void *b) {
  const char *s = *(const char *const *)a, *t = *(const char *const *)b;
  double x, y;
  bool x_is = number(s, &x), y_is = number(t, &y);
  if (x_is != y_is) {
    return x_is ? -1 : 1;
  }
  return x_is && x != y ? (x < y ? -1 : 1) : strcmp(s, t);
}

/* The distinct values of column p, sorted. */
static int collect(recorded *r, const trial_table *t, size_t p, err *e) {
  const char **all = malloc((t->n + 1) * sizeof *all);
  size_t n = 0;
  TRY(all ? 0 : err_nomem(e));
  for (size_t i = 0; i < t->n; i++) {
    all[i] = t->cells[i * t->n_params + p];
  }
  qsort(all, t->n, sizeof *all, by_value);
  for (size_t i = 0; i < t->n; i++) {
    if (!i || strcmp(all[i], all[n - 1])) {
      all[n++] = all[i];
    }
  }
  const char **values = ARENA_ARRAY(&r->memory, const char *, n + 1);
  for (size_t i = 0; i < n && values; i++) {
    values[i] = arena_text(&r->memory, all[i]);
  }
  free(all);
  if (!values || n > UINT16_MAX) {
    return values ? err_at(e, ERR_LIMIT, r->path, "'%s' has more than %d values", r->params[p],
                           UINT16_MAX)
                  : err_nomem(e);
  }
  r->values[p] = values;
  r->view.n_values[p] = (uint16_t)n;
  return 0;
}

static int collect_all(recorded *r, const trial_table *t, err *e) {
  uint64_t product = 1;
  r->view.n_params = t->n_params;
  for (size_t p = t->n_params; p-- > 0;) {
    r->params[p] = arena_text(&r->memory, t->params[p]);
    TRY(collect(r, t, p, e));
    r->weights[p] = product;
    if (__builtin_mul_overflow(product, (uint64_t)r->view.n_values[p], &product)) {
      return err_at(e, ERR_LIMIT, r->path, "the Cartesian product has more than 2^64 points");
    }
  }
  return 0;
}

/* ---- points ---------------------------------------------------------------------------------- */

typedef struct place {
  uint64_t rank;
  size_t row;
} place;

static int by_rank(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->row < y->row ? -1 : x->row > y->row;
}

static uint64_t rank_of_row(const recorded *r, const trial_table *t, size_t row) {
  uint64_t rank = 0;
  for (size_t p = 0; p < t->n_params; p++) {
    const char *const *v = bsearch(&t->cells[row * t->n_params + p], r->values[p],
                                   r->view.n_values[p], sizeof *r->values[p], by_value);
    rank += r->weights[p] * (uint64_t)(v - r->values[p]);
  }
  return rank;
}

/* Of a configuration measured twice the later result counts, as in a resumed run. */
static void keep_last(recorded *r, const trial_table *t, const place *places) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++) {
    if (i + 1 < t->n && places[i + 1].rank == places[i].rank) {
      continue;
    }
    double sec = t->sec[places[i].row];
    r->ranks[n] = places[i].rank;
    r->sec[n++] = sec;
    r->n_failed += !isfinite(sec);
    r->best = fmin(r->best, sec);
  }
  r->view.n = n;
}

static int place_rows(recorded *r, const trial_table *t, err *e) {
  place *places = malloc((t->n + 1) * sizeof *places);
  r->ranks = ARENA_ARRAY(&r->memory, uint64_t, t->n + 1);
  r->sec = ARENA_ARRAY(&r->memory, double, t->n + 1);
  if (!places || !r->ranks || !r->sec) {
    free(places);
    return err_nomem(e);
  }
  for (size_t i = 0; i < t->n; i++) {
    places[i] = (place){rank_of_row(r, t, i), i};
  }
  qsort(places, t->n, sizeof *places, by_rank);
  keep_last(r, t, places);
  free(places);
  return isfinite(r->best) ? 0 : err_at(e, ERR_USAGE, r->path, "none of its configurations worked");
}

static void at(const void *self, size_t point, uint16_t *places) {
  const recorded *r = self;
  memset(places, 0, GEN_MAX_PARAMS * sizeof *places);
  for (size_t p = 0; p < r->view.n_params; p++) {
    places[p] = (uint16_t)(r->ranks[point] / r->weights[p] % r->view.n_values[p]);
  }
}

static bool find(const void *self, const uint16_t *places, size_t *point) {
  const recorded *r = self;
  uint64_t rank = 0;
  for (size_t p = 0; p < r->view.n_params; p++) {
    rank += r->weights[p] * places[p];
  }
  size_t low = 0, high = r->view.n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->ranks[middle] < rank) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *point = low;
  return low < r->view.n && r->ranks[low] == rank;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int build(recorded *r, trial_table *t, char *text, size_t n, err *e) {
  TRY(trial_table_read(t, text, n, e));
  TRY(collect_all(r, t, e));
  return place_rows(r, t, e);
}

static int from_text(const char *path, str *text, recorded **out, err *e) {
  recorded *r = calloc(1, sizeof *r);
  TRY(r ? 0 : err_nomem(e));
  r->best = INFINITY;
  r->path = arena_text(&r->memory, path);
  r->view.self = r;
  r->view.at = at;
  r->view.find = find;
  trial_table t = {.memory = &r->memory, .path = r->path};
  str_add(text, "");
  int rc = r->path && !text->failed ? build(r, &t, text->p ? text->p : (char[]){""}, text->n, e)
                                    : err_nomem(e);
  trial_table_clear(&t);
  if (rc) {
    recorded_close(r);
    return rc;
  }
  *out = r;
  return 0;
}

int recorded_parse(const char *path, const char *text, size_t n, recorded **out, err *e) {
  auto_str copy = {0};
  str_add_n(&copy, text, n);
  return from_text(path, &copy, out, e);
}

int recorded_open(const char *path, recorded **out, err *e) {
  auto_str text = {0};
  TRY(trial_table_read_file(path, &text, e));
  return from_text(path, &text, out, e);
}

void recorded_close(recorded *r) {
  if (r) {
    arena_clear(&r->memory);
    free(r);
  }
}
