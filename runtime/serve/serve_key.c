#include "serve_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

int64_t serve_key_word(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, 64 bits */
  if (!text) {
    return 0; /* matches no choice */
  }
  if (text[0] && !text[1]) {
    return (unsigned char)text[0];
  }
  for (; *text; text++) {
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  }
  return (int64_t)hash;
}

/* How far it is from one to the other: 2 and 0.5 are as far. */
static double ratio(double a, double b) {
  return a > b ? a / b : b / a;
}

static double value_of(const char *word, double most) {
  return strncmp(word, "many", 4) ? atof(word) : 10 * most;
}

int64_t serve_key_uses(int64_t uses, const char *names) {
  double most = 1, best = 0;
  char nearest[32] = "";
  for (const char *p = names; *p; p += strspn(p, " ")) {
    const double value = value_of(p, most);
    const double far = ratio(value, uses > 0 ? (double)uses : 1e18);
    const int n = (int)strcspn(p, " ");
    if (!nearest[0] || far < best) {
      best = far;
      snprintf(nearest, sizeof nearest, "%.*s", n, p);
    }
    most = value > most ? value : most;
    p += n;
  }
  return serve_key_word(nearest);
}

static void add_field(str *s, const gen_field *f) {
  str_addf(s, "field %s", f->name);
  for (size_t i = 0; i < f->n_names; i++) {
    str_addf(s, " %s", f->names[i]);
  }
  for (size_t i = 0; i < f->n_choices; i++) {
    str_addf(s, " %lld", (long long)f->choices[i]);
  }
  str_addf(s, " %lld %lld\n", (long long)f->min, (long long)f->max);
}

static void add_pairs(str *s, const char *what, const gen_pair *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    str_addf(s, "%s %s: %s\n", what, p[i].name, p[i].expression);
  }
}

void serve_signature(const gen_template *t, char out[HASH_TEXT]) {
  auto_str s = {0};
  for (size_t i = 0; i < t->n_fields; i++) {
    add_field(&s, &t->fields[i]);
  }
  for (size_t i = 0; i < t->n_args; i++) {
    const gen_arg *a = &t->args[i];
    str_addf(&s, "arg %s %s %d %d\n", a->name, a->type, (int)a->dir, a->value != NULL);
    if (t->has_prepare) {
      str_addf(&s, "role %d\n", (int)a->role);
    }
  }
  for (size_t i = 0; i < t->n_call; i++) {
    str_addf(&s, "call %s\n", t->call[i]);
  }
  add_pairs(&s, "computed", t->call_fields, t->n_call_fields);
  add_pairs(&s, "required", t->call_requirements, t->n_call_requirements);
  hash_bytes(str_text(&s), s.n, out);
}
