#include "finals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session.h"

enum { FINALISTS = 6, ROUNDS = 15, FASTEST = 2 }; /* unless the options say otherwise */

typedef struct finalist {
  const db_result *row;
  gen_config config;
} finalist;

typedef struct field { /* of finalists */
  tune_session *s;
  const scored *rows;
  size_t n_rows;
  finalist f[MEASURE_RACERS];
  size_t n;
} field;

static bool is_in(const field *x, const db_result *row) {
  for (size_t i = 0; i < x->n; i++) {
    if (x->f[i].row == row) {
      return true;
    }
  }
  return false;
}

static void add(field *x, const db_result *row) {
  if (x->n < MEASURE_RACERS && !is_in(x, row) &&
      !gen_config_parse(x->s->t, row->t.config, &x->f[x->n].config, NULL)) {
    x->f[x->n++].row = row;
  }
}

/* The best that is not in yet; NULL: all are. */
static const db_result *next_best(const field *x) {
  const scored *best = NULL;
  for (size_t i = 0; i < x->n_rows; i++) {
    const scored *r = &x->rows[i];
    if (isfinite(r->score) && r->row->t.image && (!best || r->score < best->score) &&
        !is_in(x, r->row)) {
      best = r;
    }
  }
  return best ? best->row : NULL;
}

static void add_default(field *x) {
  str text = {0};
  gen_config def;
  gen_config_default(x->s->t, &def);
  gen_config_text(x->s->t, &def, &text);
  for (size_t i = 0; i < x->n_rows; i++) {
    const db_result *row = x->rows[i].row;
    if (row->t.status == DB_OK && !strcmp(row->t.config, str_text(&text))) {
      add(x, row);
    }
  }
  str_clear(&text);
}

/* The default wherever it came in; the best by the objective; and whatever that is, the fastest:
 * what is best by time must come out of the same race. */
static void choose(field *x, size_t most) {
  const db_result *row;
  add_default(x);
  for (size_t i = 0; i < x->n_rows && x->s->o.objective != TUNE_TIME && x->n <= FASTEST; i++) {
    if (x->rows[i].row->t.status == DB_OK && x->rows[i].row->t.image) {
      add(x, x->rows[i].row);
    }
  }
  while (x->n < most + 1 && x->n < MEASURE_RACERS && (row = next_best(x))) {
    size_t before = x->n;
    add(x, row);
    if (x->n == before) { /* of another version of the template's space */
      break;
    }
  }
}

/* From the database, or built again: an image may have been pruned, or the row imported. */
static int image_of(tune_session *s, const finalist *f, measure_image *out, err *e) {
  db_image image;
  err miss = {0};
  int rc = f->row->t.image ? db_image_get(s->db, f->row->t.image, &s->memory, &image, &miss)
                           : ERR_NOTFOUND;
  const bool cubin = s->crew.m.info.format == RT_CUBIN;
  *out = (measure_image){.config = f->config};
  if (!rc) {
    out->bytes = cubin ? image.cubin : image.ptx;
    out->n = cubin ? image.n_cubin : image.n_ptx;
  }
  if (rc && rc != ERR_NOTFOUND) {
    return err_set(e, rc, "%s", miss.message);
  }
  return out->n ? 0 : session_build(s, f->row, out, e);
}

/* What can't be built any more does not take part. */
static int images_of(tune_session *s, field *x, measure_image *images, err *e) {
  size_t n = 0;
  for (size_t i = 0; i < x->n; i++) {
    err why = {0};
    int rc = image_of(s, &x->f[i], &images[n], &why);
    if (rc && rc != ERR_COMPILE) {
      return err_at(e, rc, why.place, "%s", why.message);
    }
    if (!rc) {
      x->f[n++] = x->f[i];
    }
  }
  x->n = n;
  return 0;
}

static int run(tune_session *s, const field *x, const measure_image *images, measured *out,
               err *e) {
  if (!s->crew.m.w.pid) {
    TRY(measurer_restart(&s->crew.m, e));
  }
  TRY(measurer_race(&s->crew.m, images, x->n, s->o.rounds ? s->o.rounds : ROUNDS, out, e));
  s->state.best_sec = s->best_score = INFINITY;
  bool counted = false; /* the race is taken again as a whole */
  for (size_t i = 0; i < x->n; i++) {
    const double score = samples_score(s, out[i].times.median, out[i].energy_j);
    if (out[i].status != DB_OK) {
      continue;
    }
    TRY(samples_put(s->db, &s->crew.m.info, x->f[i].row->trial, DB_FINAL, &out[i], e));
    samples_note(&s->state.health, &out[i], counted);
    counted = true;
    if (score < s->best_score) {
      s->best_score = score;
      s->state.best_sec = out[i].times.median;
      s->state.best_joules = out[i].energy_j;
      snprintf(s->state.best_config, sizeof s->state.best_config, "%s", x->f[i].row->t.config);
    }
  }
  return 0;
}

int finals_race(tune_session *s, err *e) {
  db_result *rows;
  scored *scores;
  measure_image images[MEASURE_RACERS];
  measured *out = ARENA_ARRAY(&s->memory, measured, MEASURE_RACERS);
  field x = {.s = s};
  TRY(db_results(s->db, s->crew.template_id, s->crew.device_id, str_text(&s->problem), &s->memory,
                 &rows, &x.n_rows, e));
  TRY(samples_score_rows(s, rows, x.n_rows, &s->memory, &scores, e));
  x.rows = scores;
  choose(&x, s->o.finalists ? s->o.finalists : FINALISTS);
  if (!out) {
    return err_set(e, ERR_NOMEM, "out of memory for the finals");
  }
  TRY(images_of(s, &x, images, e));
  return x.n ? run(s, &x, images, out, e) : 0;
}
