#define _GNU_SOURCE
#include "serve_known.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "serve_choose.h"
#include "serve_presets.h"

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- devices -------------------------------------------------------------------------------- */

static bool is_emulated(const char *device_key) {
  return !strncmp(device_key, "emu:", 4);
}

/* A device's key tells its memory's bus and clock (rt_device_key); 0 when it doesn't. */
static double bandwidth_of(const char *device_key) {
  int sms, bits;
  double clock, memory_clock;
  const char *rest = strstr(device_key, "|sm_");
  if (!rest || sscanf(rest, "|sm_%*d|%d|%d|%lf|%lf", &sms, &bits, &clock, &memory_clock) != 4) {
    return 0;
  }
  return bits * memory_clock * 1e6 / 4; /* two transfers a clock, eight bits a byte */
}

static double ratio(double a, double b) {
  return a > 0 && b > 0 ? a / b : 1;
}

static bool is_here(const serve *s, const char *device_key) {
  return !strcmp(device_key, str_text(&s->device_key));
}

/* A model's guess is never served to a real device. */
static bool is_welcome(const serve *s, const char *device_key) {
  return !is_emulated(device_key) || is_emulated(str_text(&s->device_key));
}

/* ---- one row -------------------------------------------------------------------------------- */

static int64_t *values_of(gen_template *t, const gen_problem *p, arena *a) {
  int64_t *values = ARENA_ARRAY(a, int64_t, t->n_fields + 1);
  for (size_t i = 0; values && i < t->n_fields; i++) {
    values[i] = p->values[i].i;
  }
  return values;
}

static tuned_origin origin_of(const serve *s, const serve_known_source *from) {
  return from->preset                   ? TUNED_PRESET
         : is_here(s, from->device_key) ? TUNED_NEAREST
                                        : TUNED_OTHER_DEVICE;
}

static int fill(serve *s, const serve_known_source *from, serve_known_row *row) {
  const double here = rt_peak_bandwidth(&s->device->info);
  *row = (serve_known_row){.values = row->values,
                           .octaves = row->octaves,
                           .problem = from->problem,
                           .config = from->config,
                           .device_key = from->device_key,
                           .image = from->image,
                           .origin = origin_of(s, from),
                           .sec = from->sec,
                           .measured = from->measured,
                           .sms = ratio(from->sms, s->device->info.sms),
                           .bandwidth = ratio(bandwidth_of(from->device_key), here)};
  return 0;
}

/* What this template can't read (a damaged row, or a range that has changed) is left out. */
int serve_known_add(serve *s, gen_template *t, serve_known *k, const serve_known_source *from,
                    err *e) {
  gen_problem p;
  if (!is_welcome(s, from->device_key) || gen_problem_parse(t, from->problem, &p, NULL)) {
    return 0;
  }
  serve_known_row *row = &k->rows[k->n];
  double *octaves = ARENA_ARRAY(&k->memory, double, t->n_fields + 1);
  row->values = values_of(t, &p, &k->memory);
  row->octaves = octaves;
  if (!row->values || !octaves) {
    return no_room(e);
  }
  serve_problem_octaves(t, row->values, octaves);
  k->n++;
  return fill(s, from, row);
}

/* ---- the portfolio -------------------------------------------------------------------------- */

void serve_known_cover(serve *s, gen_template *t, serve_known *k, const char *text,
                       const char *device_key) {
  serve_cover c;
  const bool better = !k->cover.n_nodes || (is_here(s, device_key) && !is_here(s, k->cover_device));
  if (better && is_welcome(s, device_key) && !serve_cover_read(t, text, &k->memory, &c, NULL)) {
    const char *own = arena_text(&k->memory, device_key);
    k->cover = own ? c : (serve_cover){0};
    k->cover_device = own;
  }
}

static int read_cover(serve *s, gen_template *t, serve_known *k, err *e) {
  const char *text, *key = str_text(&s->device_key);
  arena scratch = {0};
  err why = {0};
  const int rc = db_portfolio_get(s->db, t->hash, key, &scratch, &text, &why);
  if (!rc) {
    serve_known_cover(s, t, k, text, key);
  }
  arena_clear(&scratch);
  return rc == ERR_NOMEM ? err_at(e, rc, why.place, "%s", why.message) : 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int read_database(serve *s, gen_template *t, serve_known *k, err *e) {
  size_t n = 0;
  db_known *list = ARENA_ARRAY(&k->memory, db_known, SERVE_KNOWN_MOST);
  if (!list) {
    return no_room(e);
  }
  TRY(db_known_list(s->db, t->hash, str_text(&s->device_key), s->device->info.cc, SERVE_KNOWN_MOST,
                    &k->memory, list, &n, e));
  for (size_t i = 0; i < n; i++) {
    const db_known *d = &list[i];
    const bool measured = d->median > 0;
    TRY(serve_known_add(s, t, k,
                        &(serve_known_source){.device_key = d->device_key,
                                              .problem = d->problem,
                                              .config = d->config,
                                              .image = d->image,
                                              .sms = d->sms,
                                              .sec = measured ? d->median : d->modelled,
                                              .measured = measured},
                        e));
  }
  return 0;
}

static int read_all(serve *s, gen_template *t, serve_known *k, err *e) {
  k->rows = ARENA_ARRAY(&k->memory, serve_known_row, 2 * SERVE_KNOWN_MOST);
  if (!k->rows) {
    return no_room(e);
  }
  if (s->db) {
    TRY(read_database(s, t, k, e));
    TRY(read_cover(s, t, k, e));
  }
  TRY(serve_presets_read(s, t, k, e));
  k->read = true;
  return 0;
}

int serve_known_read(serve *s, gen_template *t, serve_known *k, err *e) {
  int64_t changes = 0;
  if (s->db) {
    TRY(db_changes(s->db, &changes, e));
  }
  if (k->read && k->changes == changes) {
    return 0;
  }
  serve_judge *judge = k->judge; /* the portfolio may be as it was */
  k->judge = NULL;
  serve_known_clear(k);
  k->judge = judge;
  k->changes = changes;
  return read_all(s, t, k, e);
}

void serve_known_clear(serve_known *k) {
  arena_clear(&k->memory);
  serve_judge_free(k->judge);
  *k = (serve_known){0};
}
