#define _GNU_SOURCE
#include "gen_former.h"

#include <stdio.h>
#include <string.h>

typedef struct line { /* of the table */
  char family[GEN_MAX_NAME], former[HASH_TEXT], present[HASH_TEXT];
  const char *renamed; /* to the end of the line */
  size_t n;
} line;

static const char *table(void) {
  for (const gen_file *f = gen_builtin; f->name; f++) {
    if (!strcmp(f->name, "digests.txt")) {
      return f->text;
    }
  }
  return "";
}

/* The next line that is no comment, and moves on to the one behind it. */
static bool next_line(const char **at, line *l) {
  while (**at) {
    const char *p = *at, *end = strchrnul(p, '\n');
    int n = 0;
    *at = *end ? end + 1 : end;
    if (*p != '#' && *p != '\n' &&
        sscanf(p, "%63s %32s %32s%n", l->family, l->former, l->present, &n) == 3) {
      l->renamed = p + n;
      l->n = (size_t)(end - l->renamed);
      return true;
    }
  }
  return false;
}

/* ---- digests -------------------------------------------------------------------------------- */

bool gen_digest_is(const gen_template *t, const char *digest) {
  const char *at = table();
  if (!strcmp(digest, t->hash)) {
    return true;
  }
  for (line l; next_line(&at, &l);) {
    if (!strcmp(l.former, digest) && !strcmp(l.present, t->hash)) {
      return true;
    }
  }
  return false;
}

static bool is_changed(const line *l) {
  return strcmp(l->former, l->present) != 0;
}

int gen_former_list(arena *a, gen_former **list, size_t *n, err *e) {
  const char *at = table();
  *n = 0;
  for (line l; next_line(&at, &l);) {
    *n += is_changed(&l);
  }
  *list = ARENA_ARRAY(a, gen_former, *n + 1);
  at = table();
  gen_former *x = *list;
  for (line l; x && next_line(&at, &l);) {
    if (!is_changed(&l)) {
      continue;
    }
    x->family = arena_text(a, l.family);
    x->digest = arena_text(a, l.former);
    x->present = arena_text(a, l.present);
    if (!x->family || !x->digest || !x->present) {
      return err_nomem(e);
    }
    x++;
  }
  return *list ? 0 : err_nomem(e);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* "NAME>NEW", "NAME=VALUE>NEW" */
static bool apply(const char *rule, gen_setting *s) {
  char from[2 * GEN_MAX_NAME], setting[2 * GEN_MAX_NAME];
  const size_t n = strcspn(rule, ">");
  snprintf(from, sizeof from, "%.*s", (int)n, rule);
  snprintf(setting, sizeof setting, "%s=%s", s->name, s->value);
  char *to = !strcmp(from, s->name) ? s->name : !strcmp(from, setting) ? s->value : NULL;
  if (to) {
    snprintf(to, GEN_MAX_NAME, "%s", rule + n + 1);
  }
  return to;
}

static bool apply_line(const line *l, gen_setting *s) {
  char rule[3 * GEN_MAX_NAME];
  const char *p = l->renamed, *end = p + l->n;
  while (p < end) {
    p += strspn(p, " ");
    const size_t n = strcspn(p, " \n");
    snprintf(rule, sizeof rule, "%.*s", (int)n, p);
    if (strchr(rule, '>') && apply(rule, s)) {
      return true;
    }
    p += n ? n : 1;
  }
  return false;
}

bool gen_setting_update(const char *family, gen_setting *s) {
  const char *at = table();
  for (line l; next_line(&at, &l);) {
    if (!strcmp(l.family, family) && apply_line(&l, s)) {
      return true;
    }
  }
  return false;
}
