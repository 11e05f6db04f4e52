/* python.h -- translate Python expressions of tuning specifications to Lua.
 *
 * Conditions become expressions of the generator; lists of values become Lua that builds a table
 * with the functions of python_lists. Supported are numbers, strings, True and False, arithmetic,
 * chained comparisons, in, and, or, not, x if c else y, min, max, abs, int, round, lists, range and
 * list comprehensions. Lua's //, % and / round as Python's do; True and False are 1 and 0. */
#ifndef TUNE_PYTHON_H
#define TUNE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "str.h"

typedef struct python_name {
  const char *name;
  bool is_text; /* its values are strings */
} python_name;

/* python_condition -- append the condition in Lua.
 *   err  ERR_USAGE  not supported Python, or a name that is not among `names` */
int python_condition(const char *text, const python_name *names, size_t n, str *out, err *e);
/* python_number -- the same of an expression whose value is a number; a condition counts as 0 or 1 */
int python_number(const char *text, const python_name *names, size_t n, str *out, err *e);
/* python_list -- append Lua that evaluates to a table of the values; it calls functions that
 * python_lists defines */
int python_list(const char *text, str *out, err *e);
extern const char python_lists[];

#endif
