/* Expressions and lists of values. */
#define _GNU_SOURCE
#include "gen_plain_value.h"

#include <string.h>

#include "c_name.h"
#include "gen_lex.h"

enum { MAX_VALUES = 4096 };

/* ---- expressions ----------------------------------------------------------------------------- */

static const gen_plain_field *find_param(const gen_plain *x, const char *name, size_t n) {
  for (size_t i = 0; x && i < x->n_params; i++) {
    if (strlen(x->params[i].name.p) == n && !memcmp(x->params[i].name.p, name, n)) {
      return &x->params[i];
    }
  }
  return NULL;
}

/* Among the first `most`. */
static const gen_plain_pair *find_define(const gen_plain *x, size_t most, const char *name,
                                         size_t n) {
  for (size_t i = 0; x && i < most; i++) {
    if (strlen(x->defines[i].name.p) == n && !memcmp(x->defines[i].name.p, name, n)) {
      return &x->defines[i];
    }
  }
  return NULL;
}

/* The name, or what it stands for in the default configuration. A macro may read those before it. */
static void add_name(const gen_plain *x, size_t n_defines, const char *p, size_t n, str *out) {
  enum { MOST_NBYTES = 1 << 16 };
  const gen_plain_field *param = find_param(x, p, n);
  const gen_plain_pair *define = out->n < MOST_NBYTES ? find_define(x, n_defines, p, n) : NULL;
  auto_arena a = {0};
  const char *preset;
  if (param && !gen_plain_preset(x, param, &a, &preset, NULL)) {
    str_addf(out, gen_plain_is_number(preset) ? "%s" : "'%s'", preset);
  } else if (define) {
    str_add(out, "(");
    gen_plain_expand(define->text.p, x, (size_t)(define - x->defines), out);
    str_add(out, ")");
  } else {
    str_add_n(out, p, n);
  }
}

static size_t add_operator(const char *p, str *out) {
  static const char *const same[][2] = {{"&&", " and "}, {"||", " or "}, {"!=", "~="},
                                        {"//", "//"},    {"!", " not "}, {"/", "//"}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    const size_t n = strlen(same[i][0]);
    if (!strncmp(p, same[i][0], n)) {
      str_add(out, same[i][1]);
      return n;
    }
  }
  str_add_n(out, p, 1);
  return 1;
}

static size_t quoted_length(const char *p) {
  size_t n = 1;
  while (p[n] && p[n] != *p) {
    n++;
  }
  return n + !!p[n];
}

void gen_plain_expand(const char *p, const gen_plain *x, size_t n_defines, str *out) {
  while (*p) {
    size_t n = 0;
    if (*p == '"' || *p == '\'') {
      str_add_n(out, p, n = quoted_length(p));
    } else if (isdigit((unsigned char)*p)) { /* 1e-5 and 0x10 contain letters */
      for (; c_name_has(p[n]) || p[n] == '.'; n++) {
      }
      str_add_n(out, p, n);
    } else if (c_name_has(*p)) {
      for (; c_name_has(p[n]); n++) {
      }
      add_name(x, n_defines, p, n, out);
    } else {
      n = add_operator(p, out);
    }
    p += n;
  }
}

void gen_plain_expression(const char *p, const gen_plain *x, str *out) {
  gen_plain_expand(p, x, x ? x->n_defines : 0, out);
}

bool gen_plain_is_macro(const gen_plain *x, const char *name) {
  const size_t n = strlen(name);
  return find_param(x, name, n) || find_define(x, x->n_defines, name, n);
}

size_t gen_plain_part_length(const char *p) {
  size_t n = 0;
  int depth = 0;
  for (; p[n] && (depth || p[n] != ','); n++) {
    depth += (p[n] == '(') - (p[n] == ')');
  }
  return n;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct value_list {
  const gen_plain *x;
  arena *a;
  err *e;
  const gen_plain_text *from;
  int64_t values[MAX_VALUES];
  size_t n;
} value_list;

static int fail_range(const value_list *l, const char *word) {
  return gen_plain_fail(l->x, l->from->at, l->e,
                        "'%s' is not a range; write 8..64, 8..64+8 (steps) or 8..64*2 (factors)",
                        word);
}

static int add_range(value_list *l, const char *word, char *dots) {
  int64_t from, to, by = 1;
  char *step = strpbrk(dots + 2, "+*");
  const char kind = step ? *step : '+';
  if (step) {
    *step = 0;
  }
  *dots = 0;
  if (!text_integer(word, &from) || !text_integer(dots + 2, &to) ||
      (step && !text_integer(step + 1, &by)) || by < 1 + (kind == '*') || from > to ||
      (kind == '*' && from < 1)) {
    return fail_range(l, l->from->p);
  }
  for (int64_t v = from; v <= to; v = kind == '*' ? v * by : v + by) {
    if (l->n == MAX_VALUES) {
      return gen_plain_fail(l->x, l->from->at, l->e, "more than %d values", MAX_VALUES);
    }
    l->values[l->n++] = v;
  }
  return 0;
}

/* One of the values between commas, to out as Lua has it. */
static int add_value(value_list *l, const char *p, size_t n, str *out) {
  char *word = arena_text_n(l->a, p, n), *dots;
  int64_t v;
  TRY(word ? 0 : err_nomem(l->e));
  for (; isspace((unsigned char)*word); word++) {
  }
  for (char *end = word + strlen(word); end > word && isspace((unsigned char)end[-1]);) {
    *--end = 0;
  }
  if ((dots = strstr(word, ".."))) {
    l->n = 0;
    TRY(add_range(l, word, dots));
    for (size_t i = 0; i < l->n; i++) {
      str_addf(out, "%s%lld", i ? ", " : "", (long long)l->values[i]);
    }
    return 0;
  }
  if (text_integer(word, &v)) {
    str_addf(out, "%lld", (long long)v);
  } else if (gen_word_is_name(word)) {
    str_addf(out, "\"%s\"", word);
  } else {
    return gen_plain_fail(l->x, l->from->at, l->e,
                          "'%s' is not a value: a whole number, a range 1..8 or a name", word);
  }
  return 0;
}

static value_list *list_new(const gen_plain *x, arena *a, const gen_plain_text *from, err *e) {
  value_list *l = arena_new(a, sizeof *l);
  if (l) {
    l->x = x;
    l->a = a;
    l->e = e;
    l->from = from;
  }
  return l;
}

int gen_plain_value(const gen_plain *x, arena *a, const gen_plain_text *from, const char *p,
                    size_t n, str *out, err *e) {
  value_list *l = list_new(x, a, from, e);
  return l ? add_value(l, p, n, out) : err_nomem(e);
}

/* "8,16,32..64" */
int gen_plain_values(const gen_plain *x, arena *a, const gen_plain_text *from, str *out, err *e) {
  value_list *l = list_new(x, a, from, e);
  TRY(l ? 0 : err_nomem(e));
  for (const char *p = from->p;;) {
    const size_t n = strcspn(p, ",");
    TRY(add_value(l, p, n, out));
    if (!p[n]) {
      return 0;
    }
    str_add(out, ", ");
    p += n + 1;
  }
}

/* The value of `#define NAME VALUE` behind `#ifndef NAME` in the file; NULL: there is none. */
static const char *value_in_file(const gen_plain *x, const char *name, arena *a) {
  for (const char *p = x->text; (p = strstr(p, "#define")); p += 7) {
    const char *q = p + 7 + strspn(p + 7, " \t");
    const size_t n = strlen(name);
    if (!strncmp(q, name, n) && !c_name_has(q[n])) {
      q += n;
      q += strspn(q, " \t(");
      return arena_text_n(a, q, strcspn(q, " \t)\r\n/"));
    }
  }
  return NULL;
}

static bool has_value(const char *list, const char *value) {
  const size_t n = strlen(value);
  for (const char *p = list; n && (p = strstr(p, value)); p++) {
    if ((p == list || (!c_name_has(p[-1]) && p[-1] != '-')) && !c_name_has(p[n])) {
      return true;
    }
  }
  return false;
}

/* As given, else what the file has, else the first. */
int gen_plain_preset(const gen_plain *x, const gen_plain_field *param, arena *a, const char **out,
                     err *e) {
  auto_str list = {0};
  TRY(gen_plain_values(x, a, &param->values, &list, e));
  const char *all = str_text(&list), *own = value_in_file(x, param->name.p, a);
  if (param->preset.p && !has_value(all, param->preset.p)) {
    return gen_plain_fail(x, param->preset.at, e, "the default of %s, %s, is none of its values",
                          param->name.p, param->preset.p);
  }
  if (param->preset.p || (own && has_value(all, own))) {
    *out = param->preset.p ? param->preset.p : own;
    return 0;
  }
  all += *all == '"';
  *out = arena_text_n(a, all, strcspn(all, ",\""));
  return *out ? 0 : err_nomem(e);
}
