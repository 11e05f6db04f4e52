#include "serve_key.h"

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
  }
  for (size_t i = 0; i < t->n_call; i++) {
    str_addf(&s, "call %s\n", t->call[i]);
  }
  add_pairs(&s, "computed", t->call_fields, t->n_call_fields);
  add_pairs(&s, "required", t->call_requirements, t->n_call_requirements);
  hash_bytes(str_text(&s), s.n, out);
}
