#define _GNU_SOURCE
#include "sizes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "serve_choose.h"

enum { FILE_MOST = 16 << 20, FIELDS_MOST = 64, VALUES_MOST = 4096 };

/* ---- one line ------------------------------------------------------------------------------- */

typedef struct reader {
  gen_template *t;
  const char *common;
  arena *a;
  sizes *out;
  str text; /* of one problem */
  err why;  /* of a line */
} reader;

typedef struct choice { /* a field and its values as written */
  const char *name;
  const char **values;
  size_t n;
} choice;

static int no_memory(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

static bool is_there(const reader *r, const gen_problem *p) {
  for (size_t i = 0; i < r->out->n; i++) {
    if (!memcmp(r->out->p[i].values, p->values, r->t->n_fields * sizeof *p->values)) {
      return true;
    }
  }
  return false;
}

static int add_problem(reader *r) {
  gen_problem p;
  memset(&p, 0, sizeof p);
  TRY(gen_problem_parse(r->t, str_text(&r->text), &p, &r->why));
  if (is_there(r, &p)) {
    return 0;
  }
  if (r->out->n == SIZES_MOST) {
    return err_set(&r->why, ERR_USAGE, "more than %d problems", SIZES_MOST);
  }
  r->out->p[r->out->n++] = p;
  return 0;
}

static int add_value(reader *r, choice *c, const char *value) {
  if (c->n == VALUES_MOST) {
    return err_set(&r->why, ERR_USAGE, "%s has more than %d values", c->name, VALUES_MOST);
  }
  c->values[c->n++] = value;
  return value ? 0 : no_memory(&r->why);
}

/* "64..1024*2", "1000..1300+100" */
static int add_range(reader *r, choice *c, char *from, char *dots) {
  char *to = dots + 2, *by = strpbrk(to, "*+");
  const bool times = by && *by == '*';
  int64_t first, last, step;
  *dots = 0;
  if (by) {
    *by++ = 0;
  }
  if (!text_integer(from, &first) || !text_integer(to, &last) || !by || !text_integer(by, &step) ||
      step < (times ? 2 : 1) || first < (times ? 1 : 0) || last < first) {
    return err_set(&r->why, ERR_USAGE,
                   "%s: a range is FIRST..LAST*FACTOR or FIRST..LAST+STEP, such as 64..1024*2",
                   c->name);
  }
  for (int64_t v = first; v <= last;) {
    TRY(add_value(r, c, arena_format(r->a, "%lld", (long long)v)));
    if (times ? v > last / step : v > last - step) {
      break;
    }
    v = times ? v * step : v + step;
  }
  return 0;
}

static int read_choice(reader *r, char *word, choice *c) {
  char *equals = strchr(word, '='), *rest = NULL;
  if (!equals) {
    return err_set(&r->why, ERR_USAGE, "'%s' is not FIELD=VALUE", word);
  }
  *equals = 0;
  *c = (choice){.name = word, .values = ARENA_ARRAY(r->a, const char *, VALUES_MOST)};
  if (!c->values) {
    return no_memory(&r->why);
  }
  for (char *v = strtok_r(equals + 1, ",", &rest); v; v = strtok_r(NULL, ",", &rest)) {
    char *dots = strstr(v, "..");
    TRY(dots ? add_range(r, c, v, dots) : add_value(r, c, v));
  }
  return c->n ? 0 : err_set(&r->why, ERR_USAGE, "%s has no value", c->name);
}

static int combine(reader *r, const choice *c, size_t n) {
  size_t at[FIELDS_MOST] = {0}, i;
  do {
    str_reset(&r->text);
    str_add(&r->text, r->common);
    for (i = 0; i < n; i++) {
      str_addf(&r->text, " %s=%s", c[i].name, c[i].values[at[i]]);
    }
    TRY(add_problem(r));
    for (i = n; i > 0 && ++at[i - 1] == c[i - 1].n; i--) { /* the last field turns fastest */
      at[i - 1] = 0;
    }
  } while (i > 0);
  return 0;
}

static int read_line(reader *r, char *line) {
  choice choices[FIELDS_MOST];
  size_t n = 0;
  char *rest = NULL;
  line[strcspn(line, "#")] = 0;
  for (char *w = strtok_r(line, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
    if (n == 0 && !strcmp(w, r->t->name)) {
      continue; /* the family's name may stand in front */
    }
    if (n == FIELDS_MOST) {
      return err_set(&r->why, ERR_USAGE, "more than %d fields", FIELDS_MOST);
    }
    TRY(read_choice(r, w, &choices[n++]));
  }
  return n ? combine(r, choices, n) : 0;
}

/* ---- the text ------------------------------------------------------------------------------- */

static int read_lines(reader *r, char *text, const char *ends, const char *name, err *e) {
  size_t number = 1;
  for (char *line = text; line; number++) {
    char *end = strpbrk(line, ends), *next = end ? end + 1 : NULL;
    if (end) {
      *end = 0;
    }
    if (read_line(r, line)) {
      char place[200];
      snprintf(place, sizeof place, "%s:%zu", name, number);
      return err_at(e, r->why.code, place, "%s", r->why.message);
    }
    line = next;
  }
  return r->out->n ? 0 : err_set(e, ERR_USAGE, "%s names no problem", name);
}

int sizes_read(gen_template *t, const char *from, const char *common, arena *a, sizes *out,
               err *e) {
  const bool is_text = strchr(from, '=') != NULL;
  reader r = {.t = t, .common = common, .a = a, .out = out};
  str text = {0};
  *out = (sizes){.p = ARENA_ARRAY(a, gen_problem, SIZES_MOST)};
  if (is_text) {
    str_add(&text, from);
  } else {
    TRY(file_read(from, FILE_MOST, &text, e));
  }
  char *copy = arena_text(a, str_text(&text)); /* problems keep nothing of it, choices do */
  str_clear(&text);
  if (!out->p || !copy) {
    return no_memory(e);
  }
  int rc = read_lines(&r, copy, is_text ? ";\n" : "\n", is_text ? "--sizes" : from, e);
  str_clear(&r.text);
  return rc;
}

/* ---- the order ------------------------------------------------------------------------------ */

static double distance(const gen_template *t, const gen_problem *a, const gen_problem *b) {
  int64_t values[GEN_MAX_FIELDS];
  for (size_t i = 0; i < t->n_fields; i++) {
    values[i] = b->values[i].i;
  }
  const double d = serve_problem_distance(t, a, values);
  return isfinite(d) ? d : 1e9; /* another type or transposition: last, not never */
}

static void swap(gen_problem *a, gen_problem *b) {
  const gen_problem c = *a;
  *a = *b;
  *b = c;
}

/* The one with the least sum of distances to the others. */
static size_t middle(const gen_template *t, const sizes *s) {
  size_t best = 0;
  double least = INFINITY;
  for (size_t i = 0; i < s->n; i++) {
    double sum = 0;
    for (size_t j = 0; j < s->n && sum < least; j++) {
      sum += distance(t, &s->p[i], &s->p[j]);
    }
    if (sum < least) {
      least = sum;
      best = i;
    }
  }
  return best;
}

/* src: Prim, Shortest connection networks and some generalizations, 1957. */
int sizes_order(const gen_template *t, sizes *s, const gen_problem *tuned, size_t n_tuned, err *e) {
  double *near = malloc((s->n + 1) * sizeof *near);
  if (!near) {
    return no_memory(e);
  }
  if (!n_tuned && s->n) {
    swap(&s->p[0], &s->p[middle(t, s)]);
  }
  for (size_t i = 0; i < s->n; i++) {
    near[i] = n_tuned ? INFINITY : distance(t, &s->p[i], &s->p[0]);
    for (size_t j = 0; j < n_tuned; j++) {
      near[i] = fmin(near[i], distance(t, &s->p[i], &tuned[j]));
    }
  }
  for (size_t i = n_tuned ? 0 : 1; i < s->n; i++) {
    size_t next = i;
    for (size_t j = i; j < s->n; j++) {
      next = near[j] < near[next] ? j : next;
    }
    swap(&s->p[i], &s->p[next]);
    near[next] = near[i];
    for (size_t j = i + 1; j < s->n; j++) {
      near[j] = fmin(near[j], distance(t, &s->p[j], &s->p[i]));
    }
  }
  free(near);
  return 0;
}
