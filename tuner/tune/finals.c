/* finals.c -- the best candidates and the default, timed again side by side.
 *
 * The first measurement of a candidate is biased by what ran before it (clocks, caches), up to 10 %
 * either way; in interleaved rounds in one process all finalists meet the same conditions. The
 * default always takes part, so the tuned configuration is never slower. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "samples.h"
#include "session.h"

enum { FINALISTS = 6, ROUNDS = 15, FASTEST = 2 }; /* unless the options say otherwise */
enum { KEPT = 3 };                                /* images of a problem */

typedef struct finalist {
  const db_result *row;
  gen_config config;
} finalist;

typedef struct final { /* the candidates that take part, and all rows they come from */
  tune_session *s;
  const scored *rows;
  size_t n_rows;
  finalist f[MEASURE_RACERS];
  size_t n;
} final;

static bool is_finalist(const final *x, const db_result *row) {
  for (size_t i = 0; i < x->n; i++) {
    if (x->f[i].row == row) {
      return true;
    }
  }
  return false;
}

static void add(final *x, const db_result *row) {
  if (x->n < MEASURE_RACERS && !is_finalist(x, row) &&
      !gen_config_parse(x->s->t, row->t.config, &x->f[x->n].config, NULL)) {
    x->f[x->n++].row = row;
  }
}

/* The best of the others; NULL: there is none. */
static const db_result *next_best(const final *x) {
  const scored *best = NULL;
  for (size_t i = 0; i < x->n_rows; i++) {
    const scored *r = &x->rows[i];
    if (isfinite(r->score) && r->row->t.image && (!best || r->score < best->score) &&
        !is_finalist(x, r->row)) {
      best = r;
    }
  }
  return best ? best->row : NULL;
}

static void add_default(final *x) {
  auto_str text = {0};
  gen_config def;
  gen_config_default(x->s->t, &def);
  gen_config_text(x->s->t, &def, &text);
  for (size_t i = 0; i < x->n_rows; i++) {
    const db_result *row = x->rows[i].row;
    if (row->t.status == DB_OK && !strcmp(row->t.config, str_text(&text))) {
      add(x, row);
    }
  }
}

/* The default, the best by the objective, and the FASTEST by time: the best by time, which is
 * served, must come from the same race. */
static void choose(final *x, size_t most) {
  const db_result *row;
  add_default(x);
  for (size_t i = 0;
       i < x->n_rows && !tune_objective_is_time(&x->s->o.objective) && x->n <= FASTEST; i++) {
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

static int find_or_build(tune_session *s, candidate *c, err *e) {
  bool found;
  TRY(candidate_from_db(c, s->db, s->pipe.m.info.format, &found, e));
  return found ? 0 : pipeline_compile_now(&s->pipe, c, e);
}

/* The row gets the image; *image is kept in the problem's memory. */
static int build_image(tune_session *s, const db_result *row, measure_image *image, err *e) {
  candidate *c;
  int64_t same;
  TRY(candidate_new(s->problem.g, s->compiler, &s->pipe.pool.setting, 0, &image->config, &c, e));
  int rc = find_or_build(s, c, e);
  if (!rc) {
    db_trial with = row->t;
    with.image = c->key;
    image->n = c->image.n;
    image->bytes = arena_text_n(&s->problem.memory, str_text(&c->image), c->image.n);
    rc = image->bytes ? db_trial_put(s->db, s->pipe.template_id, s->pipe.device_id, &with, &same, e)
                      : err_nomem(e);
  }
  candidate_free(c);
  return rc;
}

/* The row's image, built again where the database has none. */
static int image_of(tune_session *s, const db_result *row, const gen_config *config,
                    measure_image *out, err *e) {
  db_image image;
  err miss = {0};
  int rc = row->t.image ? db_image_get(s->db, row->t.image, &s->problem.memory, &image, &miss)
                        : ERR_NOTFOUND;
  const bool cubin = s->pipe.m.info.format == RT_CUBIN;
  *out = (measure_image){.config = *config};
  if (!rc) {
    out->bytes = cubin ? image.cubin : image.ptx;
    out->n = cubin ? image.n_cubin : image.n_ptx;
  }
  if (rc && rc != ERR_NOTFOUND) {
    return err_copy(e, rc, &miss);
  }
  return out->n ? 0 : build_image(s, row, out, e);
}

/* A candidate that does not build any more does not take part. */
static int images_of(tune_session *s, final *x, measure_image *images, err *e) {
  size_t n = 0;
  for (size_t i = 0; i < x->n; i++) {
    err why = {0};
    int rc = image_of(s, x->f[i].row, &x->f[i].config, &images[n], &why);
    if (rc && rc != ERR_COMPILE) {
      return err_copy(e, rc, &why);
    }
    if (!rc) {
      x->f[n++] = x->f[i];
    }
  }
  x->n = n;
  return 0;
}

static void note_best(tune_session *s, const finalist *f, const measured *m) {
  double x[GEN_MEASURED], values[OBJECTIVE_MOST] = {0};
  measured_of(f->row, m->energy_j, x);
  x[GEN_MEASURED_sec] = m->times.median;
  const double score = scorer_score(&s->scorer, &f->config, x, values);
  if (score < s->best.score) {
    s->best.score = score;
    s->state.best_sec = m->times.median;
    s->state.best_joules = m->energy_j;
    memcpy(s->state.best_values, values, sizeof values);
    snprintf(s->state.best_config, sizeof s->state.best_config, "%s", f->row->t.config);
  }
}

static int run(tune_session *s, const final *x, const measure_image *images, measured *out,
               err *e) {
  if (!s->pipe.m.w.pid) {
    TRY(measurer_restart(&s->pipe.m, e));
  }
  TRY(measurer_race(&s->pipe.m, images, x->n, s->o.rounds ? s->o.rounds : ROUNDS, out, e));
  s->state.best_sec = s->best.score = INFINITY;
  bool counted = false; /* repeats are of the race as a whole */
  for (size_t i = 0; i < x->n; i++) {
    if (out[i].status != DB_OK) {
      continue;
    }
    TRY(samples_put(s->db, &s->pipe.m.info, x->f[i].row->trial, DB_FINAL, &out[i], e));
    samples_note(&s->state.health, &out[i], counted);
    counted = true;
    note_best(s, &x->f[i], &out[i]);
  }
  return 0;
}

int finals_race(tune_session *s, err *e) {
  db_result *rows;
  scored *scores;
  measure_image images[MEASURE_RACERS];
  measured *out = ARENA_ARRAY(&s->problem.memory, measured, MEASURE_RACERS);
  final x = {.s = s};
  TRY(session_results(s, &s->problem.memory, &rows, &x.n_rows, e));
  TRY(known_score(s->t, s->db, &s->scorer, rows, x.n_rows, &s->problem.memory, &scores, e));
  x.rows = scores;
  choose(&x, s->o.finalists ? s->o.finalists : FINALISTS);
  if (!out) {
    return err_set(e, ERR_NOMEM, "out of memory for the finals");
  }
  TRY(images_of(s, &x, images, e));
  return x.n ? run(s, &x, images, out, e) : 0;
}

int finals_keep_images(tune_session *s, err *e) {
  db_result *rows;
  size_t n, kept = 0;
  TRY(session_results(s, &s->problem.memory, &rows, &n, e));
  for (size_t i = 0; i < n && kept < KEPT && rows[i].t.status == DB_OK; i++) {
    gen_config config;
    measure_image image;
    err why = {0};
    int rc = gen_config_parse(s->t, rows[i].t.config, &config, NULL);
    rc = rc ? ERR_COMPILE : image_of(s, &rows[i], &config, &image, &why);
    if (rc && rc != ERR_COMPILE) {
      return err_at(e, rc, why.place, "%s", why.message);
    }
    kept += !rc;
  }
  return 0;
}
