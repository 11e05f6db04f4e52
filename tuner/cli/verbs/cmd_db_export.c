/* cmd_db_export.c -- autotune db export: the best result of every problem as text (db_text.h). */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>

#include "verbs.h"
#include "db_text.h"
#include "file.h"
#include "open_device.h"
#include "json_writer.h"
#include "print.h"

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
  auto_db *d = NULL;
  auto_str key = {0};
  TRY(device_key(c, &key, e));
  TRY(cli_open_db(c, DB_READ, &d, e));
  return db_lines(d, NULL, c->device ? str_text(&key) : NULL, &l->memory, &l->rows, &l->n, e);
}

static void tell(const char *what, size_t n, const char *path) {
  str s = {0};
  jw_event(&s, "export_lines");
  jw_text(&s, "what", what);
  jw_integer(&s, "lines", (int64_t)n);
  jw_text(&s, "file", path);
  jw_end_line(&s);
  print_str(&s);
}

/* To standard output, as JSON the text of the whole file. */
static int write_text(const cli *c, const char *path, str *text, err *e) {
  if (path) {
    return print_file(path, text, e);
  }
  if (c->json) {
    str s = {0};
    jw_event(&s, "lines");
    jw_text(&s, "text", str_text(text));
    jw_end_line(&s);
    str_clear(text);
    *text = s;
  }
  const int rc = text->failed ? err_nomem(e) : 0;
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
  TRY(write_text(c, path, &text, e));
  if (path && c->json) {
    tell("results", n, path);
  } else if (path && !c->quiet) {
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
  auto_str text = {0};
  size_t n = 0;
  const char *path = preset_path(c->presets, name, portfolios, &l->memory);
  TRY(path ? 0 : err_nomem(e));
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
    return 0;
  }
  TRY(file_make_parents(path, e));
  TRY(write_text(c, path, &text, e));
  const char *what = portfolios ? "portfolios" : "results";
  if (c->json) {
    tell(what, n, path);
  } else if (!c->quiet) {
    printf("%zu %s in %s\n", n, what, path);
  }
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
  TRY(chosen ? 0 : err_nomem(e));
  TRY(cli_template_options(c, &l->memory, &now.options, e));
  now.options.names_only = true;
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

int cmd_db_export(const cli *c, err *e) {
  lines l = {0};
  int rc = read_lines(c, &l, e);
  if (!rc) {
    rc = c->presets ? export_presets(c, &l, e) : export_file(c, &l, e);
  }
  arena_clear(&l.memory);
  return rc;
}
