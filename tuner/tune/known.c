#include "known.h"

#include <math.h>
#include <stdlib.h>

static int joules_of(db *d, const scorer *s, const db_result *row, double *joules, err *e) {
  auto_arena a = {0};
  db_sample sample;
  err miss = {0};
  *joules = 0;
  if (!s->o || !tune_objective_reads(s->o, GEN_MEASURED_joules)) {
    return 0;
  }
  int rc = db_sample_get(d, row->trial, &a, &sample, &miss);
  *joules = rc ? 0 : sample.energy_j;
  return rc && rc != ERR_NOTFOUND ? err_copy(e, rc, &miss) : 0;
}

static int score(const gen_template *t, db *d, scorer *s, scored *x, err *e) {
  const double sec = db_result_sec(x->row);
  double joules, measured[GEN_MEASURED];
  gen_config c = {0};
  TRY(joules_of(d, s, x->row, &joules, e));
  scorer_note(s, sec, joules);
  measured_of(x->row, joules, measured);
  if (!s->o || !s->o->reads_config || !gen_config_parse(t, x->row->t.config, &c, NULL)) {
    x->score = scorer_score(s, &c, measured, x->values);
  }
  return 0;
}

int known_score(const gen_template *t, db *d, scorer *s, const db_result *rows, size_t n, arena *a,
                scored **out, err *e) {
  scored *list = *out = ARENA_ARRAY(a, scored, n + 1);
  if (!list) {
    return err_set(e, ERR_NOMEM, "out of memory for %zu trials", n);
  }
  for (size_t i = 0; i < n; i++) {
    list[i] = (scored){&rows[i], INFINITY, {0}};
    if (rows[i].t.status == DB_OK && db_result_sec(&rows[i]) > 0) {
      TRY(score(t, d, s, &list[i], e));
    }
  }
  return 0;
}

static int by_point(const void *a, const void *b) {
  size_t x = ((const known_point *)a)->point, y = ((const known_point *)b)->point;
  return x < y ? -1 : x > y;
}

int known_load(const gen_template *t, const gen_space *space, const scored *rows, size_t n,
               arena *a, known_points *out, err *e) {
  *out = (known_points){.p = ARENA_ARRAY(a, known_point, n + 1)};
  if (!out->p) {
    return err_set(e, ERR_NOMEM, "out of memory for %zu known trials", n);
  }
  for (size_t i = 0; i < n; i++) {
    gen_config c;
    known_point k;
    if (gen_config_parse(t, rows[i].row->t.config, &c, NULL) ||
        !gen_space_find(space, &c, &k.point)) {
      continue;
    }
    k.score = rows[i].score;
    out->p[out->n++] = k;
  }
  qsort(out->p, out->n, sizeof *out->p, by_point);
  return 0;
}

const known_point *known_find(const known_points *k, size_t point) {
  known_point wanted = {.point = point};
  return bsearch(&wanted, k->p, k->n, sizeof *k->p, by_point);
}
