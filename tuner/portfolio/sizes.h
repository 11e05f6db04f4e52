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
/* sample_sizes -- n problems of a grid: "m=16..8192 n=16..8192 k=64 ta=n,t". A range is drawn from
 * log-uniformly (an octave is as likely as any other), a list evenly; fields not named take their
 * preset. With `rounded`, every other problem has numbers that are multiples of 4, 16, 64 or an
 * eighth of their octave, as sizes in programs mostly are. Equal problems are taken once, so there
 * may be fewer. err  ERR_USAGE  what is wrong with which field */
int sample_sizes(gen_template *t, const char *grid, size_t n, uint64_t seed, bool rounded, arena *a,
                 sizes *out, err *e);

#endif
