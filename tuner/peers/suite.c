#define _GNU_SOURCE
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "tuner_files.h"

enum { FILE_MOST = 16 << 20, WORDS_MOST = 64 };

/* ---- one line -------------------------------------------------------------------------------- */

/* Room for one more; the arrays are full at every power of two. */
static bool reserve(arena *a, suite *s) {
  if (s->n & (s->n - 1)) {
    return true;
  }
  const char **texts = ARENA_ARRAY(a, const char *, 2 * s->n + 1);
  gen_problem *p = ARENA_ARRAY(a, gen_problem, 2 * s->n + 1);
  if (s->n && texts && p) {
    memcpy(texts, s->texts, s->n * sizeof *texts);
    memcpy(p, s->p, s->n * sizeof *p);
  }
  s->texts = texts;
  s->p = p;
  return texts && p;
}

static int add_problem(gen_template *t, const char *text, arena *a, suite *s, err *e) {
  if (s->n == SUITE_MOST) {
    return err_set(e, ERR_USAGE, "a list of more than %d problems", SUITE_MOST);
  }
  const char *copy = reserve(a, s) ? arena_text(a, text) : NULL;
  TRY(copy ? gen_problem_parse(t, text, &s->p[s->n], e) : err_nomem(e));
  s->texts[s->n++] = copy;
  return 0;
}

/* "m=n=k=64": all names before the last = share the value. */
static void add_fields(const char *word, size_t n_names, const str *value, str *out) {
  for (const char *p = word; p < word + n_names;) {
    size_t n = strcspn(p, "=");
    str_addf(out, "%s%.*s=%s", out->n ? " " : "", (int)n, p, str_text(value));
    p += n + 1;
  }
}

typedef struct values { /* of a word, one after the other */
  const char *word;     /* for messages: "m=n=8,16" */
  const char *p, *end;  /* what is left of the list */
  bool inside;          /* a range has more: */
  int64_t next, last, step;
  bool times;
} values;

/* "8,16", "{8,16}" */
static int values_open(const char *word, values *v, err *e) {
  const char *last = strrchr(word, '=');
  if (!last) {
    return err_set(e, ERR_USAGE,
                   "'%s' is not FIELD=VALUE, FIELD=VALUE,VALUE or FIELD=FIRST..LAST*2", word);
  }
  *v = (values){.word = word, .p = last + 1, .end = word + strlen(word)};
  const bool braces = *v->p == '{';
  if (braces && v->end[-1] != '}') {
    return err_set(e, ERR_USAGE, "the list of '%s' has no closing }, or spaces inside", word);
  }
  v->p += braces;
  v->end -= braces;
  return v->p < v->end ? 0 : err_set(e, ERR_USAGE, "'%s' has no value", word);
}

/* "64..1024*2", "1000..1300+100" */
static int open_range(values *v, const char *text, err *e) {
  char copy[128], *to, *by;
  int64_t first;
  snprintf(copy, sizeof copy, "%s", text);
  to = strstr(copy, "..");
  if (!to) { /* only in what does not fit */
    return err_set(e, ERR_USAGE, "a number of '%.40s...' is too long", v->word);
  }
  *to = 0;
  to += 2;
  by = strpbrk(to, "*+");
  v->times = by && *by == '*';
  if (by) {
    *by++ = 0;
  }
  if (!text_integer(copy, &first) || !text_integer(to, &v->last) || !by ||
      !text_integer(by, &v->step) || v->step < (v->times ? 2 : 1) || first < (v->times ? 1 : 0) ||
      v->last < first) {
    return err_set(e, ERR_USAGE,
                   "'%s': a range is FIRST..LAST*FACTOR or FIRST..LAST+STEP, such as 64..1024*2",
                   v->word);
  }
  v->next = first;
  v->inside = true;
  return 0;
}

static void take_of_range(values *v, str *out) {
  str_addf(out, "%lld", (long long)v->next);
  v->inside = v->times ? v->next <= v->last / v->step : v->next <= v->last - v->step;
  v->next = v->times ? (v->inside ? v->next * v->step : 0) : v->next + (v->inside ? v->step : 0);
}

/* The next word; *out is empty at the end. */
static int values_next(values *v, str *out, err *e) {
  str_reset(out);
  if (!v->inside && v->p < v->end) {
    const size_t all = (size_t)(v->end - v->p), comma = strcspn(v->p, ",");
    const size_t n = comma < all ? comma : all;
    str_add_n(out, v->p, n);
    v->p += n + 1;
    if (!n || (v->p == v->end && v->p[-1] == ',')) {
      return err_set(e, ERR_USAGE, "'%s' has an empty value", v->word);
    }
    if (!strstr(str_text(out), "..")) {
      return 0;
    }
    TRY(open_range(v, str_text(out), e));
    str_reset(out);
  }
  if (v->inside) {
    take_of_range(v, out);
  }
  return 0;
}

static int expand(gen_template *t, char *const *words, size_t n, const char *chosen, arena *a,
                  suite *s, err *e);

static int expand_with(gen_template *t, char *const *words, size_t n, const char *chosen,
                       const str *value, arena *a, suite *s, err *e) {
  auto_str more = {0};
  str_add(&more, chosen);
  add_fields(words[0], (size_t)(strrchr(words[0], '=') - words[0]), value, &more);
  return more.failed ? err_nomem(e) : expand(t, words + 1, n - 1, str_text(&more), a, s, e);
}

/* Expand the remaining words, after the values chosen for those before. */
static int expand(gen_template *t, char *const *words, size_t n, const char *chosen, arena *a,
                  suite *s, err *e) {
  values v;
  auto_str value = {0};
  if (!n) {
    return add_problem(t, chosen, a, s, e);
  }
  TRY(values_open(words[0], &v, e));
  TRY(values_next(&v, &value, e));
  while (value.n) {
    TRY(expand_with(t, words, n, chosen, &value, a, s, e));
    TRY(values_next(&v, &value, e));
  }
  return value.failed ? err_nomem(e) : 0;
}

int suite_expand(gen_template *t, const char *common, const char *line, arena *a, suite *out,
                 err *e) {
  char *words[WORDS_MOST], *rest = NULL, *copy = arena_text(a, line);
  size_t n = 0;
  TRY(copy ? 0 : err_nomem(e));
  for (char *p = strtok_r(copy, " \t\r", &rest); p; p = strtok_r(NULL, " \t\r", &rest)) {
    if (n == WORDS_MOST) {
      return err_set(e, ERR_LIMIT, "a problem of more than %d words", WORDS_MOST);
    }
    if (n || strcmp(p, t->name)) { /* the family name may come first */
      words[n++] = p;
    }
  }
  return expand(t, words, n, common, a, out, e);
}

int suite_of(gen_template *t, const char *const *texts, size_t n, arena *a, suite *out, err *e) {
  *out = (suite){0};
  for (size_t i = 0; i < n; i++) {
    TRY(add_problem(t, texts[i], a, out, e));
  }
  return 0;
}

/* ---- a file ---------------------------------------------------------------------------------- */

typedef struct reader {
  gen_template *t;
  const char *path, *wanted; /* name of a suite; NULL: the unnamed one, or all */
  const char *common;        /* fields of every problem */
  const char *ends;          /* what ends a line */
  arena *a;
  suite *out;
  bool found;
  const char *names[WORDS_MOST]; /* that there are */
  size_t n_names;
} reader;

static int read_name(reader *r, char *line, bool *inside, err *e) {
  char *end = strchr(line, ']');
  if (!end || end == line + 1) {
    return err_set(e, ERR_TEMPLATE, "a suite begins with [NAME]");
  }
  *end = 0;
  *inside = !r->wanted || !strcmp(line + 1, r->wanted);
  r->found |= *inside;
  if (r->n_names < WORDS_MOST) {
    r->names[r->n_names++] = line + 1;
  }
  return 0;
}

static int read_line(reader *r, char *line, bool *inside, err *e) {
  line[strcspn(line, "#")] = 0;
  line += strspn(line, " \t\r");
  if (*line == '[') {
    return read_name(r, line, inside, e);
  }
  return *line && *inside ? suite_expand(r->t, r->common, line, r->a, r->out, e) : 0;
}

static int read_text(reader *r, const char *text, err *e) {
  char *copy = arena_text(r->a, text);
  bool inside = !r->wanted;
  int number = 0;
  for (char *line = copy, *next; line; line = next) {
    err why = {0};
    char place[200];
    next = strpbrk(line, r->ends);
    if (next) {
      *next++ = 0;
    }
    number++;
    int rc = read_line(r, line, &inside, &why);
    if (rc) {
      snprintf(place, sizeof place, "%s:%d", r->path, number);
      return err_at(e, rc, place, "%s", why.message);
    }
  }
  return copy ? 0 : err_nomem(e);
}

static int unknown(const reader *r, err *e) {
  char what[100];
  snprintf(what, sizeof what, "%.80s has no suite", r->t->name);
  return r->n_names ? err_unknown(e, what, r->wanted, r->names, r->n_names)
                    : err_set(e, ERR_USAGE, "%s; --suite also takes a file of problems", what);
}

/* ---- where it is ----------------------------------------------------------------------------- */

/* The file beside the template, if there is one; else the built-in one. */
static int family_text(const gen_template *t, str *text, str *path, err *e) {
  size_t n = strlen(t->path);
  str_addf(path, "%.*s.txt", (int)(n > 4 ? n - 4 : n), t->path);
  int rc = file_read(str_text(path), FILE_MOST, text, e);
  if (rc != ERR_NOTFOUND) {
    return rc;
  }
  err_clear(e);
  static const char folder[] = "tuner/peers/suites/";
  str_reset(path);
  str_addf(path, "%s%s.txt", folder, t->name);
  const gen_file *builtin = tuner_file(str_text(path) + strlen(folder));
  str_add(text, builtin ? builtin->text : "");
  return 0;
}

int suite_open(gen_template *t, const char *name, arena *a, suite *out, err *e) {
  auto_str text = {0}, path = {0};
  bool is_file = text_is_path(name);
  *out = (suite){0};
  if (is_file) {
    str_add(&path, name);
  }
  int rc = is_file ? file_read(name, FILE_MOST, &text, e) : family_text(t, &text, &path, e);
  reader r = {.t = t,
              .path = str_text(&path),
              .wanted = is_file ? NULL : name,
              .common = "",
              .ends = "\n",
              .a = a,
              .out = out};
  rc = rc ? rc : read_text(&r, str_text(&text), e);
  if (rc == ERR_USAGE) {
    rc = e->code = ERR_TEMPLATE; /* what is wrong stands in a file */
  }
  if (!rc && r.wanted && !r.found) {
    rc = unknown(&r, e);
  } else if (!rc && !out->n) {
    rc = err_at(e, ERR_USAGE, r.path, "the suite has no problems");
  }
  return rc;
}

int suite_read(gen_template *t, const char *from, const char *common, arena *a, suite *out,
               err *e) {
  auto_str text = {0};
  const bool is_text = strpbrk(from, "=\n") != NULL;
  *out = (suite){0};
  if (is_text) {
    str_add(&text, from);
  } else {
    TRY(file_read(from, FILE_MOST, &text, e));
  }
  reader r = {.t = t,
              .path = is_text ? "--sizes" : from,
              .common = common,
              .ends = is_text ? ";\n" : "\n",
              .a = a,
              .out = out};
  TRY(read_text(&r, str_text(&text), e));
  return out->n ? 0 : err_set(e, ERR_USAGE, "%s names no problem", r.path);
}
