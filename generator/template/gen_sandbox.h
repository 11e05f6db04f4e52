/* gen_sandbox.h -- one Lua state that a template cannot get out of, and cannot make run for ever.
 *
 * What a script sees: table, string and math without what reaches outside or differs from run to
 * run (string.dump, math.random, addresses in tostring), pairs in a fixed order, the helpers of
 * expressions, and nothing that could catch an error (pcall, coroutines, metatables), so that a
 * limit once reached ends the script.
 *
 * What it may use up: a budget of instructions, which memory it allocates and library functions
 * whose work is out of proportion to their instructions are charged to as well, and bytes.
 *
 * Every use of the state happens inside gen_box_run, which turns any error into a gen_failure;
 * inside it, functions fail with gen_fail and do not return. So what they own lives in an arena or
 * with their caller.
 */
#ifndef GEN_SANDBOX_H
#define GEN_SANDBOX_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "gen.h"

typedef struct gen_line { /* a place in a template */
  const char *path;
  int line;               /* 0: unknown */
  const char *expression; /* that stands there, for messages; NULL: none */
} gen_line;

typedef struct gen_failure {
  int code;
  gen_line at;
  char message[600];
} gen_failure;

typedef struct gen_box {
  lua_State *L;
  size_t nbytes, max_nbytes;
  uint64_t used, budget, max_instructions; /* of the run under way; per run */
  uint64_t n_allocations, fail_at;
  size_t longest; /* of all texts that scripts created, in bytes */
  const volatile int *stop;
  bool full, spent;      /* a limit was reached: memory, budget */
  bool lazy;             /* gen_options */
  const gen_line *lines; /* of the script that runs, by its line - 1; NULL: the template itself */
  size_t n_lines;
  gen_line at;   /* what runs now: an expression, or home */
  gen_line home; /* the template as a whole */
  gen_failure failure;
  const struct expr_env *env; /* what the template's expressions read */
  str scratch;                /* for building a text inside gen_box_run, which may fail meanwhile */
} gen_box;

/* gen_box_open -- the struct is the caller's and must not move afterwards; gen_box_close even after
 * a failure */
int gen_box_open(gen_box *b, const gen_options *options, err *e);
void gen_box_close(gen_box *b);

typedef void gen_action(gen_box *b, void *ud);

/* gen_box_run -- call f(b, ud) protected.
 *   in  scripted  Lua statements of a template will run, so instructions must be counted
 *   err whatever it failed with; place is file:line */
int gen_box_run(gen_box *b, gen_action *f, void *ud, bool scripted, err *e);

/* ---- inside gen_box_run ---------------------------------------------------------------------- */

/* gen_fail -- end the run with this error */
void gen_fail(gen_box *b, int code, gen_line at, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
/* gen_box_charge -- count work that instructions do not show */
void gen_box_charge(gen_box *b, uint64_t instructions);
/* gen_push_chunk -- compile text (never bytecode) and push the function. `name`, one word, starts
 * its messages. Its globals are the table on top of the stack, which it replaces. */
void gen_push_chunk(gen_box *b, const char *text, size_t n, const char *name);

/* gen_library.c: */
gen_action gen_library_open;
/* gen_push_globals -- push a new table with everything a script may use; reading a name that is not
 * in it is an error, not nil */
void gen_push_globals(gen_box *b);

/* gen_suggestion -- "; did you mean 'm'?", or "" */
typedef struct gen_hint {
  char text[80];
} gen_hint;
gen_hint gen_suggestion(const char *word, const char *const *names, size_t n);

#endif
