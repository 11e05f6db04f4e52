/* The lines of a plain CUDA file, and those of the command line, become a gen_plain. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "c_name.h"
#include "file.h"
#include "gen_lex.h"
#include "gen_plain_cursor.h"

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
/* ---- problem, param -------------------------------------------------------------------------- */

/* NAME VALUES [default VALUE], with = before the values or not. */
static int read_choice(plain_parser *k, plain_cursor *c, const char *what, const char *how,
                       bool must, gen_plain_field *f) {
  TRY(plain_take_name(k, c, what, &f->name));
  plain_skip(c, '=');
  plain_skip_blanks(c);
  const size_t n = plain_length_to_word(c->p, "default");
  if (!strncmp(c->p, "default ", 8) || !*c->p) {
    TRY(must ? FAIL(k, c->at, "the values are missing: %s", how) : 0);
  } else {
    TRY(plain_take(k, c, n, &f->values));
  }
  if (!strncmp(c->p, "default", 7)) {
    plain_move(c, 7);
    TRY(plain_take_rest(k, c, "the default", &f->preset));
  }
  return 0;
}

static int read_problem(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->fields, x->n_fields);
  return read_choice(k, c, "a field's name", "problem n 1..65536 default 1024", false,
                     &x->fields[x->n_fields++]);
}

static int read_param(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->params, x->n_params);
  return read_choice(k, c, "a parameter's name", "param BLOCK=32,64,128 or BLOCK=32..256*2", true,
                     &x->params[x->n_params++]);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static int add_stage(plain_parser *k, plain_cursor *c, gen_plain_stage *list, size_t *n) {
  ROOM(k, c, list, *n);
  k->stage = &list[(*n)++];
  if (k->first.grid.p || k->first.block.p || k->first.shared.p || k->first.args.p) {
    *k->stage = k->first;
    k->first = (gen_plain_stage){0};
  }
  return 0;
}

/* NAME, with the arguments of a C++ template behind it */
static int take_kernel(plain_parser *k, plain_cursor *c, gen_plain_text *out) {
  plain_skip_blanks(c);
  const plain_cursor from = *c;
  gen_plain_text name;
  TRY(plain_take_name(k, c, "a kernel's name", &name));
  const size_t n = strlen(from.p);
  if (plain_skip(c, '<') && from.p[n - 1] != '>') {
    return FAIL(k, c->at, "the template arguments end with >: %s<float, BLOCK>", name.p);
  }
  *c = from;
  return plain_take(k, c, n, out);
}

static int read_kernel(plain_parser *k, plain_cursor *c) {
  k->in_reference = false;
  TRY(add_stage(k, c, k->x->stages, &k->x->n_stages));
  return take_kernel(k, c, &k->stage->kernel);
}

static int read_memset(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  TRY(k->in_reference ? add_stage(k, c, x->references, &x->n_references)
                      : add_stage(k, c, x->stages, &x->n_stages));
  TRY(plain_take_name(k, c, "the name of a buffer", &k->stage->memset));
  plain_skip_blanks(c);
  return *c->p ? plain_take_rest(k, c, "the byte", &k->stage->value) : 0;
}

/* first, or a kernel, whose grid, block, ... follow */
static int read_reference(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  plain_skip_blanks(c);
  if (!strcmp(c->p, "first")) {
    x->reference = GEN_PLAIN_FIRST;
    return 0;
  }
  k->in_reference = true;
  x->reference = GEN_PLAIN_KERNEL;
  TRY(add_stage(k, c, x->references, &x->n_references));
  return take_kernel(k, c, &k->stage->kernel);
}

static int read_part(plain_parser *k, plain_cursor *c, size_t offset, const char *what) {
  gen_plain_stage *stage = k->stage ? k->stage : &k->first;
  gen_plain_text *part = (gen_plain_text *)((char *)stage + offset);
  plain_skip_blanks(c);
  if (part->p) {
    return FAIL(k, c->at, "the kernel has %s already; name the next kernel first", what);
  }
  return plain_take_rest(k, c, what, part);
}

static int read_grid(plain_parser *k, plain_cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, grid), "a grid");
}

static int read_block(plain_parser *k, plain_cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, block), "a block");
}

static int read_shared(plain_parser *k, plain_cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, shared), "a number of bytes");
}

static int read_args(plain_parser *k, plain_cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, args), "a list of arguments");
}

static int read_when(plain_parser *k, plain_cursor *c) {
  return read_part(k, c, offsetof(gen_plain_stage, when), "a condition");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int read_require(plain_parser *k, plain_cursor *c) {
  ROOM(k, c, k->x->requires, k->x->n_requires);
  return plain_take_rest(k, c, "the condition", &k->x->requires[k->x->n_requires++]);
}

static int read_define(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  ROOM(k, c, x->defines, x->n_defines);
  gen_plain_pair *d = &x->defines[x->n_defines++];
  TRY(plain_take_name(k, c, "a macro's name", &d->name));
  plain_skip(c, '=');
  return plain_take_rest(k, c, "the value", &d->text);
}

/* NUMBER, for both, or abs NUMBER and rel NUMBER */
static int read_tolerance(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  plain_skip_blanks(c);
  if (strncmp(c->p, "abs ", 4) && strncmp(c->p, "rel ", 4)) {
    TRY(plain_take_rest(k, c, "the tolerance", &x->tolerance_abs));
    x->tolerance_rel = x->tolerance_abs;
    return 0;
  }
  while (*c->p) {
    const bool is_abs = *c->p == 'a';
    TRY(strncmp(c->p, is_abs ? "abs " : "rel ", 4)
            ? FAIL(k, c->at, "write tolerance abs 1e-5 rel 1e-4, not '%.40s'", c->p)
            : 0);
    plain_move(c, 4);
    plain_skip_blanks(c);
    TRY(plain_take(k, c, plain_length_to_word(c->p, is_abs ? "rel" : "abs"),
                   is_abs ? &x->tolerance_abs : &x->tolerance_rel));
  }
  return 0;
}

static int read_name(plain_parser *k, plain_cursor *c) {
  TRY(plain_take_name(k, c, "a name", &k->x->name));
  return plain_take_end(k, c);
}

static int read_brief(plain_parser *k, plain_cursor *c) {
  return plain_take_rest(k, c, "the description", &k->x->brief);
}

static int read_flops(plain_parser *k, plain_cursor *c) {
  return plain_take_rest(k, c, "the number of operations", &k->x->flops);
}

static int read_bytes(plain_parser *k, plain_cursor *c) {
  return plain_take_rest(k, c, "the number of bytes", &k->x->bytes);
}

static int read_size(plain_parser *k, plain_cursor *c) {
  ROOM(k, c, k->x->sizes, k->x->n_sizes);
  TRY(plain_take_rest(k, c, "a problem, n=1024,", &k->x->sizes[k->x->n_sizes]));
  const char *p = k->x->sizes[k->x->n_sizes++].p;
  const bool use = !strncmp(p, "emu ", 4) || !strncmp(p, "test ", 5) || !strncmp(p, "bench ", 6);
  return use || p[strcspn(p, " =")] == '='
             ? 0
             : FAIL(k, k->x->sizes[k->x->n_sizes - 1].at,
                    "a size is n=1024, or for one use: emu n=100, test n=7, bench n=4096");
}

static int read_option_line(plain_parser *k, plain_cursor *c) {
  ROOM(k, c, k->x->options, k->x->n_options);
  return plain_take_rest(k, c, "an option of the compiler", &k->x->options[k->x->n_options++]);
}

/* NAME, ...: macros whose own #define in the text does not count */
static int read_replace(plain_parser *k, plain_cursor *c) {
  gen_plain *x = k->x;
  do {
    ROOM(k, c, x->replaced, x->n_replaced);
    TRY(plain_take_name(k, c, "a macro's name", &x->replaced[x->n_replaced++]));
  } while (plain_skip(c, ','));
  return plain_take_end(k, c);
}

static int read_include(plain_parser *k, plain_cursor *c) {
  ROOM(k, c, k->x->folders, k->x->n_folders);
  gen_plain_text *folder = &k->x->folders[k->x->n_folders++];
  TRY(plain_take_rest(k, c, "a folder", folder));
  return folder->at.option || !file_name_leaves(folder->p)
             ? 0
             : FAIL(k, folder->at,
                    "a folder outside the file's own is named on the command line, by -I");
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct {
  const char *word;
  int (*read)(plain_parser *k, plain_cursor *c);
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
                {"arg", plain_read_arg},
                {"constant", plain_read_constant},
                {"scratch", plain_read_scratch},
                {"expected", plain_read_expected},
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

static int fail_keyword(plain_parser *k, const gen_plain_text *word) {
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

static int read_statement(plain_parser *k, const char *text, gen_plain_place at) {
  plain_cursor c = {text, at};
  gen_plain_text word;
  plain_skip_blanks(&c);
  if (!*c.p) {
    return 0;
  }
  TRY(plain_take_name(k, &c, "a keyword, such as param or grid,", &word));
  for (size_t i = 0; i < N_KEYWORDS; i++) {
    if (!strcmp(keywords[i].word, word.p)) {
      return keywords[i].read(k, &c);
    }
  }
  return fail_keyword(k, &word);
}

/* Statements between semicolons. */
static int read_line(plain_parser *k, const char *text, gen_plain_place at) {
  for (const char *p = text;;) {
    const size_t n = plain_length_to(p, ";");
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
static int read_file(plain_parser *k, const char *text) {
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
static int read_option(plain_parser *k, const char *line) {
  const size_t n = strcspn(line, " ");
  const char *value = line + n + (line[n] == ' ');
  const char *typed = arena_format(k->a, "--%.*s '%s'", (int)n, line, value);
  return typed ? read_line(k, line, (gen_plain_place){typed, 0, 1 - (int)(value - line)})
               : err_nomem(k->e);
}

static int name_from_path(plain_parser *k) {
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

static int check_whole(plain_parser *k) {
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
static int read_words(plain_parser *k, const char *const *lines, size_t n_lines) {
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
  plain_parser k = {.x = x, .a = a, .e = e};
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
