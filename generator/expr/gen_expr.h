/* gen_expr.h -- expressions: a line of text in Lua's syntax over names that are known beforehand.
 *
 * Allowed are numbers, strings, names, operators, parentheses, and calls of the helpers. No
 * statements, functions or tables: so an expression always ends, and the names it reads are just
 * the names in it. That is what lets the enumeration of a space test a requirement as early as
 * possible.
 *
 * Helpers, over whole numbers unless said otherwise:
 *   ceildiv(a, b)         a / b, rounded up
 *   roundup(a, b)         the least multiple of b that is not below a
 *   min(...), max(...)    of any numbers
 *   log2(x)               n such that 2^n <= x < 2^(n+1)
 *   ispow2(x)             a condition
 *   pow2div(x, most)      the largest power of two that divides x, at most `most`
 *   sel(condition, a, b)  a or b; both are evaluated
 *   abs(x), sqrt(x), floor(x), ceil(x)  of any number
 * A number with a fraction of zero is whole. Enumerations and choices are texts.
 */
#ifndef GEN_EXPR_H
#define GEN_EXPR_H

#include "gen_sandbox.h"

/* Bits, so that a set of them says what an expression may read. */
typedef enum gen_symbol_kind {
  GEN_SYMBOL_FIELD = 1,
  GEN_SYMBOL_PARAM = 2,
  GEN_SYMBOL_DERIVED = 4,
  GEN_SYMBOL_FIXED = 8, /* a derived value that no parameter affects */
  GEN_SYMBOL_DEVICE = 16,
  GEN_SYMBOL_SCALAR = 32, /* an argument; the value it has in a case */
  GEN_SYMBOL_CALL = 64,   /* an argument of the typed call */
  GEN_SYMBOL_OTHER = 128  /* a buffer or workspace: a name that is taken */
} gen_symbol_kind;

enum {
  GEN_READS_PROBLEM = GEN_SYMBOL_FIELD | GEN_SYMBOL_FIXED,
  GEN_READS_DEVICE = GEN_READS_PROBLEM | GEN_SYMBOL_DEVICE,
  GEN_READS_CASE = GEN_READS_PROBLEM | GEN_SYMBOL_SCALAR,
  GEN_READS_CONFIG = GEN_READS_DEVICE | GEN_SYMBOL_PARAM | GEN_SYMBOL_DERIVED,
  GEN_READS_CALL = GEN_SYMBOL_CALL,
};

enum { GEN_MAX_SYMBOLS = 256 };

typedef struct gen_symbol {
  const char *name;
  gen_symbol_kind kind;
  uint32_t index; /* of the field, parameter, ... */
  uint16_t next;  /* of the same chain */
} gen_symbol;

enum { GEN_SYMBOL_CHAINS = 256 };

typedef struct gen_symbols { /* all zero: empty */
  gen_symbol at[GEN_MAX_SYMBOLS];
  size_t n;
  uint16_t first[GEN_SYMBOL_CHAINS]; /* in chains, one more than a symbol's place; 0: no other */
} gen_symbols;

/* gen_symbol_add -- there must be room */
const gen_symbol *gen_symbol_add(gen_symbols *s, const char *name, gen_symbol_kind kind,
                                 size_t index);

static inline bool gen_is_derived(const gen_symbol *s) {
  return s->kind == GEN_SYMBOL_DERIVED || s->kind == GEN_SYMBOL_FIXED;
}

/* gen_symbol_find -- the first of that name and one of those kinds; NULL: none */
const gen_symbol *gen_symbol_find(const gen_symbols *s, const char *name, unsigned kinds);

typedef struct gen_expr {
  const char *text; /* one line */
  gen_line at;
  const gen_symbol *const *reads; /* each once */
  size_t n_reads;
  const struct gen_code *code; /* the same for C; NULL: none, or not yet (gen_code.h) */
  bool asked;                  /* for its value, in a lazy box */
  struct gen_expr *next;       /* of the template */
} gen_expr;

/* gen_expr_reads_only -- does it read names of those kinds only? */
bool gen_expr_reads_only(const gen_expr *x, unsigned kinds);

typedef enum gen_type { GEN_INTEGER, GEN_REAL, GEN_CONDITION, GEN_NAME } gen_type;

typedef struct gen_result {
  gen_type type;
  int64_t i;
  double d; /* of both kinds of numbers */
  bool yes;
  const char *s; /* borrowed from Lua while the names' values stay */
} gen_result;

/* Inside gen_box_run: */

/* gen_expr_new -- check and, unless the box is lazy, compile.
 *   in   text     may span lines and have comments; what is kept does not
 *        symbols  what it may read: those of the kinds among them
 *   err  ERR_TEMPLATE  at `at` */
gen_expr *gen_expr_new(gen_box *b, arena *a, const char *text, gen_line at,
                       const gen_symbols *symbols, unsigned kinds);
/* gen_expr_value -- evaluate with the values now in the template's table.
 *   err  ERR_TEMPLATE  also what Lua's compiler finds, when the box is lazy */
gen_result gen_expr_value(gen_box *b, const gen_expr *x);
/* The same with what the value must be; anything else is ERR_TEMPLATE. */
int64_t gen_expr_integer(gen_box *b, const gen_expr *x);
double gen_expr_real(gen_box *b, const gen_expr *x);
bool gen_expr_condition(gen_box *b, const gen_expr *x);

#endif
