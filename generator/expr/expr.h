/* expr.h -- expressions: a line of text in Lua's syntax over names that are known beforehand, and
 * the operations on them. Scripts in Lua (the `@` lines of a source) are not expressions.
 *
 * Allowed are numbers, texts, names, operators, parentheses, and calls of the helpers. No
 * statements, functions or tables: so an expression always ends, and the names it reads are just
 * the names in it. What operators mean is what they mean in Lua 5.4.
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
 *
 * The text is parsed once (expr_parse.c, which also checks names, arity and types) into a tree.
 * Passes over it: expr_eval, expr_reads (here), expr_print_c (expr_print.c), parts (expr_parts.h)
 * and partial values (expr_fold.h).
 */
#ifndef EXPR_H
#define EXPR_H

#include "arena.h"
#include "err.h"
#include "expr_value.h"
#include "gen_symbol.h"
#include "str.h"

typedef struct expr_node {
  uint8_t op, n, types; /* kids; types the value may have */
  bool grouped;         /* it was written in parentheses */
  uint16_t index, kind; /* names: among the values of its kind (gen_symbol_kind) */
  union {
    expr_value value;                /* of EXPR_VALUE */
    const char *name;                /* of names */
    const struct expr_node *kids[3]; /* min and max of more are nested */
  };
} expr_node;

typedef struct expr_scope {   /* the names an expression may read */
  const gen_symbols *symbols; /* NULL: any, all EXPR_NAME */
  unsigned kinds;             /* of gen_symbol_kind */
} expr_scope;

/* expr_parse --
 *   in   text  may span lines and have comments
 *   out  line  the same on one line without comments; may be NULL
 *        *out  in the arena; names point to the symbols'
 *   err  ERR_TEMPLATE  not an expression, an unknown name (suggests the nearest), wrong number of
 *                      arguments, operands whose types never fit
 *        ERR_NOMEM */
int expr_parse(const expr_scope *scope, arena *a, const char *text, str *line,
               const expr_node **out, err *e);

/* expr_node_new -- an operation, its types inferred; NULL: out of memory */
expr_node *expr_node_new(arena *a, expr_op op, const expr_node *const *kids);

/* expr_reads -- add the names in it */
void expr_reads(const expr_node *x, gen_names *out);

typedef struct expr_env { /* where the values of names are, each kind an array */
  const expr_value *values[EXPR_N_SOURCES];
} expr_env;

/* expr_eval -- false: it has no value */
bool expr_eval(const expr_node *x, const expr_env *env, expr_value *out);
/* expr_explain -- why expr_eval said false */
void expr_explain(const expr_node *x, const expr_env *env, char *out, size_t size);

/* expr_print_c -- see gen_expression_c in gen.h
 *   in  derived  trees of derived values: conditions are written out; NULL: by their names */
int expr_print_c(const expr_node *x, const expr_node *const *derived,
                 const char *(*name)(void *, const char *), void *ud, str *out, err *e);

extern const char *const expr_helper_names[]; /* ends with NULL */

#endif
