/* gen_reader.h -- walking over the table that a template returns, with the line at hand.
 *
 * The reader stands on one value, on top of Lua's stack; gen_enter goes to an entry of it and
 * gen_leave back. Anything that is not as it should be ends the run with the line of where the
 * reader stands. All of it inside gen_box_run.
 */
#ifndef GEN_READER_H
#define GEN_READER_H

#include "gen_tmpl.h"

typedef struct gen_reader {
  tmpl *t;
  gen_box *b;
  lua_State *L;
  arena *a;
  const gen_mark *marks[12]; /* from the root to here */
  int depth;
} gen_reader;

/* gen_reader_start -- on the value on top of the stack */
gen_reader gen_reader_start(tmpl *t);
#define GEN_SCRATCH_HINT                                                                           \
  "scratch memory of kernels is a workspace: workspace = { { \"name\", \"f32\", \"count\" } }"

gen_line gen_here(const gen_reader *r);
void gen_bad(gen_reader *r, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* gen_make -- zeroed memory of the template's arena; never NULL */
void *gen_make(gen_reader *r, size_t nbytes);
#define GEN_MAKE(r, type, n) ((type *)gen_make((r), sizeof(type) * (n)))

/* gen_enter -- the entry of that name or place; false, and nothing moved, when there is none */
bool gen_enter(gen_reader *r, const char *key);
bool gen_enter_at(gen_reader *r, int64_t i);
/* the same, where there must be one */
void gen_need(gen_reader *r, const char *key);
void gen_need_at(gen_reader *r, int64_t i, const char *what);
void gen_leave(gen_reader *r);

/* gen_list -- number of places of the list here.
 *   in  keys  entries with names that it may have besides; ends with NULL; NULL: none */
size_t gen_list(gen_reader *r, const char *what, const char *const *keys);
/* gen_keys -- the table here may have these keys and nothing else */
void gen_keys(gen_reader *r, const char *const *keys);

/* gen_bounded_list -- the same without such entries, at most max long */
size_t gen_bounded_list(gen_reader *r, const char *what, size_t max);
/* gen_first_name -- the text that the list here starts with */
const char *gen_first_name(gen_reader *r, const char *what);

/* The value here, which must be such; texts are copied to the arena. */
const char *gen_text(gen_reader *r, const char *what);
/* gen_text_here -- Lua's own, as long as the reader stays here */
const char *gen_text_here(gen_reader *r, const char *what, size_t *n);
int64_t gen_integer(gen_reader *r, const char *what);
double gen_real_number(gen_reader *r, const char *what);
bool gen_is_text(const gen_reader *r);
bool gen_is_table(const gen_reader *r);
/* gen_expression -- the text or number here as an expression over names of those kinds */
const gen_expr *gen_expression(gen_reader *r, unsigned kinds);
/* the same where it must be a condition or a number */
const gen_expr *gen_condition(gen_reader *r, unsigned kinds);
const gen_expr *gen_numeric(gen_reader *r, unsigned kinds);
/* the entry of that name; NULL when there is none */
const char *gen_text_at(gen_reader *r, const char *key);
const gen_expr *gen_condition_at(gen_reader *r, const char *key, unsigned kinds);
const gen_expr *gen_numeric_at(gen_reader *r, const char *key, unsigned kinds);

/* gen_read_tolerance -- the table { abs = ..., rel = ... } here; a bound has no workspace yet */
void gen_read_tolerance(gen_reader *r, unsigned kinds, gen_tolerance *out);

/* gen_declare -- give the name of the value here to a thing: it must be an identifier that nothing
 * else has, and that neither Lua, C++ nor expressions reserve */
gen_symbol *gen_declare(gen_reader *r, const char *name, gen_symbol_kind kind, size_t index);
/* gen_check_name -- the part of it that is not about other names */
void gen_check_name(gen_reader *r, const char *name);

#endif
