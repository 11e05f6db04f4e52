/* cmd_db.c -- autotune db: exchange results as text, and maintain the database.
 *
 *   export, import   the best result of every problem, one line each (db_text.h)
 *   merge            everything in another database
 *   prune            delete images that are unlikely to be used
 *   stat, verify     size, and integrity */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "db_text.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "open_device.h"
#include "verbs.h"

/* ---- export ---------------------------------------------------------------------------------- */

typedef struct lines { /* what is to be written */
  arena memory;
  db_line *rows;
  size_t n;
} lines;

static bool has_word(const cli *c, size_t from, const char *word) {
  for (size_t i = from; i < c->n_words; i++) {
    if (!strcmp(c->words[i], word)) {
      return true;
    }
  }
  return c->n_words <= from; /* none named: all */
}

/* The database's key of --device; empty without one. */
static int device_key(const cli *c, str *key, err *e) {
  rt_device *d;
  if (c->device) {
    TRY(rt_device_open(c->device, &d, e));
    rt_device_key(&d->info, key);
    d->ops->close(d);
  }
  return 0;
}

static int read_lines(const cli *c, lines *l, err *e) {
  db *d;
  str key = {0};
  int rc = device_key(c, &key, e);
  rc = rc ? rc : cli_open_db(c, DB_READ, &d, e);
  if (!rc) {
    rc = db_lines(d, NULL, c->device ? str_text(&key) : NULL, &l->memory, &l->rows, &l->n, e);
    db_close(d);
  }
  str_clear(&key);
  return rc;
}

static int write_text(const char *path, str *text, err *e) {
  if (path) {
    return print_file(path, text, e);
  }
  const int rc = text->failed ? err_set(e, ERR_NOMEM, "out of memory") : 0;
  print_str(text);
  return rc;
}

/* A family without results gives an empty file; an unknown name is an error. */
static int check_families(const cli *c, lines *l, err *e) {
  gen_options options = {0};
  gen_template *t;
  TRY(cli_template_options(c, &l->memory, &options, e));
  for (size_t i = 2; i < c->n_words; i++) {
    bool known = false;
    for (size_t j = 0; !known && j < l->n; j++) {
      known = !strcmp(c->words[i], l->rows[j].template.family);
    }
    if (!known) {
      TRY(gen_open(&options, c->words[i], &t, e));
      gen_close(t);
    }
  }
  return 0;
}

static int export_file(const cli *c, lines *l, err *e) {
  TRY(check_families(c, l, e));
  str text = {0};
  size_t n = 0;
  db_text_head(&text);
  for (size_t i = 0; i < l->n; i++) {
    if (has_word(c, 2, l->rows[i].template.family)) {
      db_text_write(&l->rows[i], &text);
      n++;
    }
  }
  db_text_end(&text);
  const char *path = c->n_words > 1 ? c->words[1] : NULL;
  TRY(write_text(path, &text, e));
  if (path && !c->quiet) {
    fprintf(stderr, "autotune: %zu results in %s\n", n, path);
  }
  return 0;
}

/* ---- presets --------------------------------------------------------------------------------- */

typedef struct current { /* the current hash of a family's template */
  gen_options options;
  const char *family; /* of the line looked at last */
  char hash[HASH_TEXT];
} current;

static bool is_current(current *now, const db_line *l) {
  gen_template *t;
  if (!now->family || strcmp(now->family, l->template.family)) {
    now->family = l->template.family;
    now->hash[0] = 0;
    if (!gen_open(&now->options, now->family, &t, NULL)) {
      memcpy(now->hash, t->hash, sizeof now->hash);
      gen_close(t);
    }
  }
  return !strcmp(now->hash, l->template.hash);
}

/* Modelled results are not shipped, unless --device names that device. */
static bool is_preset(const cli *c, current *now, const db_line *l) {
  const bool modelled = l->kind == DB_KIND_MODEL || rt_key_is_modelled(l->device.key);
  return (c->device || !modelled) && has_word(c, 1, l->template.family) && is_current(now, l);
}

/* "NVIDIA H200" becomes nvidia-h200.txt, and nvidia-h200.portfolio.txt for the portfolios, whose
 * text is as long as a thousand results. */
static const char *preset_path(const char *folder, const char *name, bool portfolios, arena *a) {
  char *path = arena_format(a, "%s/%s", folder, name);
  for (char *p = path ? path + strlen(folder) + 1 : NULL; p && *p; p++) {
    *p = isalnum((unsigned char)*p) ? (char)tolower((unsigned char)*p) : '-';
  }
  return path ? arena_format(a, "%s%s.txt", path, portfolios ? ".portfolio" : "") : NULL;
}

static int export_preset(const cli *c, lines *l, const char *name, bool portfolios,
                         const bool *chosen, err *e) {
  str text = {0};
  size_t n = 0;
  const char *path = preset_path(c->presets, name, portfolios, &l->memory);
  if (!path) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  db_text_head(&text);
  for (size_t i = 0; i < l->n; i++) {
    const db_line *row = &l->rows[i];
    if (chosen[i] && !strcmp(row->device.name, name) &&
        (row->kind == DB_KIND_PORTFOLIO) == portfolios) {
      db_text_write(row, &text);
      n++;
    }
  }
  db_text_end(&text);
  if (!n) {
    str_clear(&text);
    return 0;
  }
  TRY(file_make_parents(path, e));
  TRY(write_text(path, &text, e));
  printf("%zu %s in %s\n", n, portfolios ? "portfolios" : "results", path);
  return 0;
}

static int export_device(const cli *c, lines *l, const char *name, const bool *chosen, err *e) {
  TRY(export_preset(c, l, name, false, chosen, e));
  return export_preset(c, l, name, true, chosen, e);
}

static bool is_first_of_device(const lines *l, const bool *chosen, size_t i) {
  for (size_t j = 0; j < i; j++) {
    if (chosen[j] && !strcmp(l->rows[j].device.name, l->rows[i].device.name)) {
      return false;
    }
  }
  return chosen[i];
}

/* autotune db export --presets DIR [FAMILY ...] */
static int export_presets(const cli *c, lines *l, err *e) {
  current now = {0};
  size_t n = 0;
  bool *chosen = ARENA_ARRAY(&l->memory, bool, l->n + 1);
  if (!chosen) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  TRY(cli_template_options(c, &l->memory, &now.options, e));
  for (size_t i = 0; i < l->n; i++) {
    chosen[i] = is_preset(c, &now, &l->rows[i]);
    n += chosen[i];
  }
  for (size_t i = 0; i < l->n; i++) {
    if (is_first_of_device(l, chosen, i)) {
      TRY(export_device(c, l, l->rows[i].device.name, chosen, e));
    }
  }
  return n ? 0
           : err_set(e, ERR_NOTFOUND,
                     "no measured result of a current template is in the database; tune something");
}

static int db_export(const cli *c, err *e) {
  lines l = {0};
  int rc = read_lines(c, &l, e);
  if (!rc) {
    rc = c->presets ? export_presets(c, &l, e) : export_file(c, &l, e);
  }
  arena_clear(&l.memory);
  return rc;
}

/* ---- import ---------------------------------------------------------------------------------- */

typedef struct import {
  db *d;
  gen_options options;
  gen_template *t; /* of the family looked at last; NULL: there is none */
  str family;
  const char *path;
  size_t n, n_stored, n_bad; /* results; new ones; malformed lines */
  err first;                 /* the error of the first malformed line */
  char place[200];
  bool closed; /* the file's end is there */
} import;

static void note_bad(import *in, size_t number, const err *why) {
  if (!in->n_bad++) {
    in->first = *why;
    snprintf(in->place, sizeof in->place, "%.180s:%zu", in->path, number);
  }
}

static void look_up_template(import *in, const char *family) {
  if (strcmp(str_text(&in->family), family)) {
    gen_close(in->t);
    in->t = NULL;
    str_reset(&in->family);
    str_add(&in->family, family);
    gen_open(&in->options, family, &in->t, NULL);
  }
}

/* A line may be written by hand, with fields left out or reordered; problems are stored in
 * canonical text, which only the same version of the template can produce. */
static int make_canonical(import *in, db_line *l, arena *a, err *e) {
  gen_problem p;
  gen_config c;
  str problem = {0}, config = {0};
  look_up_template(in, l->template.family);
  if (!in->t || !gen_digest_is(in->t, l->template.hash)) {
    return 0;
  }
  if (!(l->template.hash = arena_text(a, in->t->hash))) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  if (l->kind == DB_KIND_PORTFOLIO) {
    return 0;
  }
  TRY(gen_problem_parse(in->t, l->problem, &p, e));
  TRY(gen_config_parse(in->t, l->config, &c, e));
  gen_problem_text(in->t, &p, &problem);
  gen_config_text(in->t, &c, &config);
  l->problem = arena_text(a, str_text(&problem));
  l->config = arena_text(a, str_text(&config));
  const bool ok = !problem.failed && !config.failed && l->problem && l->config;
  str_clear(&problem);
  str_clear(&config);
  return ok ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

static int import_line(import *in, const char *line, size_t n, size_t number, err *e) {
  arena a = {0};
  db_line l;
  bool none, stored = false;
  err why = {0};
  int rc = db_text_read(line, n, &a, &l, &none, &why);
  rc = rc || none ? rc : make_canonical(in, &l, &a, &why);
  if (rc == ERR_USAGE) {
    note_bad(in, number, &why);
    rc = 0;
  } else if (rc) {
    rc = err_set(e, rc, "%s", why.message);
  } else if (!none) {
    rc = db_line_put(in->d, &l, &stored, e);
    in->n++;
    in->n_stored += stored;
  }
  arena_clear(&a);
  return rc;
}

static int check_head(const char *path, const str *text, err *e) {
  const size_t n = strlen(DB_TEXT_HEAD);
  if (text->n >= n && !memcmp(text->p, DB_TEXT_HEAD, n) && strchr("\r\n", text->p[n])) {
    return 0;
  }
  return err_at(e, ERR_USAGE, path,
                "does not start with \"" DB_TEXT_HEAD "\"; it is not a file of results, or one of "
                "another version of autotune");
}

/* Before anything is stored. */
static int check_end(import *in, const str *text, err *e) {
  err why = {0};
  size_t number;
  const int rc = db_text_check(text->p, text->n, &in->closed, &number, &why);
  char place[200];
  snprintf(place, sizeof place, "%.180s:%zu", in->path, number);
  return rc ? err_at(e, rc, place, "%s", why.message) : 0;
}

static int import_text(import *in, const str *text, err *e) {
  size_t number = 1;
  TRY(check_head(in->path, text, e));
  TRY(check_end(in, text, e));
  for (const char *at = text->p, *end = at + text->n; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    TRY(import_line(in, at, (size_t)(stop - at), number, e));
    at = stop + 1;
  }
  return 0;
}

enum { FILE_MOST = 256 << 20 };

static int import_file(const cli *c, db *d, const char *path, err *e) {
import in = {.d = d, .path = path };
  arena a = {0};
  str text = {0};
  int rc = cli_template_options(c, &a, &in.options, e);
  rc = rc ? rc : file_read(path, FILE_MOST, &text, e);
  rc = rc ? rc : import_text(&in, &text, e);
  gen_close(in.t);
  str_clear(&in.family);
  str_clear(&text);
  arena_clear(&a);
  TRY(rc);
  if (!c->quiet) {
    printf("%s: %zu results, %zu of them new or better\n", path, in.n, in.n_stored);
  }
  if (!c->quiet && !in.closed && !in.n_bad) {
    fprintf(stderr,
            "autotune: %s does not end with a line \"" DB_TEXT_END
            "...\": unless an older autotune wrote it or it was edited by hand, it is truncated\n",
            path);
  }
  return in.n_bad ? err_at(e, ERR_USAGE, in.place, "%s; %zu line%s left out, the others are stored",
                           in.first.message, in.n_bad, in.n_bad == 1 ? " was" : "s were")
                  : 0;
}

/* ---- from several files ---------------------------------------------------------------------- */

typedef int take_file(const cli *c, db *d, const char *path, err *e);

static int merge_file(const cli *c, db *d, const char *path, err *e) {
  TRY(db_merge(d, path, e));
  if (!c->quiet) {
    printf("%s is merged into %s\n", path, db_path(d));
  }
  return 0;
}

static int take_files(const cli *c, take_file *take, err *e) {
  db *d;
  if (c->n_words < 2) {
    return err_set(e, ERR_USAGE, "name a file: autotune db %s FILE", c->words[0]);
  }
  TRY(cli_open_db(c, DB_WRITE, &d, e));
  int rc = 0;
  for (size_t i = 1; !rc && i < c->n_words; i++) {
    rc = take(c, d, c->words[i], e);
  }
  db_close(d);
  return rc;
}

static int db_import(const cli *c, err *e) {
  return take_files(c, import_file, e);
}

static int db_merge_files(const cli *c, err *e) {
  return take_files(c, merge_file, e);
}

/* ---- care ------------------------------------------------------------------------------------ */

static int prune(const cli *c, err *e) {
  db *d;
  int64_t keep, n = 0;
  db_stats before = {0}, after = {0};
  TRY(cli_number("top", c->top, 1, 1000000, 3, &keep, e));
  TRY(cli_open_db(c, DB_READ, &d, e)); /* does not create a missing database */
  db_close(d);
  TRY(cli_open_db(c, DB_WRITE, &d, e));
  int rc = db_stat(d, &before, e);
  rc = rc ? rc : db_prune(d, (int)keep, &n, e);
  rc = rc ? rc : db_stat(d, &after, e);
  if (!rc) {
    printf("%lld images deleted, %lld KB before, %lld KB now\n", (long long)n,
           (long long)before.nbytes / 1024, (long long)after.nbytes / 1024);
  }
  db_close(d);
  return rc;
}

static void add_stats(const char *path, const db_stats *s, str *out) {
  str_addf(out, "%s: %lld KB, schema %d\n", path, (long long)s->nbytes / 1024, s->schema);
  for (int i = 0; i < DB_TABLES; i++) {
    str_addf(out, "  %-12s %9lld\n", s->tables[i].table, (long long)s->tables[i].rows);
  }
}

static void add_stats_json(const char *path, const db_stats *s, str *out) {
  jw_open(out, NULL);
  jw_text(out, "file", path);
  jw_integer(out, "nbytes", s->nbytes);
  jw_integer(out, "schema", s->schema);
  for (int i = 0; i < DB_TABLES; i++) {
    jw_integer(out, s->tables[i].table, s->tables[i].rows);
  }
  jw_end_line(out);
}

static int stat_db(const cli *c, err *e) {
  db *d;
  db_stats s;
  str out = {0};
  TRY(cli_open_db(c, DB_READ, &d, e));
  const int rc = db_stat(d, &s, e);
  if (!rc) {
    (c->json ? add_stats_json : add_stats)(db_path(d), &s, &out);
  }
  print_str(&out);
  db_close(d);
  return rc;
}

static int verify(const cli *c, err *e) {
  db *d;
  TRY(cli_open_db(c, DB_READ, &d, e));
  const int rc = db_verify(d, e);
  if (!rc && !c->quiet) {
    printf("%s is sound\n", db_path(d));
  }
  db_close(d);
  return rc;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  int (*run)(const cli *c, err *e);
  size_t most; /* words after it */
} actions[] = {
    {"export", db_export, SIZE_MAX},
    {"import", db_import, SIZE_MAX},
    {"merge", db_merge_files, SIZE_MAX},
    {"prune", prune, 0},
    {"stat", stat_db, 0},
    {"verify", verify, 0},
};

int cmd_db(const cli *c, err *e) {
  const char *word = c->n_words ? c->words[0] : "";
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
    if (!strcmp(actions[i].name, word)) {
      return c->n_words - 1 <= actions[i].most
                 ? actions[i].run(c, e)
                 : err_set(e, ERR_USAGE, "autotune db %s takes no word \"%s\"", word, c->words[1]);
    }
  }
  return err_set(e, ERR_USAGE,
                 "name an action: autotune db export, import, merge, prune, stat "
                 "or verify");
}
