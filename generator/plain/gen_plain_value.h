/* gen_plain_value.h -- expressions and lists of values in the lines of a plain CUDA file, as Lua has
 * them. */
#ifndef GEN_PLAIN_VALUE_H
#define GEN_PLAIN_VALUE_H

#include <ctype.h>

#include "c_name.h"
#include "gen_plain.h"

static inline bool gen_plain_is_number(const char *p) {
  return isdigit((unsigned char)*p) || *p == '-';
}
/* gen_plain_is_macro -- a parameter, or a macro that follows from others? */
bool gen_plain_is_macro(const gen_plain *x, const char *name);
/* gen_plain_expand -- gen_plain_expression with parameters' defaults, and with what the first macros
 * that follow from others stand for */
void gen_plain_expand(const char *text, const gen_plain *x, size_t n_defines, str *out);
/* gen_plain_part_length -- up to a comma outside of parentheses, or the end */
size_t gen_plain_part_length(const char *p);
/* gen_plain_values -- append the list "8,16,32..64*2"; gen_plain_value -- one entry of it, n bytes */
int gen_plain_values(const gen_plain *x, arena *a, const gen_plain_text *from, str *out, err *e);
int gen_plain_value(const gen_plain *x, arena *a, const gen_plain_text *from, const char *p,
                    size_t n, str *out, err *e);

#endif
