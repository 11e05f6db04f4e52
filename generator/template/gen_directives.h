/* gen_directives.h -- preprocessor lines that test or define what is not a macro.
 *
 * Parameters reach a template's text as C++ constants, of which the preprocessor knows nothing:
 * `#if COARSE > 1` is silently false, and `#define BLOCK 32` silently replaces the tuned value.
 */
#ifndef GEN_DIRECTIVES_H
#define GEN_DIRECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* What a word of the text is in the template, "a parameter"; NULL: nothing. *constant: the text
 * has a C++ constant of this name. */
typedef const char *gen_describe_word(const void *ud, const char *word, size_t n, bool *constant);

/* gen_directives_check -- refuse a directive that tests a word of the template, itself or through a
 * macro, and one that defines a constant.
 *   in  text  with #line directives; ends with a NUL
 *   err ERR_TEMPLATE  place is the file:line that they say */
int gen_directives_check(const char *text, size_t n, gen_describe_word *describe, const void *ud,
                         err *e);

#endif
