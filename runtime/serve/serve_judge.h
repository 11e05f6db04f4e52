/* serve_judge.h -- a portfolio's configurations for a problem that nobody has met, all at once.
 *
 * What serve_adapt makes of a configuration depends on the problem through the answers to its
 * questions: does this requirement hold, with that parameter changed? Most answers are the same for
 * every problem; the others are remainders (gen_fold.h), whose values are computed once a problem,
 * however many configurations ask. So the forms that configurations have taken are kept, each with
 * its requirements' remainders, and for each requirement that failed the changes that could mend
 * it: what is left for a new problem is to look answers up.
 *
 * Of bounded size: forms that were of use rarely or long ago are forgotten. What it can't tell is
 * asked of the generator, as ever. */
#ifndef SERVE_JUDGE_H
#define SERVE_JUDGE_H

#include "serve_model.h"

typedef struct serve_judge serve_judge;

/* serve_judge_new -- of those configurations, on a device with those limits; the template must
 * outlive it.
 *   err  ERR_NOMEM */
int serve_judge_new(gen_template *t, const gen_config *configs, size_t n, const gen_number *limits,
                    size_t n_limits, serve_judge **out, err *e);
void serve_judge_free(serve_judge *j);
/* serve_judge_bound -- so much memory at most for what it has learnt, within bounds of its own */
void serve_judge_bound(serve_judge *j, size_t nbytes);
/* serve_judge_is_of -- the very same configurations? */
bool serve_judge_is_of(const serve_judge *j, const gen_config *configs, size_t n);
/* serve_judge_problem -- the one that is judged from now on */
void serve_judge_problem(serve_judge *j, const gen_problem *p);

typedef struct serve_judged { /* one configuration */
  bool fits;                  /* if need be, adapted; else nothing below counts */
  gen_config config;
  int changed;
  serve_work work;
} serve_judged;

/* serve_judge_one -- configuration i; false: only the generator can tell
 *   cost a microsecond or two; a form that nobody has met yet takes 20 more */
bool serve_judge_one(serve_judge *j, size_t i, serve_judged *out);
/* serve_judge_as_it_is -- the same without changes: does it fit? */
bool serve_judge_as_it_is(serve_judge *j, size_t i, serve_judged *out);
/* serve_judge_nbytes -- of memory, about */
size_t serve_judge_nbytes(const serve_judge *j);

#endif
