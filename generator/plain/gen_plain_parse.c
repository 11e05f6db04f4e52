/* The lines of a plain CUDA file, and those of the command line, become a gen_plain. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "c_name.h"
#include "file.h"
#include "gen_lex.h"
#include "gen_plain.h"

typedef struct cursor { /* in the text of one line */
  const char *p;
  gen_plain_place at; /* of p */
} cursor;

typedef struct parser {
  gen_plain *x;
  arena *a;
  err *e;
  gen_plain_stage *stage; /* that grid, block, ... belong to */
  gen_plain_stage first;  /* what comes before a kernel is named */
  bool in_reference;
} parser;

int gen_plain_fail(const gen_plain *x, gen_plain_place at, err *e, const char *format, ...) {
  char place[sizeof((err){0}.place)], message[sizeof((err){0}.message)];
  va_list ap;
  va_start(ap, format);
  vsnprintf(message, sizeof message, format, ap);
  va_end(ap);
  if (at.option) {
    snprintf(place, sizeof place, "%.150s, column %d", at.option, at.column);
  } else {
    snprintf(place, sizeof place, "%.150s:%d:%d", x->path, at.line, at.column);
  }
  return err_at(e, at.option ? ERR_USAGE : ERR_TEMPLATE, place, "%s", message);
}
#define FAIL(k, where, ...) gen_plain_fail((k)->x, (where), (k)->e, __VA_ARGS__)

/* ---- cursors --------------------------------------------------------------------------------- */

static void move(cursor *c, size_t n) {
  c->p += n;
  c->at.column += (int)n;
}

static void skip_blanks(cursor *c) {
  move(c, strspn(c->p, " \t\r"));
}

static bool skip(cursor *c, char mark) {
  skip_blanks(c);
  if (*c->p != mark) {
    return false;
  }
  move(c, 1);
  skip_blanks(c);
  return true;
}

/* The next n characters without the blanks at their end; the cursor moves behind them. */
static int take(parser *k, cursor *c, size_t n, gen_plain_text *out) {
  size_t length = n;
  while (length && isspace((unsigned char)c->p[length - 1])) {
    length--;
  }
  *out = (gen_plain_text){arena_text_n(k->a, c->p, length), c->at};
  move(c, n);
  return out->p ? 0 : err_nomem(k->e);
}

static int take_name(parser *k, cursor *c, const char *what, gen_plain_text *out) {
  skip_blanks(c);
  const size_t n = c_name_length(c->p);
  if (!n || isdigit((unsigned char)*c->p)) {
    return FAIL(k, c->at, "here belongs %s, not '%.40s'", what, *c->p ? c->p : "the end");
  }
  return take(k, c, n, out);
}

/* Up to one of the marks outside of parentheses and quotes, or the end. */
static size_t length_to(const char *p, const char *marks) {
  size_t n = 0;
  int depth = 0;
  for (char quote = 0; p[n]; n++) {
    if (quote) {
      quote = p[n] == quote ? 0 : quote;
    } else if (!depth && strchr(marks, p[n])) {
      return n;
    } else if (p[n] == '"' || p[n] == '\'') {
      quote = p[n];
    } else {
      depth += p[n] == '(' || p[n] == '[' || p[n] == '{';
      depth -= p[n] == ')' || p[n] == ']' || p[n] == '}';
    }
  }
  return n;
}

/* Up to the word, which stands between blanks, or the end. */
static size_t length_to_word(const char *p, const char *word) {
  const size_t n = strlen(word);
  for (const char *q = p; (q = strstr(q, word)); q++) {
    if (q > p && isspace((unsigned char)q[-1]) && (isspace((unsigned char)q[n]) || !q[n])) {
      return (size_t)(q - p);
    }
  }
  return strlen(p);
}

static int take_rest(parser *k, cursor *c, const char *what, gen_plain_text *out) {
  skip_blanks(c);
  if (!*c->p) {
    return FAIL(k, c->at, "%s is missing", what);
  }
  return take(k, c, strlen(c->p), out);
}

static int take_end(parser *k, cursor *c) {
  skip_blanks(c);
  return *c->p ? FAIL(k, c->at, "'%.40s' is left over here", c->p) : 0;
}

#define ROOM(k, c, list, count)                                                                    \
  TRY((count) < GEN_PLAIN_MAX ? 0 : FAIL((k), (c)->at, "more than %d such lines", GEN_PLAIN_MAX))

/* ---- problem, param -------------------------------------------------------------------------- */

/* NAME VALUES [default VALUE], with = before the values or not. */
static int read_choice(parser *k, cursor *c, const char *what, const char *how, bool must,
                       gen_plain_field *f) {
  TRY(take_name(k, c, what, &f->name));
  skip(c, '=');
  skip_blanks(c);
  const size_t n = length_to_word(c->p, "default");
  if (!strncmp(c->p, "default ", 8) || !*c->p) {
    TRY(must ? FAIL(k, c->at, "the values are missing: %s", how) : 0);
  } else {
    TRY(take(k, c, n, &f->values));
  }
  if (!strncmp(c->p, "default", 7)) {
    move(c, 7);
    TRY(take_rest(k, c, "the default", &f->preset));
  }
  return 0;
}

static int read_problem(parser *k, cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->fields, x->n_fields);
  return read_choice(k, c, "a field's name", "problem n 1..65536 default 1024", false,
                     &x->fields[x->n_fields++]);
}

static int read_param(parser *k, cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->params, x->n_params);
  return read_choice(k, c, "a parameter's name", "param BLOCK=32,64,128 or BLOCK=32..256*2", true,
                     &x->params[x->n_params++]);
}

/* ---- arg ------------------------------------------------------------------------------------- */

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

static int read_type(parser *k, cursor *c, dtype *out) {
  skip_blanks(c);
  size_t n = strcspn(c->p, "[]:=,"), length = n;
  while (length && c->p[length - 1] == ' ') {
    length--;
  }
  if (!type_of(c->p, length, out)) {
    return FAIL(k, c->at, "'%.*s' is not an element type; write f32, f64, i32, u8, ...",
                (int)length, c->p);
  }
  move(c, n);
  return 0;
}

/* [COUNT], or [ROWS][COLUMNS], whose product it is */
static int read_count(parser *k, cursor *c, gen_plain_text *out) {
  auto_str product = {0};
  out->at = c->at;
  while (skip(c, '[')) {
    const size_t n = length_to(c->p, "]");
    if (c->p[n] != ']' || !n) {
      return FAIL(k, c->at, "a number of elements and ] belong here: x:f32[n*n]:in");
    }
    str_addf(&product, "%s(%.*s)", product.n ? " * " : "", (int)n, c->p);
    move(c, n + 1);
  }
  const char *p = str_text(&product);
  const bool single = !strstr(p, ") * (");
  out->p = arena_text_n(k->a, p + single, strlen(p) - 2 * single);
  return out->p && !product.failed ? 0 : err_nomem(k->e);
}

static int read_direction(parser *k, cursor *c, gen_plain_arg *arg) {
  static const char *const names[] = {"in", "out", "inout", NULL};
  if (!skip(c, ':')) {
    return FAIL(k, c->at, "the direction is missing: %s:%s[...]:in, :out or :inout", arg->name.p,
                dtype_name(arg->type));
  }
  gen_plain_text word;
  TRY(take_name(k, c, "in, out or inout", &word));
  for (size_t i = 0; names[i]; i++) {
    arg->dir = strcmp(names[i], word.p) ? arg->dir : names[i];
  }
  return arg->dir ? 0 : FAIL(k, word.at, "the direction is in, out or inout, not '%s'", word.p);
}

static int read_fill(parser *k, cursor *c, gen_plain_arg *arg) {
  if (!skip(c, ':')) {
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
        "ramp(FIRST,STEP), sorted(LEAST,MOST), bits(WORDS), file(NAME) or lua(EXPRESSION of "
        "index), not '%.40s'",
        c->p);
  }
  return take(k, c, strlen(c->p), &arg->fill);
}

/* NAME:TYPE[COUNT]:DIRECTION[:FILL], or a scalar, NAME:TYPE[=VALUE] */
static int read_arg(parser *k, cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->args, x->n_args);
  gen_plain_arg *arg = &x->args[x->n_args++];
  TRY(take_name(k, c, "an argument's name", &arg->name));
  if (!skip(c, ':')) {
    return FAIL(k, c->at, "the type is missing: %s:f32[n]:in, or of a scalar %s:i32", arg->name.p,
                arg->name.p);
  }
  TRY(read_type(k, c, &arg->type));
  if (skip(c, '=')) {
    return take_rest(k, c, "the value", &arg->value);
  }
  if (*c->p != '[') {
    arg->value = arg->name;
    return take_end(k, c);
  }
  TRY(read_count(k, c, &arg->count));
  TRY(read_direction(k, c, arg));
  TRY(read_fill(k, c, arg));
  return take_end(k, c);
}

/* NAME:TYPE[COUNT][:FILL]: contents of the file's __constant__ NAME */
static int read_constant(parser *k, cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->args, x->n_args);
  gen_plain_arg *arg = &x->args[x->n_args++];
  arg->is_constant = true;
  arg->dir = "in";
  TRY(take_name(k, c, "the name of a __constant__ variable", &arg->name));
  if (!skip(c, ':')) {
    return FAIL(k, c->at, "the type is missing: %s:f32[17]", arg->name.p);
  }
  TRY(read_type(k, c, &arg->type));
  if (*c->p != '[') {
    return FAIL(k, c->at, "the number of elements is missing: %s:%s[17]", arg->name.p,
                dtype_name(arg->type));
  }
  TRY(read_count(k, c, &arg->count));
  TRY(read_fill(k, c, arg));
  return take_end(k, c);
}

/* NAME = FILE: the right results of an output */
static int read_expected(parser *k, cursor *c) {
  gen_plain *x = k->x;
  gen_plain_text name;
  TRY(take_name(k, c, "the name of an output", &name));
  for (size_t i = 0; i < x->n_args; i++) {
    gen_plain_arg *arg = &x->args[i];
    if (arg->dir && strcmp(arg->dir, "in") != 0 && !strcmp(arg->name.p, name.p)) {
      TRY(skip(c, '=')
              ? 0
              : FAIL(k, c->at, "the file is missing: expected %s = %s.npy", name.p, name.p));
      x->reference = GEN_PLAIN_FILES;
      return take_rest(k, c, "the file", &arg->expected);
    }
  }
  return FAIL(k, name.at, "there is no out or inout argument '%s' in the lines before", name.p);
}

static int read_scratch(parser *k, cursor *c) {
  gen_plain *x = k->x;
  dtype type;
  ROOM(k, c, x->scratch, x->n_scratch);
  gen_plain_pair *s = &x->scratch[x->n_scratch++];
  TRY(take_name(k, c, "the name of a scratch buffer", &s->name));
  TRY(skip(c, ':') ? 0 : FAIL(k, c->at, "the type is missing: %s:f32[n]", s->name.p));
  TRY(read_type(k, c, &type));
  TRY(*c->p == '[' ? 0 : FAIL(k, c->at, "the number of elements is missing: [n]"));
  TRY(read_count(k, c, &s->text));
  s->text.p = arena_format(k->a, "%s\n%s", dtype_name(type), s->text.p);
  return s->text.p ? take_end(k, c) : err_nomem(k->e);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static int add_stage(parser *k, cursor *c, gen_plain_stage *list, size_t *n) {
  ROOM(k, c, list, *n);
  k->stage = &list[(*n)++];
  if (k->first.grid.p || k->first.block.p || k->first.shared.p || k->first.args.p) {
    *k->stage = k->first;
    k->first = (gen_plain_stage){0};
  }
  return 0;
}

/* NAME, with the arguments of a C++ template behind it */
static int take_kernel(parser *k, cursor *c, gen_plain_text *out) {
  skip_blanks(c);
  const cursor from = *c;
  gen_plain_text name;
  TRY(take_name(k, c, "a kernel's name", &name));
  const size_t n = strlen(from.p);
  if (skip(c, '<') && from.p[n - 1] != '>') {
    return FAIL(k, c->at, "the template arguments end with >: %s<float, BLOCK>", name.p);
  }
  *c = from;
  return take(k, c, n, out);
}

static int read_kernel(parser *k, cursor *c) {
  k->in_reference = false;
  TRY(add_stage(k, c, k->x->stages, &k->x->n_stages));
  return take_kernel(k, c, &k->stage->kernel);
}

static int read_memset(parser *k, cursor *c) {
  gen_plain *x = k->x;
  TRY(k->in_reference ? add_stage(k, c, x->references, &x->n_references)
                      : add_stage(k, c, x->stages, &x->n_stages));
  TRY(take_name(k, c, "the name of a buffer", &k->stage->memset));
  skip_blanks(c);
  return *c->p ? take_rest(k, c, "the byte", &k->stage->value) : 0;
}

/* first, or a kernel, whose grid, block, ... follow */
static int read_reference(parser *k, cursor *c) {
  gen_plain *x = k->x;
  skip_blanks(c);
  if (!strcmp(c->p, "first")) {
    x->reference = GEN_PLAIN_FIRST;
    return 0;
  }
  k->in_reference = true;
  x->reference = GEN_PLAIN_KERNEL;
  TRY(add_stage(k, c, x->references, &x->n_references));
  return take_kernel(k, c, &k->stage->kernel);
}

static int read_part(parser *k, cursor *c, size_t offset, const char *what) {
  gen_plain_stage *stage = k->stage ? k->stage : &k->first;
  gen_plain_text *part = (gen_plain_text *)((char *)stage + offset);
  skip_blanks(c);
  if (part->p) {
    return FAIL(k, c->at, "the kernel has %s already; name the next kernel first", what);
  }
  return take_rest(k, c, what, part);
}

static int read_grid(parser *k, cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, grid), "a grid");
}

static int read_block(parser *k, cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, block), "a block");
}

static int read_shared(parser *k, cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, shared), "a number of bytes");
}

static int read_args(parser *k, cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, args), "a list of arguments");
}

static int read_when(parser *k, cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, when), "a condition");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int read_require(parser *k, cursor *c) {
  ROOM(k, c, k->x->requires, k->x->n_requires);
  return take_rest(k, c, "the condition", &k->x->requires[k->x->n_requires++]);
}

static int read_define(parser *k, cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->defines, x->n_defines);
  gen_plain_pair *d = &x->defines[x->n_defines++];
  TRY(take_name(k, c, "a macro's name", &d->name));
  skip(c, '=');
  return take_rest(k, c, "the value", &d->text);
}

/* NUMBER, for both, or abs NUMBER and rel NUMBER */
static int read_tolerance(parser *k, cursor *c) {
  gen_plain *x = k->x;
  skip_blanks(c);
  if (strncmp(c->p, "abs ", 4) && strncmp(c->p, "rel ", 4)) {
    TRY(take_rest(k, c, "the tolerance", &x->tolerance_abs));
    x->tolerance_rel = x->tolerance_abs;
    return 0;
  }
  while (*c->p) {
    const bool is_abs = *c->p == 'a';
    TRY(strncmp(c->p, is_abs ? "abs " : "rel ", 4)
            ? FAIL(k, c->at, "write tolerance abs 1e-5 rel 1e-4, not '%.40s'", c->p)
            : 0);
    move(c, 4);
    skip_blanks(c);
    TRY(take(k, c, length_to_word(c->p, is_abs ? "rel" : "abs"),
             is_abs ? &x->tolerance_abs : &x->tolerance_rel));
  }
  return 0;
}

static int read_name(parser *k, cursor *c) {
  TRY(take_name(k, c, "a name", &k->x->name));
  return take_end(k, c);
}

static int read_brief(parser *k, cursor *c) {
  return take_rest(k, c, "the description", &k->x->brief);
}

static int read_flops(parser *k, cursor *c) {
  return take_rest(k, c, "the number of operations", &k->x->flops);
}

static int read_bytes(parser *k, cursor *c) {
  return take_rest(k, c, "the number of bytes", &k->x->bytes);
}

static int read_size(parser *k, cursor *c) {
  ROOM(k, c, k->x->sizes, k->x->n_sizes);
  TRY(take_rest(k, c, "a problem, n=1024,", &k->x->sizes[k->x->n_sizes]));
  const char *p = k->x->sizes[k->x->n_sizes++].p;
  const bool use = !strncmp(p, "emu ", 4) || !strncmp(p, "test ", 5) || !strncmp(p, "bench ", 6);
  return use || p[strcspn(p, " =")] == '='
             ? 0
             : FAIL(k, k->x->sizes[k->x->n_sizes - 1].at,
                    "a size is n=1024, or for one use: emu n=100, test n=7, bench n=4096");
}

static int read_option_line(parser *k, cursor *c) {
  ROOM(k, c, k->x->options, k->x->n_options);
  return take_rest(k, c, "an option of the compiler", &k->x->options[k->x->n_options++]);
}

/* NAME, ...: macros whose own #define in the text does not count */
static int read_replace(parser *k, cursor *c) {
  gen_plain *x = k->x;
  do {
    ROOM(k, c, x->replaced, x->n_replaced);
    TRY(take_name(k, c, "a macro's name", &x->replaced[x->n_replaced++]));
  } while (skip(c, ','));
  return take_end(k, c);
}

static int read_include(parser *k, cursor *c) {
  ROOM(k, c, k->x->folders, k->x->n_folders);
  gen_plain_text *folder = &k->x->folders[k->x->n_folders++];
  TRY(take_rest(k, c, "a folder", folder));
  return folder->at.option || !file_name_leaves(folder->p)
             ? 0
             : FAIL(k, folder->at,
                    "a folder outside the file's own is named on the command line, by -I");
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct {
  const char *word;
  int (*read)(parser *k, cursor *c);
} keywords[] = {{"problem", read_problem},
                {"param", read_param},
                {"require", read_require},
                {"define", read_define},
                {"replace", read_replace},
                {"kernel", read_kernel},
                {"stage", read_kernel},
                {"grid", read_grid},
                {"block", read_block},
                {"shared", read_shared},
                {"args", read_args},
                {"when", read_when},
                {"arg", read_arg},
                {"constant", read_constant},
                {"scratch", read_scratch},
                {"expected", read_expected},
                {"memset", read_memset},
                {"reference", read_reference},
                {"tolerance", read_tolerance},
                {"flops", read_flops},
                {"bytes", read_bytes},
                {"size", read_size},
                {"include", read_include},
                {"option", read_option_line},
                {"name", read_name},
                {"brief", read_brief}};
enum { N_KEYWORDS = sizeof keywords / sizeof *keywords };

static int fail_keyword(parser *k, const gen_plain_text *word) {
  const char *names[N_KEYWORDS];
  str all = {0};
  for (size_t i = 0; i < N_KEYWORDS; i++) {
    names[i] = keywords[i].word;
    str_addf(&all, "%s%s", i ? " " : "", names[i]);
  }
  const char *near = text_nearest(word->p, names, N_KEYWORDS);
  const int rc = near ? FAIL(k, word->at, "there is no '%s'; did you mean '%s'?", word->p, near)
                      : FAIL(k, word->at, "there is no '%s'; a line begins with one of: %s",
                             word->p, str_text(&all));
  str_clear(&all);
  return rc;
}

static int read_statement(parser *k, const char *text, gen_plain_place at) {
  cursor c = {text, at};
  gen_plain_text word;
  skip_blanks(&c);
  if (!*c.p) {
    return 0;
  }
  TRY(take_name(k, &c, "a keyword, such as param or grid,", &word));
  for (size_t i = 0; i < N_KEYWORDS; i++) {
    if (!strcmp(keywords[i].word, word.p)) {
      return keywords[i].read(k, &c);
    }
  }
  return fail_keyword(k, &word);
}

/* Statements between semicolons. */
static int read_line(parser *k, const char *text, gen_plain_place at) {
  for (const char *p = text;;) {
    const size_t n = length_to(p, ";");
    const char *one = arena_text_n(k->a, p, n);
    TRY(one ? read_statement(k, one, at) : err_nomem(k->e));
    if (!p[n]) {
      return 0;
    }
    p += n + 1;
    at.column += (int)n + 1;
  }
}

/* Lines that start with //@ */
static int read_file(parser *k, const char *text) {
  gen_plain_place at = {.line = 1};
  for (const char *p = text; *p; at.line++) {
    const size_t n = strcspn(p, "\n"), blanks = strspn(p, " \t");
    if (!strncmp(p + blanks, "//@", 3)) {
      const char *line = arena_text_n(k->a, p + blanks + 3, n - blanks - 3);
      at.column = (int)blanks + 4;
      TRY(line ? read_line(k, line, at) : err_nomem(k->e));
    }
    p += n + (p[n] == '\n');
  }
  return 0;
}

/* --param "BLOCK=1,2": the column counts in the value, as typed. */
static int read_option(parser *k, const char *line) {
  const size_t n = strcspn(line, " ");
  const char *value = line + n + (line[n] == ' ');
  const char *typed = arena_format(k->a, "--%.*s '%s'", (int)n, line, value);
  return typed ? read_line(k, line, (gen_plain_place){typed, 0, 1 - (int)(value - line)})
               : err_nomem(k->e);
}

static int name_from_path(parser *k) {
  const char *path = k->x->path, *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  char *name = arena_text_n(k->a, base, strcspn(base, "."));
  if (!name) {
    return err_nomem(k->e);
  }
  for (char *p = name; *p; p++) {
    *p = isalnum((unsigned char)*p) ? *p : '_';
  }
  k->x->name.p = isalpha((unsigned char)*name) ? name : arena_format(k->a, "kernel_%s", name);
  return k->x->name.p ? 0 : err_nomem(k->e);
}

static int check_whole(parser *k) {
  const gen_plain *x = k->x;
  const gen_plain_place start = {.line = 1, .column = 1};
  if (!x->n_stages) {
    return FAIL(k, start,
                "no line names the kernel; say how it is tuned in lines of the file, or by options "
                "of the same names: //@ kernel NAME, //@ param BLOCK=64,128, //@ grid "
                "ceildiv(n,BLOCK), //@ block BLOCK, //@ arg x:f32[n]:in, //@ problem n");
  }
  if (!x->n_params) {
    return FAIL(k, start, "there is nothing to tune: //@ param BLOCK=64,128,256");
  }
  return 0;
}

/* Fields that only the command line's words name, where no line declares any. */
static int read_words(parser *k, const char *const *lines, size_t n_lines) {
  if (k->x->n_fields) {
    return 0;
  }
  for (size_t i = 0; i < n_lines; i++) {
    TRY(*lines[i] == '?' ? read_option(k, lines[i] + 1) : 0);
  }
  return 0;
}

int gen_plain_parse(const char *path, const char *text, const char *const *lines, size_t n_lines,
                    arena *a, gen_plain *x, err *e) {
  parser k = {.x = x, .a = a, .e = e};
  *x = (gen_plain){.path = path, .text = text};
  TRY(name_from_path(&k));
  TRY(read_file(&k, text));
  k.stage = x->n_stages == 1 ? &x->stages[0] : NULL; /* options complete the file's only kernel */
  k.in_reference = false;
  for (size_t i = 0; i < n_lines; i++) {
    TRY(*lines[i] == '?' ? 0 : read_option(&k, lines[i]));
  }
  TRY(read_words(&k, lines, n_lines));
  return check_whole(&k);
}
