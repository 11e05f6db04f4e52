/* gen_input.h -- problems that name the matrix they are about: "matrix=zipf rows=2^20 exponent=1.8". The
 * key `matrix` of a template says which fields hold its numbers of rows, columns and entries. */
#ifndef GEN_INPUT_H
#define GEN_INPUT_H

#include "gen_tmpl.h"

/* gen_input_is_named -- does a problem's text name a matrix, and may it with this template? */
bool gen_input_is_named(const tmpl *t, const char *text);
/* gen_input_split -- its words: those of the matrix, without "matrix=", and those of fields */
int gen_input_split(const tmpl *t, const char *text, str *input, str *fields, err *e);
/* gen_input_resolve -- p->input, and the fields that hold counts
 *   in   count  make the matrix where nothing else tells its number of entries
 *   err  ERR_USAGE, ERR_LIMIT  there is no such matrix, or it has other counts than those given */
int gen_input_resolve(tmpl *t, const char *input, bool count, gen_problem *p, bool *given, err *e);
/* gen_input_of -- the text of the instance's matrix, in the arena: the one that the problem names, or one
 * of its counts; NULL: no memory */
const char *gen_input_of(const gen_instance *g, arena *a);

#endif
