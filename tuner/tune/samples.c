#include "samples.h"

#include <math.h>
#include <string.h>

#include "session.h"

static const char *const objectives[] = {
    [TUNE_TIME] = "time", [TUNE_ENERGY] = "energy", [TUNE_EDP] = "edp"};

const char *tune_objective_name(tune_objective o) {
  return objectives[o];
}

int tune_objective_find(const char *name, tune_objective *out, err *e) {
  for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++) {
    if (!strcmp(name, objectives[i])) {
      *out = (tune_objective)i;
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "--objective '%s' is none of: time, energy, edp", name);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_batches(str *s, const rt_times *t) {
  for (uint32_t i = 0; i < t->n_batches; i++) {
    str_addf(s, "%s%.6g", i ? " " : "", (double)t->batches[i]);
  }
}

static int put_sample(db *d, const rt_info *info, int64_t trial, db_stage stage, const measured *m,
                      err *e) {
  const rt_times *t = &m->times;
  str batches = {0};
  add_batches(&batches, t);
  int rc = db_sample_put(d, trial,
                         &(db_sample){.stage = stage,
                                      .median = t->median,
                                      .spread = rt_times_spread(t),
                                      .launches = (int64_t)t->launches,
                                      .cold = t->cold,
                                      .driver = info->driver,
                                      .uuid = info->uuid,
                                      .clock_mhz = m->health.clock_mhz,
                                      .power_w = m->health.power_w,
                                      .temperature_c = m->health.temperature_c,
                                      .memory_mhz = m->health.memory_mhz,
                                      .energy_j = m->energy_j,
                                      .held = (int64_t)m->health.held,
                                      .retaken = m->retaken,
                                      .ended = rt_ended_name(t->ended),
                                      .replay = t->replay == RT_GRAPH ? "graph" : "stream",
                                      .batches = str_text(&batches)},
                         e);
  str_clear(&batches);
  return rc;
}

int samples_put(db *d, const rt_info *info, int64_t trial, db_stage stage, const measured *m,
                err *e) {
  return info->modelled ? db_estimate_put(d, trial, TUNE_MODEL, m->times.median, e)
                        : put_sample(d, info, trial, stage, m, e);
}

/* ---- scores --------------------------------------------------------------------------------- */

double samples_score(const tune_session *s, double sec, double joules) {
  if (s->o.objective == TUNE_TIME) {
    return sec;
  }
  if (!(joules > 0)) {
    joules = sec * (s->watts > 0 ? s->watts : 1);
  }
  return s->o.objective == TUNE_ENERGY ? joules : joules * sec;
}

static int joules_of(tune_session *s, const db_result *row, double *joules, err *e) {
  arena a = {0};
  db_sample sample;
  err miss = {0};
  *joules = 0;
  if (s->o.objective == TUNE_TIME) {
    return 0;
  }
  int rc = db_sample_get(s->db, row->trial, &a, &sample, &miss);
  *joules = rc ? 0 : sample.energy_j;
  arena_clear(&a);
  return rc && rc != ERR_NOTFOUND ? err_set(e, rc, "%s", miss.message) : 0;
}

int samples_score_rows(tune_session *s, const db_result *rows, size_t n, arena *a, scored **out,
                       err *e) {
  scored *list = *out = ARENA_ARRAY(a, scored, n + 1);
  if (!list) {
    return err_set(e, ERR_NOMEM, "out of memory for %zu trials", n);
  }
  for (size_t i = 0; i < n; i++) {
    const double sec = rows[i].median > 0 ? rows[i].median : rows[i].modelled;
    double joules;
    list[i] = (scored){&rows[i], INFINITY};
    if (rows[i].t.status == DB_OK && sec > 0) {
      TRY(joules_of(s, &rows[i], &joules, e));
      s->watts = joules > 0 ? joules / sec : s->watts;
      list[i].score = samples_score(s, sec, joules);
    }
  }
  return 0;
}

/* ---- the device's state --------------------------------------------------------------------- */

void samples_note(tune_health *h, const measured *m, bool counted) {
  const rt_health *x = &m->health;
  h->retaken += counted ? 0 : m->retaken;
  if (!(x->clock_mhz > 0)) {
    return;
  }
  h->clock_min = h->n && h->clock_min < x->clock_mhz ? h->clock_min : x->clock_mhz;
  h->clock_max = fmax(h->clock_max, x->clock_mhz);
  h->temperature_max = fmax(h->temperature_max, x->temperature_c);
  h->power_max = fmax(h->power_max, x->power_w);
  h->capped += (x->held & RT_HELD_POWER_CAP) != 0;
  h->spoiled += (x->held & RT_HELD_BADLY) != 0;
  h->held |= x->held;
  h->n++;
}

void samples_health_text(str *s, const tune_health *h) {
  if (!h->n) {
    return;
  }
  str_addf(s, "  clocks %.0f to %.0f MHz, at most %.0f C and %.0f W in %llu samples", h->clock_min,
           h->clock_max, h->temperature_max, h->power_max, (unsigned long long)h->n);
  if (h->capped) {
    str_addf(s, "; power cap in %llu", (unsigned long long)h->capped);
  }
  if (h->retaken) {
    str_addf(s, "; taken again %llu times, still held back in %llu (",
             (unsigned long long)h->retaken, (unsigned long long)h->spoiled);
    rt_held_text(h->held & RT_HELD_BADLY, s);
    str_add(s, ")");
  }
  str_add(s, "\n");
}
