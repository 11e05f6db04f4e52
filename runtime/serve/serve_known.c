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

static bool add_octaves(gen_template *t, const gen_problem *p, arena *a, serve_known_row *row) {
  int64_t values[GEN_MAX_FIELDS];
  double *octaves = ARENA_ARRAY(a, double, t->n_fields + 1);
  for (size_t i = 0; i < t->n_fields; i++) {
    values[i] = p->values[i].i;
  }
  if (octaves) {
    serve_problem_octaves(t, values, octaves);
  }
  row->octaves = octaves;
  return octaves;
}

static tuned_origin origin_of(const serve *s, const serve_known_source *from) {
  return from->preset                   ? TUNED_PRESET
         : is_here(s, from->device_key) ? TUNED_NEAREST
                                        : TUNED_OTHER_DEVICE;
}

/* Hundreds of presets stand in the library already; what the line has escaped is copied. */
static bool add_text(serve_known *k, const serve_known_source *from, const char *text,
                     serve_known_text *out) {
  const size_t n = strlen(text);
  const char *there = from->line ? memmem(from->line, from->n_line, text, n) : NULL;
  *out = (serve_known_text){.p = there ? there : arena_text_n(&k->memory, text, n), .n = n};
  return out->p;
}

/* Rows of a device come together. */
static bool add_device(serve_known *k, const char *key, serve_known_row *row) {
  const char *last = k->n ? k->rows[k->n - 1].device_key : "";
  row->device_key = !strcmp(last, key) ? last : arena_text(&k->memory, key);
  return row->device_key;
}

static bool add_image(serve_known *k, const char *image, serve_known_row *row) {
  row->image = image ? arena_text(&k->memory, image) : NULL;
  return !image || row->image;
}

static serve_known_row *next_row(serve_known *k) {
  if (k->n == k->most) {
    const size_t most = k->most ? 2 * k->most : 64;
    serve_known_row *rows = realloc(k->rows, most * sizeof *rows);
    k->rows = rows ? rows : k->rows;
    k->most = rows ? most : k->most;
  }
  return k->n < k->most ? &k->rows[k->n] : NULL;
}

/* What this template can't read (a damaged row, or a range that has changed) is left out. */
int serve_known_add(serve *s, gen_template *t, serve_known *k, const serve_known_source *from,
                    err *e) {
  gen_problem p;
  if (!is_welcome(s, from->device_key) || gen_problem_parse(t, from->problem, &p, NULL)) {
    return 0;
  }
  serve_known_row *row = next_row(k);
  if (!row) {
    return no_room(e);
  }
  *row = (serve_known_row){
      .origin = origin_of(s, from),
      .sec = from->sec,
      .measured = from->measured,
      .sms = ratio(from->sms, s->device->info.sms),
      .bandwidth = ratio(bandwidth_of(from->device_key), rt_peak_bandwidth(&s->device->info))};
  if (!add_octaves(t, &p, &k->memory, row) || !add_text(k, from, from->problem, &row->problem) ||
      !add_text(k, from, from->config, &row->config) || !add_device(k, from->device_key, row) ||
      !add_image(k, from->image, row)) {
    return no_room(e);
  }
  k->n++;
  return 0;
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

static int add_known(serve *s, gen_template *t, serve_known *k, const db_known *d, err *e) {
  const bool measured = d->median > 0;
  return serve_known_add(s, t, k,
                         &(serve_known_source){.device_key = d->device_key,
                                               .problem = d->problem,
                                               .config = d->config,
                                               .image = d->image,
                                               .sms = d->sms,
                                               .sec = measured ? d->median : d->modelled,
                                               .measured = measured},
                         e);
}

static int read_database(serve *s, gen_template *t, serve_known *k, err *e) {
  size_t n = 0;
  arena scratch = {0};
  db_known *list = ARENA_ARRAY(&scratch, db_known, SERVE_KNOWN_MOST);
  int rc = list ? db_known_list(s->db, t->hash, str_text(&s->device_key), s->device->info.cc,
                                SERVE_KNOWN_MOST, &scratch, list, &n, e)
                : no_room(e);
  for (size_t i = 0; !rc && i < n; i++) {
    rc = add_known(s, t, k, &list[i], e);
  }
  arena_clear(&scratch);
  return rc;
}

static void trim_rows(serve_known *k) {
  serve_known_row *rows = k->n ? realloc(k->rows, k->n * sizeof *rows) : NULL;
  k->rows = rows ? rows : k->rows;
  k->most = rows ? k->n : k->most;
}

static int read_all(serve *s, gen_template *t, serve_known *k, err *e) {
  if (s->db) {
    TRY(read_database(s, t, k, e));
    TRY(read_cover(s, t, k, e));
  }
  TRY(serve_presets_read(s, t, k, e));
  trim_rows(k);
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
  free(k->rows);
  serve_judge_free(k->judge);
  *k = (serve_known){0};
}
