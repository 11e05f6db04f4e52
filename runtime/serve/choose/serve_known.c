#define _GNU_SOURCE
#include "serve_known.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "db_text.h"
#include "serve_distance.h"
#include "serve_presets.h"

/* ---- devices -------------------------------------------------------------------------------- */

/* From the memory bus and clock in a device's key (rt_device_key); 0: they are not there. */
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

static bool is_here(const serve_sources *s, const char *device_key) {
  return !strcmp(device_key, s->device_key);
}

/* Modelled results are never served to a real device. */
static bool is_welcome(const serve_sources *s, const char *device_key) {
  return !rt_key_is_modelled(device_key) || rt_key_is_modelled(s->device_key);
}

typedef struct known_source { /* a row as it is stored */
  const char *device_key, *problem, *config, *image;
  const char *line; /* of a preset: most texts can be used in place; NULL: none */
  int sms;
  double sec;
  bool measured, preset;
  bool former; /* the problem is of a former text of the template */
} known_source;

typedef struct reader { /* of one family's results */
  const serve_sources *from;
  gen_template *t;
  serve_known *k;
  err *e;
  char hash[HASH_TEXT];              /* of the last preset's template */
  bool is_present;                   /* gen_digest_is of it: most presets have the same */
  gen_setting added[GEN_MAX_FIELDS]; /* fields that problems of former texts may lack */
  size_t n_added;
} reader;

/* ---- one row -------------------------------------------------------------------------------- */

static bool add_octaves(reader *r, const gen_problem *p, serve_known_row *row) {
  int64_t values[GEN_MAX_FIELDS];
  double *octaves = ARENA_ARRAY(&r->k->memory, double, r->t->n_fields + 1);
  for (size_t i = 0; i < r->t->n_fields; i++) {
    values[i] = p->values[i].i;
  }
  if (octaves) {
    serve_problem_octaves(r->t, values, octaves);
  }
  row->octaves = octaves;
  return octaves;
}

static tuned_origin origin_of(const serve_sources *s, const known_source *from) {
  return from->preset                   ? TUNED_PRESET
         : is_here(s, from->device_key) ? TUNED_NEAREST
                                        : TUNED_OTHER_DEVICE;
}

/* Presets are in the library's memory already; only texts with escapes are copied. */
static bool add_text(serve_known *k, const known_source *from, const char *text,
                     serve_known_text *out) {
  const size_t n = strlen(text);
  const char *there = from->line ? from->line + (text - from->device_key) : NULL;
  const bool same = there && !memcmp(there, text, n);
  *out = (serve_known_text){.p = same ? there : arena_text_n(&k->memory, text, n), .n = n};
  return out->p;
}

/* Rows of a device are adjacent. */
static bool add_device(reader *r, const char *key, serve_known_row *row) {
  serve_known *k = r->k;
  const serve_known_row *last = k->n ? &k->rows[k->n - 1] : NULL;
  if (last && !strcmp(last->device_key, key)) {
    row->device_key = last->device_key;
    row->bandwidth = last->bandwidth;
  } else {
    row->device_key = arena_text(&k->memory, key);
    row->bandwidth = ratio(bandwidth_of(key), rt_peak_bandwidth(r->from->device));
  }
  return row->device_key;
}

static bool add_image(serve_known *k, const char *image, serve_known_row *row) {
  row->image = image ? arena_text(&k->memory, image) : NULL;
  return !image || row->image;
}

static serve_known_row *next_row(serve_known *k) {
  return array_reserve(&k->rows, k->n + 1, &k->most, sizeof *k->rows) ? &k->rows[k->n] : NULL;
}

/* Fields of former names are known to the template; those that came later may need their value. */
static bool lacks_field(const reader *r, const char *problem) {
  for (size_t i = 0; i < r->n_added; i++) {
    const char *at = strstr(problem, r->added[i].name);
    if (!at || at[-1] != ' ' || at[strlen(r->added[i].name)] != '=') {
      return true;
    }
  }
  return false;
}

/* now: has the text, where it is another one */
static const char *present_problem(const reader *r, const known_source *from, str *now) {
  if (!from->former || !lacks_field(r, from->problem)) {
    return from->problem;
  }
  gen_problem_update(r->t->name, from->problem, now);
  return str_text(now);
}

static bool add_problem(reader *r, const known_source *from, const char *problem,
                        serve_known_text *out) {
  if (problem == from->problem) {
    return add_text(r->k, from, problem, out);
  }
  *out = (serve_known_text){.p = arena_text(&r->k->memory, problem), .n = strlen(problem)};
  return out->p;
}

/* Rows that this template can't read (damaged, or out of a range that has changed) are skipped. */
static int add_row(reader *r, const known_source *from) {
  gen_problem p;
  serve_known *k = r->k;
  auto_str now = {0};
  const char *problem = present_problem(r, from, &now);
  if (!is_welcome(r->from, from->device_key) || gen_problem_parse(r->t, problem, &p, NULL)) {
    return 0;
  }
  serve_known_row *row = next_row(k);
  if (!row) {
    return err_nomem(r->e);
  }
  *row = (serve_known_row){.origin = origin_of(r->from, from),
                           .sec = from->sec,
                           .measured = from->measured,
                           .sms = ratio(from->sms, r->from->device->sms)};
  if (!add_octaves(r, &p, row) || !add_problem(r, from, problem, &row->problem) ||
      !add_text(k, from, from->config, &row->config) || !add_device(r, from->device_key, row) ||
      !add_image(k, from->image, row)) {
    return err_nomem(r->e);
  }
  k->n++;
  return 0;
}

/* ---- the portfolio -------------------------------------------------------------------------- */

/* One of this device precedes others. */
static bool is_better(const reader *r, const char *device_key) {
  const serve_known *k = r->k;
  return is_welcome(r->from, device_key) &&
         (!k->portfolio.n_nodes ||
          (is_here(r->from, device_key) && !is_here(r->from, k->portfolio_device)));
}

static void take_portfolio(reader *r, const portfolio *c, const char *device_key) {
  serve_known *k = r->k;
  const char *own = arena_text(&k->memory, device_key);
  k->portfolio = own ? *c : (portfolio){0};
  k->portfolio_device = own;
}

static void take_text(reader *r, const char *text, const char *device_key) {
  portfolio c;
  if (is_better(r, device_key) && !portfolio_read(r->t, text, &r->k->memory, &c, NULL)) {
    take_portfolio(r, &c, device_key);
  }
}

static void take_embedded(reader *r, const embedded_portfolio *from) {
  portfolio c;
  if (!strcmp(from->family, r->t->name) && from->version == r->t->version &&
      from->cc == r->from->device->cc && is_better(r, from->device_key) &&
      !embedded_portfolio_open(r->t, from, &r->k->memory, &c, NULL)) {
    take_portfolio(r, &c, from->device_key);
  }
}

static int read_portfolio(reader *r) {
  const char *text, *key = r->from->device_key;
  arena scratch = {0};
  err why = {0};
  const int rc = db_portfolio_get(r->from->db, r->t->hash, key, &scratch, &text, &why);
  if (!rc) {
    take_text(r, text, key);
  }
  arena_clear(&scratch);
  return rc == ERR_NOMEM ? err_copy(r->e, rc, &why) : 0;
}

/* ---- presets: results as text (db_text.h), a line each ------------------------------------- */

static bool is_for(const reader *r, const db_line *l) {
  return !strcmp(l->template.family, r->t->name) && l->template.version == r->t->version &&
         l->device.cc == r->from->device->cc;
}

static bool is_present(reader *r, const char *hash) {
  if (strcmp(r->hash, hash) != 0) {
    snprintf(r->hash, sizeof r->hash, "%s", hash);
    r->is_present = gen_digest_is(r->t, hash);
  }
  return r->is_present;
}

/* For an edited template of the same version the configuration still counts, and is checked like
 * any other; the time does not. */
static int add_preset(reader *r, const char *line, const db_line *l) {
  const bool same = is_present(r, l->template.hash);
  if (l->kind == DB_KIND_PORTFOLIO) {
    take_text(r, l->config, l->device.key);
    return 0;
  }
  const known_source from = {.device_key = l->device.key,
                             .problem = l->problem,
                             .config = l->config,
                             .line = line,
                             .sms = l->device.sms,
                             .sec = same ? l->sec : 0,
                             .measured = same && l->kind != DB_KIND_MODEL,
                             .preset = true,
                             .former = strcmp(l->template.hash, r->t->hash) != 0};
  return add_row(r, &from);
}

/* A cheap test first: most lines are of other families. */
static bool has_name(const char *line, size_t n, const char *family) {
  return *line != '#' && memmem(line, n, family, strlen(family));
}

/* Only a portfolio's line is long: as long as a thousand results. */
static bool is_long(size_t n) {
  return n > 1 << 16;
}

static int read_preset(reader *r, const char *line, size_t n) {
  db_line l;
  bool none;
  int rc = 0;
  arena scratch = {0};
  if (!db_text_read(line, n, &scratch, &l, &none, NULL) && !none && is_for(r, &l) &&
      (!is_long(n) || l.kind == DB_KIND_PORTFOLIO)) {
    rc = add_preset(r, line, &l);
  }
  arena_clear(&scratch);
  return rc;
}

static int read_preset_file(reader *r, const gen_file *f, size_t *left) {
  for (const char *at = f->text, *end; *left && *at; at = *end ? end + 1 : end) {
    end = strchrnul(at, '\n');
    const size_t n = (size_t)(end - at), before = r->k->n;
    if (has_name(at, n, r->t->name)) {
      TRY(read_preset(r, at, n));
      *left -= r->k->n - before;
    }
  }
  return 0;
}

static int read_presets(reader *r) {
  size_t left = SERVE_KNOWN_MOST;
  while (r->n_added < GEN_MAX_FIELDS &&
         gen_field_added(r->t->name, r->n_added, &r->added[r->n_added])) {
    r->n_added++;
  }
  for (const gen_file *f = r->from->presets; f && f->name && left; f++) {
    TRY(read_preset_file(r, f, &left));
  }
  for (serve_portfolio_fn *const *f = r->from->portfolios; f && *f; f++) {
    take_embedded(r, (*f)());
  }
  return 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int add_known(reader *r, const db_known *d) {
  const bool measured = d->median > 0;
  const known_source from = {.device_key = d->device_key,
                             .problem = d->problem,
                             .config = d->config,
                             .image = d->image,
                             .sms = d->sms,
                             .sec = measured ? d->median : d->modelled,
                             .measured = measured};
  return add_row(r, &from);
}

static int read_database(reader *r) {
  const serve_sources *s = r->from;
  size_t n = 0;
  arena scratch = {0};
  db_known *list = ARENA_ARRAY(&scratch, db_known, SERVE_KNOWN_MOST);
  int rc = list ? db_known_list(s->db, r->t->hash, s->device_key, s->device->cc, SERVE_KNOWN_MOST,
                                &scratch, list, &n, r->e)
                : err_nomem(r->e);
  for (size_t i = 0; !rc && i < n; i++) {
    rc = add_known(r, &list[i]);
  }
  arena_clear(&scratch);
  return rc;
}

static void trim_rows(serve_known *k) {
  if (k->n && array_resize(&k->rows, k->n, sizeof *k->rows)) {
    k->most = k->n;
  }
}

static int read_all(reader *r) {
  if (r->from->db) {
    TRY(read_database(r));
    TRY(read_portfolio(r));
  }
  TRY(read_presets(r));
  trim_rows(r->k);
  r->k->read = true;
  return 0;
}

int serve_known_read(const serve_sources *s, gen_template *t, serve_known *k, err *e) {
  int64_t changes = 0;
  if (s->db) {
    TRY(db_changes(s->db, &changes, e));
  }
  if (k->read && k->changes == changes) {
    return 0;
  }
  feasibility_cache *cache = k->cache; /* the portfolio may be the same */
  k->cache = NULL;
  serve_known_clear(k);
  k->cache = cache;
  k->changes = changes;
  return read_all(&(reader){.from = s, .t = t, .k = k, .e = e});
}

void serve_known_clear(serve_known *k) {
  arena_clear(&k->memory);
  free(k->rows);
  feasibility_cache_free(k->cache);
  *k = (serve_known){0};
}
