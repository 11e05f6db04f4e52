#include "finals.h"

#include <math.h>
#include <string.h>

#include "session.h"

enum { FINALISTS = 6, ROUNDS = 15 }; /* unless the options say otherwise */

typedef struct finalist {
  const db_result *row;
  gen_config config;
} finalist;

/* The fastest, and the default wherever it came in. */
static size_t choose(tune_session *s, const db_result *rows, size_t n, size_t most, finalist *out) {
  str text = {0};
  gen_config def;
  size_t chosen = 0;
  gen_config_default(s->t, &def);
  gen_config_text(s->t, &def, &text);
  for (size_t i = 0; i < n && rows[i].t.status == DB_OK; i++) {
    bool is_default = !strcmp(rows[i].t.config, str_text(&text));
    if ((chosen < most || is_default) && rows[i].t.image &&
        !gen_config_parse(s->t, rows[i].t.config, &out[chosen].config, NULL)) {
      out[chosen++].row = &rows[i];
    }
  }
  str_clear(&text);
  return chosen;
}

static int images_of(tune_session *s, const finalist *f, size_t n, measure_image *images, err *e) {
  for (size_t i = 0; i < n; i++) {
    db_image image;
    TRY(db_image_get(s->db, f[i].row->t.image, &s->memory, &image, e));
    images[i] = (measure_image){.config = f[i].config, .bytes = image.cubin, .n = image.n_cubin};
  }
  return 0;
}

static int store(tune_session *s, const db_result *row, const rt_times *t, err *e) {
  return db_sample_put(s->db, row->trial,
                       &(db_sample){.stage = DB_FINAL,
                                    .median = t->median,
                                    .spread = rt_times_spread(t),
                                    .launches = (int64_t)t->launches,
                                    .cold = t->cold,
                                    .driver = s->m.info.driver,
                                    .uuid = s->m.info.uuid},
                       e);
}

int finals_race(tune_session *s, err *e) {
  db_result *rows;
  size_t n;
  const size_t most = s->o.finalists ? s->o.finalists : FINALISTS;
  const size_t rounds = s->o.rounds ? s->o.rounds : ROUNDS;
  finalist *f = ARENA_ARRAY(&s->memory, finalist, most + 1);
  measure_image *images = ARENA_ARRAY(&s->memory, measure_image, most + 1);
  measured *out = ARENA_ARRAY(&s->memory, measured, most + 1);
  if (!f || !images || !out) {
    return err_set(e, ERR_NOMEM, "out of memory for %zu finalists", most);
  }
  TRY(db_results(s->db, s->template_id, s->device_id, str_text(&s->problem), &s->memory, &rows, &n,
                 e));
  n = choose(s, rows, n, most, f);
  TRY(images_of(s, f, n, images, e));
  if (!s->m.w.pid) {
    TRY(measurer_restart(&s->m, e));
  }
  TRY(measurer_race(&s->m, images, n, rounds, out, e));
  s->state.best_sec = INFINITY;
  for (size_t i = 0; i < n; i++) {
    if (out[i].status != DB_OK) {
      continue;
    }
    TRY(store(s, f[i].row, &out[i].times, e));
    if (out[i].times.median < s->state.best_sec) {
      s->state.best_sec = out[i].times.median;
      strncpy(s->state.best_config, f[i].row->t.config, sizeof s->state.best_config - 1);
    }
  }
  return 0;
}
