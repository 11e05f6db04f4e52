/* sizes.h -- many problems of one family, and in which order to tune them.
 *
 * As text they are the lines of suite.h, on the command line between semicolons.
 *
 * They are ordered like a minimum spanning tree grows: next comes the problem that is nearest to
 * any that is tuned, so that each starts from its nearest neighbours' best configurations. */
#ifndef TUNE_SIZES_H
#define TUNE_SIZES_H

#include "gen.h"

typedef struct sizes {
  gen_problem *p; /* in the arena */
  size_t n;
} sizes;

/* sizes_read -- a file, or, when `from` has a = or an end of line in it, the problems themselves.
 * `common` are fields of all of them. A problem that is there twice is taken once. err  ERR_USAGE
 * place is FILE:LINE;  ERR_NOTFOUND, ERR_IO  the file */
int sizes_read(gen_template *t, const char *from, const char *common, arena *a, sizes *out, err *e);
/* sizes_hold -- is this problem among them? */
bool sizes_hold(const gen_template *t, const sizes *s, const gen_problem *p);
/* sizes_order -- in place; `tuned` are the n_tuned problems that there are results of. Without any,
 * the problem in the middle of all comes first. */
int sizes_order(const gen_template *t, sizes *s, const gen_problem *tuned, size_t n_tuned, err *e);

#endif
