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

/* The next line of a family, of any for NULL, and moves on to the one behind it. */
static bool next_line(const char **at, const char *family, line *l) {
  const size_t n_family = family ? strlen(family) : 0;
  while (**at) {
    const char *p = *at, *end = strchrnul(p, '\n');
    int n = 0;
    *at = *end ? end + 1 : end;
    if (*p != '#' && *p != '\n' &&
        (!family || (!strncmp(p, family, n_family) && p[n_family] == ' ')) &&
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
  if (!strstr(at, digest)) { /* quicker than to read every line */
    return false;
  }
  for (line l; next_line(&at, NULL, &l);) {
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
  for (line l; next_line(&at, NULL, &l);) {
    *n += is_changed(&l);
  }
  *list = ARENA_ARRAY(a, gen_former, *n + 1);
  at = table();
  gen_former *x = *list;
  for (line l; x && next_line(&at, NULL, &l);) {
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

/* ---- rules ---------------------------------------------------------------------------------- */

typedef struct rule { /* "NAME>NEW", "NAME=VALUE>NEW", "+NAME=VALUE" */
  char text[4 * GEN_MAX_NAME];
} rule;

/* The next one of a line, and moves on to the one behind it. */
static bool next_rule(const char **at, const line *l, rule *r) {
  const char *end = l->renamed + l->n;
  *at += strspn(*at, " ");
  const size_t n = *at < end ? strcspn(*at, " \n") : 0;
  snprintf(r->text, sizeof r->text, "%.*s", (int)n, *at);
  *at += n;
  return n;
}

/* Up to n bytes; below 0: all. */
static void set(char *to, const char *from, int n) {
  snprintf(to, GEN_MAX_NAME, "%.*s", n, from);
}

/* "NAME=VALUE" */
static void read_setting(const char *text, gen_setting *s) {
  const size_t n = strcspn(text, "=");
  set(s->name, text, (int)n);
  set(s->value, text[n] ? text + n + 1 : "", -1);
}

/* Is it the text up to `>`? */
static bool is_from(const char *text, const char *name, const char *value) {
  const size_t n = strlen(name);
  if (strncmp(text, name, n) != 0) {
    return false;
  }
  text += n;
  if (!value) {
    return *text == '>';
  }
  const size_t n_value = strlen(value);
  return *text == '=' && !strncmp(text + 1, value, n_value) && text[1 + n_value] == '>';
}

static bool apply(const rule *r, gen_setting *s) {
  const char *to = strchr(r->text, '>');
  if (!to) {
    return false;
  }
  to++;
  if (is_from(r->text, s->name, NULL)) {
    set(s->name, to, -1);
  } else if (!is_from(r->text, s->name, s->value)) {
    return false;
  } else if (strchr(to, '=')) {
    read_setting(to, s);
  } else {
    set(s->value, to, -1);
  }
  return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool update_setting(const char *lines, const char *family, gen_setting *s) {
  rule r;
  for (line l; next_line(&lines, family, &l);) {
    for (const char *at = l.renamed; next_rule(&at, &l, &r);) {
      if (apply(&r, s)) {
        return true;
      }
    }
  }
  return false;
}

bool gen_setting_update(const char *family, gen_setting *s) {
  return update_setting(table(), family, s);
}

static bool find_added(const char *lines, const char *family, size_t i, gen_setting *s) {
  rule r;
  for (line l; next_line(&lines, family, &l);) {
    for (const char *at = l.renamed; next_rule(&at, &l, &r);) {
      if (*r.text == '+' && !i--) {
        read_setting(r.text + 1, s);
        return true;
      }
    }
  }
  return false;
}

bool gen_field_added(const char *family, size_t i, gen_setting *s) {
  return find_added(table(), family, i, s);
}

/* ---- problems ------------------------------------------------------------------------------- */

static bool has_field(const char *problem, const char *name) {
  char word[GEN_MAX_NAME + 2];
  snprintf(word, sizeof word, " %s=", name);
  return strstr(problem, word);
}

static void update_word(const char *lines, const char *family, const char *word, size_t n,
                        str *out) {
  enum { STEPS_MOST = 16 };
  char text[2 * GEN_MAX_NAME];
  gen_setting s;
  if (n >= sizeof text || !memchr(word, '=', n)) { /* the family's name */
    str_add_n(out, word, n);
    return;
  }
  snprintf(text, sizeof text, "%.*s", (int)n, word);
  read_setting(text, &s);
  for (int i = 0; i < STEPS_MOST && update_setting(lines, family, &s); i++) {
  }
  if (*s.name) {
    str_addf(out, " %s=%s", s.name, s.value);
  }
}

void gen_problem_update_by(const char *lines, const char *family, const char *problem, str *out) {
  auto_str text = {0};
  gen_setting s;
  for (size_t n; *(problem += strspn(problem, " ")); problem += n) {
    n = strcspn(problem, " ");
    update_word(lines, family, problem, n, &text);
  }
  for (size_t i = 0; find_added(lines, family, i, &s); i++) {
    if (!has_field(str_text(&text), s.name)) {
      str_addf(&text, " %s=%s", s.name, s.value);
    }
  }
  str_add(out, str_text(&text));
  out->failed |= text.failed;
}

void gen_problem_update(const char *family, const char *problem, str *out) {
  gen_problem_update_by(table(), family, problem, out);
}
