#include "samples.h"

#include <math.h>
#include <string.h>

/* ---- rows ----------------------------------------------------------------------------------- */

static void add_batches(str *s, const rt_times *t) {
  for (uint32_t i = 0; i < t->n_batches; i++) {
    str_addf(s, "%s%.6g", i ? " " : "", (double)t->batches[i]);
  }
}

static int put_sample(db *d, const rt_info *info, int64_t trial, db_stage stage, const measured *m,
                      err *e) {
  const rt_times *t = &m->times;
  auto_str batches = {0};
  add_batches(&batches, t);
  return db_sample_put(d, trial,
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
                                    .held = (int64_t)m->health.throttle,
                                    .retaken = m->retaken,
                                    .ended = rt_ended_name(t->ended),
                                    .replay = t->replay == RT_GRAPH ? "graph" : "stream",
                                    .batches = str_text(&batches)},
                       e);
}

int samples_put(db *d, const rt_info *info, int64_t trial, db_stage stage, const measured *m,
                err *e) {
  const double sec = m->times.prepare_sec;
  TRY(sec > 0 ? db_preparation_put(d, trial, sec, e)
              : 0); /* before the time that has a share of it */
  return info->modelled ? db_estimate_put(d, trial, TUNE_MODEL, m->times.median, e)
                        : put_sample(d, info, trial, stage, m, e);
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
  h->capped += (x->throttle & RT_THROTTLE_POWER_CAP) != 0;
  h->spoiled += (x->throttle & RT_THROTTLE_SEVERE) != 0;
  h->held |= x->throttle;
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
    str_addf(s, "; repeated %llu times, clocks still held back in %llu (",
             (unsigned long long)h->retaken, (unsigned long long)h->spoiled);
    rt_throttle_text(h->held & RT_THROTTLE_SEVERE, s);
    str_add(s, ")");
  }
  str_add(s, "\n");
}
