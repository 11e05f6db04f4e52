/* suite.h -- lists of problems as text: --sizes and the suites of bench.
 *
 * A family's suites are in tuner/peers/suites/FAMILY.txt, which is built in; those of a user's
 * template in FAMILY.txt beside it. A file of suites:
 *
 *   # a comment
 *   [cubes] powers of two, and one more
 *   m=n=k={64,128,256}
 *   m=n=k=65,129 ta=n,t
 *   m=64..1024*2 n=1000..1300+100 k=16     # 5 x 4 problems: m doubles, n grows by 100
 *
 * A field takes a list, in braces or not, and a line stands for all combinations, the last list
 * varying fastest. A value may be a range, a product or a sum; fields joined by = have the same
 * value. Lines before the first [name] form an unnamed suite: a file of nothing else is a list of
 * problems. */
#ifndef TUNE_SUITE_H
#define TUNE_SUITE_H

#include "gen.h"

enum { SUITE_MOST = 4096 };

typedef struct suite {
  const char **texts; /* as written, with the lists resolved: "n=2^16 dtype=i32" */
  gen_problem *p;
  size_t n;
} suite;

/* suite_open -- a template's suite by name, or a file by path (with a / or .txt); all in the arena.
 *   err ERR_USAGE     no such suite; lists them
 *       ERR_TEMPLATE  a line is wrong; place is file:line */
int suite_open(gen_template *t, const char *name, arena *a, suite *out, err *e);
/* suite_of -- from complete texts: a template's own sizes, or one problem */
int suite_of(gen_template *t, const char *const *texts, size_t n, arena *a, suite *out, err *e);
/* suite_expand -- add one line's combinations to *out. `common` are fields of all of them */
int suite_expand(gen_template *t, const char *common, const char *line, arena *a, suite *out,
                 err *e);
/* suite_read -- a file, or, when `from` contains = or a newline, the lines themselves, separated
 * by semicolons.
 *     err ERR_USAGE  a line is wrong, place is FILE:LINE; no problem;  ERR_NOTFOUND, ERR_IO the
 *        file */
int suite_read(gen_template *t, const char *from, const char *common, arena *a, suite *out, err *e);

#endif
