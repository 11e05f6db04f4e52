#define _GNU_SOURCE
#include "serve_presets.h"

#include <string.h>

#include "context.h"
#include "db_text.h"

static bool is_for(const serve *s, const gen_template *t, const db_line *l) {
  return !strcmp(l->template.family, t->name) && l->template.version == t->version &&
         l->device.cc == s->device->info.cc;
}

/* An edited template of the same version takes the configuration, which is checked like any other;
 * the time was another text's. */
static int add(serve *s, gen_template *t, serve_known *k, const char *line, size_t n,
               const db_line *l, err *e) {
  const bool same = !strcmp(l->template.hash, t->hash);
  if (l->kind == DB_KIND_PORTFOLIO) {
    serve_known_cover(s, t, k, l->config, l->device.key);
    return 0;
  }
  const serve_known_source from = {.device_key = l->device.key,
                                   .problem = l->problem,
                                   .config = l->config,
                                   .line = line,
                                   .n_line = n,
                                   .sms = l->device.sms,
                                   .sec = same ? l->sec : 0,
                                   .measured = same && l->kind != DB_KIND_MODEL,
                                   .preset = true};
  return serve_known_add(s, t, k, &from, e);
}

/* The cheap question first: most lines are about other families. */
static bool mentions(const char *line, size_t n, const char *family) {
  return *line != '#' && memmem(line, n, family, strlen(family));
}

/* A portfolio's text is as long as a thousand results; no other line has a reason to be. */
static bool is_long(size_t n) {
  return n > 1 << 16;
}

static int read_line(serve *s, gen_template *t, serve_known *k, const char *line, size_t n,
                     err *e) {
  db_line l;
  bool none;
  int rc = 0;
  arena scratch = {0};
  if (!db_text_read(line, n, &scratch, &l, &none, NULL) && !none && is_for(s, t, &l) &&
      (!is_long(n) || l.kind == DB_KIND_PORTFOLIO)) {
    rc = add(s, t, k, line, n, &l, e);
  }
  arena_clear(&scratch);
  return rc;
}

static int read_file(serve *s, gen_template *t, serve_known *k, const gen_file *f, size_t *left,
                     err *e) {
  for (const char *at = f->text, *end; *left && *at; at = *end ? end + 1 : end) {
    end = strchrnul(at, '\n');
    const size_t n = (size_t)(end - at), before = k->n;
    if (mentions(at, n, t->name)) {
      TRY(read_line(s, t, k, at, n, e));
      *left -= k->n - before;
    }
  }
  return 0;
}

int serve_presets_read(serve *s, gen_template *t, serve_known *k, err *e) {
  size_t left = SERVE_KNOWN_MOST;
  for (const gen_file *f = s->presets; f->name && left; f++) {
    TRY(read_file(s, t, k, f, &left, e));
  }
  return 0;
}
