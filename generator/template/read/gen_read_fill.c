/* How a template fills a buffer with test data. */
#define _GNU_SOURCE
#include <lauxlib.h>
#include <string.h>
#include <unistd.h>

#include "gen_read.h"

/* Is it the name of a file in the folder, or below it? */
static bool stays_below(const char *path) {
  for (const char *p = path; p; p = strchr(p, '/')) {
    p += *p == '/' && p > path;
    if (*p == '/' || *p == '.' || !*p) {
      return false;
    }
  }
  return true;
}

/* Beside the template, else in the folder that the user names for data. */
static const char *data_path(gen_reader *r, const char *name) {
  const tmpl *t = r->t;
  const char *beside = arena_format(r->a, "%s%s", t->folder ? t->folder : "", name);
  const char *other = t->data ? arena_format(r->a, "%s/%s", t->data, name) : beside;
  if (!beside || !other) {
    gen_fail(r->b, ERR_NOMEM, gen_here(r), "out of memory");
  }
  return t->folder && !access(beside, F_OK) ? beside : other;
}

/* part = "values": of a matrix */
static void read_part(gen_reader *r, gen_arg_rule *rule) {
  size_t n = 0;
  if (!gen_enter(r, "part")) {
    return;
  }
  const char *text = gen_text(r, "part");
  while (matrix_part_names[n]) {
    n++;
  }
  for (size_t i = 0; i < n; i++) {
    rule->part = strcmp(text, matrix_part_names[i]) ? rule->part : (matrix_part)(i + 1);
  }
  if (!rule->part) {
    gen_bad(r,
            "a matrix has no part '%s'%s; it has offsets, rows, columns, values, real, imaginary",
            text, gen_suggestion(text, matrix_part_names, n).text);
  }
  gen_leave(r);
}

static void read_fill_file(gen_reader *r, gen_arg_rule *rule) {
  gen_need_at(r, 2, "the file's name");
  const char *name = gen_text(r, "the file's name");
  if (!stays_below(name)) {
    gen_bad(r, "cannot fill from \"%s\": name a file beside the template, or in a folder there",
            name);
  }
  rule->file = data_path(r, name);
  gen_leave(r);
  read_part(r, rule);
}

/* { "matrix", part = "offsets" }: of the problem's matrix */
static void read_fill_matrix(gen_reader *r, gen_arg_rule *rule) {
  read_part(r, rule);
  if (!r->t->has_matrix || !rule->part) {
    gen_bad(r,
            r->t->has_matrix
                ? "a fill from a matrix has a part: { \"matrix\", part = \"offsets\" }"
                : "a fill from a matrix needs the template's key matrix = { rows = FIELD, ... }");
  }
}

static void read_fill_function(gen_reader *r, gen_arg_rule *rule) {
  gen_need_at(r, 2, "the function");
  if (!lua_isfunction(r->L, -1)) {
    gen_bad(r, "here belongs a function(index, count, fields) that gives an element, not a %s",
            luaL_typename(r->L, -1));
  }
  lua_pushvalue(r->L, -1);
  rule->function = luaL_ref(r->L, LUA_REGISTRYINDEX);
  gen_leave(r);
}

static void read_fill_numbers(gen_reader *r, gen_arg_rule *rule, size_t n) {
  const gen_expr **numbers[] = {&rule->a, &rule->b};
  for (size_t i = 1; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a number");
    *numbers[i - 1] = gen_numeric(r, GEN_READS_CASE);
    gen_leave(r);
  }
}

static void read_plain_fill(gen_reader *r, gen_arg_rule *rule, const char *text) {
  static const char *const names[] = {"uniform", "normal", "constant", "bits",  "ramp",
                                      "sorted",  "file",   "lua",      "image", "points",
                                      "atoms",   "kspace", "matrix"};
  static const size_t lengths[] = {3, 3, 2, 2, 3, 3, 2, 2};
  static const char *const keys[] = {"part", NULL};
  const size_t kinds = sizeof lengths / sizeof *lengths, all = sizeof names / sizeof *names;
  const size_t n = gen_list(r, "fill", strcmp(text, "file") ? NULL : keys);
  size_t kind = 0;
  while (kind < kinds && strcmp(text, names[kind])) {
    kind++;
  }
  if (kind == kinds) {
    gen_bad(r, "there is no fill '%s'%s", text, gen_suggestion(text, names, all).text);
  }
  if (n != lengths[kind]) {
    gen_bad(r,
            "fill is { \"uniform\", least, most }, { \"normal\", mean, deviation }, { "
            "\"constant\", value }, { \"bits\", words }, { \"ramp\", first, step }, { \"sorted\", "
            "least, most }, { \"file\", name } or { \"lua\", function }");
  }
  rule->fill = (gen_fill_kind)kind;
  if (rule->fill == GEN_FILL_FILE) {
    read_fill_file(r, rule);
  } else if (rule->fill == GEN_FILL_LUA) {
    read_fill_function(r, rule);
  } else {
    read_fill_numbers(r, rule, n);
  }
}

/* ---- patterns -------------------------------------------------------------------------------- */

static const struct {
  const char *generator, *kind;
} patterns[] = {
#define PATTERN(name, generator, kind) {#generator, #kind},
    GEN_PATTERN_LIST(PATTERN)
#undef PATTERN
};

typedef struct number_key { /* of which generators, and its place among the numbers */
  const char *key, *generators;
  int at; /* -1: it has no place */
} number_key;

static const number_key number_keys[] = {
    {"width", "image", GEN_IMAGE_WIDTH},       {"height", "image", GEN_IMAGE_HEIGHT},
    {"depth", "image", GEN_IMAGE_DEPTH},       {"channels", "image", GEN_IMAGE_CHANNELS},
    {"pitch", "image", GEN_IMAGE_PITCH},       {"least", "image", GEN_IMAGE_LEAST},
    {"most", "image", GEN_IMAGE_MOST},         {"cell", "image", GEN_IMAGE_CELL},
    {"seed", "image points atoms kspace", -1}, {"parts", "points atoms kspace", -1},
    {"size", "points atoms kspace", -1},       {"clusters", "points", GEN_PLACE_CLUSTERS},
    {"spread", "points", GEN_PLACE_SPREAD},    {"density", "atoms", -1},
    {"lines", "kspace", GEN_PLACE_LINES},      {"turns", "kspace", GEN_PLACE_TURNS}};
enum { N_NUMBER_KEYS = sizeof number_keys / sizeof *number_keys };

static bool takes(const char *generator, const number_key *key) {
  return strstr(key->generators, generator);
}

static bool is_generator(const char *text) {
  bool is = false;
  for (size_t i = 0; i < GEN_PATTERNS; i++) {
    is |= !strcmp(patterns[i].generator, text);
  }
  return is;
}

static gen_pattern read_kind(gen_reader *r, const char *generator) {
  const char *names[GEN_PATTERNS];
  size_t n = 0;
  gen_need_at(r, 2, "its kind");
  const char *text = gen_text(r, "its kind");
  for (size_t i = 0; i < GEN_PATTERNS; i++) {
    if (!strcmp(patterns[i].generator, generator)) {
      if (!strcmp(patterns[i].kind, text)) {
        gen_leave(r);
        return (gen_pattern)i;
      }
      names[n++] = patterns[i].kind;
    }
  }
  gen_bad(r, "there is no %s '%s'%s", generator, text, gen_suggestion(text, names, n).text);
}

/* "xyzq": what elements are in turn */
static void read_parts(gen_reader *r, const char *generator, gen_generator_rule *x) {
  const char *most = !strcmp(generator, "atoms")    ? "xyzq"
                     : !strcmp(generator, "kspace") ? "xyzri"
                                                    : "xyz";
  gen_need(r, "parts");
  x->parts = gen_text(r, "parts");
  if (!*x->parts || strlen(x->parts) > strlen(most) || x->parts[strspn(x->parts, most)]) {
    gen_bad(r, "parts are letters of \"%s\", what elements are in turn", most);
  }
  gen_leave(r);
}

/* A number, the same in three dimensions, or a list of two or three */
static void read_size(gen_reader *r, gen_generator_rule *x) {
  if (!gen_enter(r, "size")) {
    return;
  }
  x->n_size = gen_is_table(r) ? gen_bounded_list(r, "size", 3) : 3;
  if (x->n_size < 2) {
    gen_bad(r, "size is a number, or a list of two or three");
  }
  for (size_t i = 0; i < x->n_size; i++) {
    if (gen_is_table(r)) {
      gen_need_at(r, (int64_t)i + 1, "a number");
      x->size[i] = gen_numeric(r, GEN_READS_CASE);
      gen_leave(r);
    } else {
      x->size[i] = i ? x->size[0] : gen_numeric(r, GEN_READS_CASE);
    }
  }
  gen_leave(r);
}

/* { "image", "checker", width = "width", ... } */
static void read_pattern(gen_reader *r, gen_arg_rule *rule, const char *generator) {
  const char *keys[N_NUMBER_KEYS + 1] = {NULL};
  gen_generator_rule *x = GEN_MAKE(r, gen_generator_rule, 1);
  size_t n = 0;
  for (size_t i = 0; i < N_NUMBER_KEYS; i++) {
    if (takes(generator, &number_keys[i])) {
      keys[n++] = number_keys[i].key;
    }
  }
  if (gen_list(r, "fill", keys) != 2) {
    gen_bad(r, "this fill is { \"%s\", kind, ... }, and what follows has names", generator);
  }
  *x = (gen_generator_rule){.pattern = read_kind(r, generator), .at = gen_here(r)};
  for (size_t i = 0; i < N_NUMBER_KEYS; i++) {
    const number_key *k = &number_keys[i];
    if (takes(generator, k) && k->at >= 0) {
      x->numbers[k->at] = gen_numeric_at(r, k->key, GEN_READS_CASE);
    }
  }
  x->seed = gen_numeric_at(r, "seed", GEN_READS_CASE);
  x->density = gen_numeric_at(r, "density", GEN_READS_CASE);
  if (strcmp(generator, "image") != 0) {
    read_parts(r, generator, x);
    read_size(r, x);
  } else if (!x->numbers[GEN_IMAGE_WIDTH] || !x->numbers[GEN_IMAGE_HEIGHT]) {
    gen_bad(r, "an image has a width and a height");
  }
  rule->fill = GEN_FILL_PATTERN;
  rule->generator = x;
}

void gen_read_fill(gen_reader *r, gen_arg_rule *rule) {
  static const char *const keys[] = {"part", NULL};
  const char *text = gen_first_name(r, "the kind of fill");
  if (!strcmp(text, "matrix")) {
    rule->fill = GEN_FILL_MATRIX;
    if (gen_list(r, "fill", keys) != 1) {
      gen_bad(r, "this fill is { \"matrix\", part = \"offsets\" }: problems name the matrix");
    }
    read_fill_matrix(r, rule);
  } else if (is_generator(text)) {
    read_pattern(r, rule, text);
  } else {
    read_plain_fill(r, rule, text);
  }
}
