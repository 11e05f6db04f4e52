/* suite.h -- named lists of problems to bench, as data.
 *
 * A family's suites stand in tuner/suites/FAMILY.txt, which is built in; those of a template of
 * your own in FAMILY.txt beside it. A file of suites:
 *
 *   # a comment
 *   [cubes] powers of two, and one more
 *   m=n=k={64,128,256}
 *   m=n=k={65,129} ta={n,t}
 *
 * Fields take lists, and a line stands for all their combinations, the last list running fastest;
 * fields joined by = run together. Lines before the first [name] make a suite without a name: a
 * file of nothing else is a list of problems.
 */
#ifndef TUNE_SUITE_H
#define TUNE_SUITE_H

#include "gen.h"

typedef struct suite_problem {
  const char *text; /* as the file has it, lists resolved: "n=2^16 dtype=i32" */
  gen_problem p;
} suite_problem;

typedef struct suite {
  const suite_problem *problems;
  size_t n;
} suite;

/* suite_open -- of a template, by a name, or the path of a file (with a / or a .txt); all in the
 * arena.
 *   err ERR_USAGE     no such suite; lists what there is
 *       ERR_TEMPLATE  a line is wrong; place is file:line */
int suite_open(gen_template *t, const char *name, arena *a, suite *out, err *e);
/* suite_of -- of ready texts: a template's own sizes, or one problem */
int suite_of(gen_template *t, const char *const *texts, size_t n, arena *a, suite *out, err *e);
/* suite_expand -- one line's combinations, added to *out */
int suite_expand(gen_template *t, const char *line, arena *a, suite *out, err *e);

#endif
