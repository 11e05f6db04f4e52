/* The statements about data: arg, constant, expected, scratch. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "c_name.h"
#include "gen_plain_cursor.h"

static bool type_of(const char *p, size_t n, dtype *out) {
  static const struct {
    const char *c, *name;
  } spellings[] = {{"float", "f32"},
                   {"double", "f64"},
                   {"int", "i32"},
                   {"unsigned", "u32"},
                   {"uint", "u32"},
                   {"unsigned int", "u32"},
                   {"char", "i8"},
                   {"short", "i16"},
                   {"long long", "i64"},
                   {"unsigned char", "u8"},
                   {"uchar", "u8"},
                   {"unsigned short", "u16"},
                   {"unsigned long long", "u64"},
                   {"size_t", "u64"},
                   {"half", "f16"},
                   {"__half", "f16"},
                   {"long", "i64"}};
  char word[32];
  if (n >= sizeof word) {
    return false;
  }
  snprintf(word, sizeof word, "%.*s", (int)n, p);
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    if (!strcmp(word, spellings[i].c)) {
      return dtype_parse(spellings[i].name, out);
    }
  }
  return dtype_parse(word, out);
}

static int read_type(plain_parser *k, plain_cursor *c, dtype *out) {
  plain_skip_blanks(c);
  size_t n = strcspn(c->p, "[]:=,"), length = n;
  while (length && c->p[length - 1] == ' ') {
    length--;
  }
  if (!type_of(c->p, length, out)) {
    return FAIL(k, c->at, "'%.*s' is not an element type; write f32, f64, i32, u8, ...",
                (int)length, c->p);
  }
  plain_move(c, n);
  return 0;
}

/* [COUNT], or [ROWS][COLUMNS], whose product it is */
static int read_count(plain_parser *k, plain_cursor *c, gen_plain_text *out) {
  auto_str product = {0};
  out->at = c->at;
  while (plain_skip(c, '[')) {
    const size_t n = plain_length_to(c->p, "]");
    if (c->p[n] != ']' || !n) {
      return FAIL(k, c->at, "a number of elements and ] belong here: x:f32[n*n]:in");
    }
    str_addf(&product, "%s(%.*s)", product.n ? " * " : "", (int)n, c->p);
    plain_move(c, n + 1);
  }
  TRY(product.failed ? err_nomem(k->e) : 0);
  const char *p = str_text(&product);
  const bool single = !strstr(p, ") * (");
  out->p = arena_text_n(k->a, p + single, strlen(p) - 2 * single);
  return out->p ? 0 : err_nomem(k->e);
}

static int read_direction(plain_parser *k, plain_cursor *c, gen_plain_arg *arg) {
  static const char *const names[] = {"in", "out", "inout", NULL};
  if (!plain_skip(c, ':')) {
    return FAIL(k, c->at, "the direction is missing: %s:%s[...]:in, :out or :inout", arg->name.p,
                dtype_name(arg->type));
  }
  gen_plain_text word;
  TRY(plain_take_name(k, c, "in, out or inout", &word));
  for (size_t i = 0; names[i]; i++) {
    arg->dir = strcmp(names[i], word.p) ? arg->dir : names[i];
  }
  return arg->dir ? 0 : FAIL(k, word.at, "the direction is in, out or inout, not '%s'", word.p);
}

static int read_fill(plain_parser *k, plain_cursor *c, gen_plain_arg *arg) {
  if (!plain_skip(c, ':')) {
    return 0;
  }
  if (arg->dir && !strcmp(arg->dir, "out")) {
    return FAIL(k, c->at, "an out buffer is poisoned before each launch and has no fill");
  }
  const size_t n = c_name_length(c->p);
  if (!n || c->p[n] != '(' || c->p[strlen(c->p) - 1] != ')') {
    return FAIL(
        k, c->at,
        "a fill is uniform(LEAST,MOST), normal(MEAN,DEVIATION), constant(VALUE), "
        "ramp(FIRST,STEP), sorted(LEAST,MOST), bits(WORDS), file(NAME), lua(EXPRESSION of "
        "index), image(KIND,width=W,height=H), or points, atoms or kspace(KIND,parts=xyz), not "
        "'%.40s'",
        c->p);
  }
  return plain_take(k, c, strlen(c->p), &arg->fill);
}

/* NAME:TYPE[COUNT]:DIRECTION[:FILL], or a scalar, NAME:TYPE[=VALUE] */
int plain_read_arg(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->args, x->n_args);
  gen_plain_arg *arg = &x->args[x->n_args++];
  TRY(plain_take_name(k, c, "an argument's name", &arg->name));
  if (!plain_skip(c, ':')) {
    return FAIL(k, c->at, "the type is missing: %s:f32[n]:in, or of a scalar %s:i32", arg->name.p,
                arg->name.p);
  }
  TRY(read_type(k, c, &arg->type));
  if (plain_skip(c, '=')) {
    return plain_take_rest(k, c, "the value", &arg->value);
  }
  if (*c->p != '[') {
    arg->value = arg->name;
    return plain_take_end(k, c);
  }
  TRY(read_count(k, c, &arg->count));
  TRY(read_direction(k, c, arg));
  TRY(read_fill(k, c, arg));
  return plain_take_end(k, c);
}

/* NAME:TYPE[COUNT][:FILL]: contents of the file's __constant__ NAME */
int plain_read_constant(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->args, x->n_args);
  gen_plain_arg *arg = &x->args[x->n_args++];
  arg->is_constant = true;
  arg->dir = "in";
  TRY(plain_take_name(k, c, "the name of a __constant__ variable", &arg->name));
  if (!plain_skip(c, ':')) {
    return FAIL(k, c->at, "the type is missing: %s:f32[17]", arg->name.p);
  }
  TRY(read_type(k, c, &arg->type));
  if (*c->p != '[') {
    return FAIL(k, c->at, "the number of elements is missing: %s:%s[17]", arg->name.p,
                dtype_name(arg->type));
  }
  TRY(read_count(k, c, &arg->count));
  TRY(read_fill(k, c, arg));
  return plain_take_end(k, c);
}

/* NAME = FILE: the right results of an output */
int plain_read_expected(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  gen_plain_text name;
  TRY(plain_take_name(k, c, "the name of an output", &name));
  for (size_t i = 0; i < x->n_args; i++) {
    gen_plain_arg *arg = &x->args[i];
    if (arg->dir && strcmp(arg->dir, "in") != 0 && !strcmp(arg->name.p, name.p)) {
      TRY(plain_skip(c, '=')
              ? 0
              : FAIL(k, c->at, "the file is missing: expected %s = %s.npy", name.p, name.p));
      x->reference = GEN_PLAIN_FILES;
      return plain_take_rest(k, c, "the file", &arg->expected);
    }
  }
  return FAIL(k, name.at, "there is no out or inout argument '%s' in the lines before", name.p);
}

int plain_read_scratch(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  dtype type;
  ROOM(k, c, x->scratch, x->n_scratch);
  gen_plain_pair *s = &x->scratch[x->n_scratch++];
  TRY(plain_take_name(k, c, "the name of a scratch buffer", &s->name));
  TRY(plain_skip(c, ':') ? 0 : FAIL(k, c->at, "the type is missing: %s:f32[n]", s->name.p));
  TRY(read_type(k, c, &type));
  TRY(*c->p == '[' ? 0 : FAIL(k, c->at, "the number of elements is missing: [n]"));
  TRY(read_count(k, c, &s->text));
  s->text.p = arena_format(k->a, "%s\n%s", dtype_name(type), s->text.p);
  return s->text.p ? plain_take_end(k, c) : err_nomem(k->e);
}
