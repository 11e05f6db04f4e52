/* feasibility_cache.h -- a portfolio's configurations for a problem that nobody has met, all at once.
 *
 * What adapt_config makes of a configuration depends on the problem through the answers to its
 * questions: does this requirement hold, with that parameter changed? Most answers are the same for
 * every problem; the others are remainders (gen_fold.h), whose values are computed once a problem,
 * however many configurations ask. So the forms that configurations have taken are kept, each with
 * its requirements' remainders, and for each requirement that failed the changes that could mend
 * it: what is left for a new problem is to look answers up.
 *
 * Of bounded size: forms that were of use rarely or long ago are forgotten. What it can't tell is
 * asked of the generator, as ever. */
#ifndef FEASIBILITY_CACHE_H
#define FEASIBILITY_CACHE_H

#include "portfolio_model.h"

typedef struct feasibility_cache feasibility_cache;

/* feasibility_cache_new -- of those configurations, on a device with those limits; the template must
 * outlive it.
 *   err  ERR_NOMEM */
int feasibility_cache_new(gen_template *t, const gen_config *configs, size_t n,
                          const gen_number *limits, size_t n_limits, feasibility_cache **out,
                          err *e);
void feasibility_cache_free(feasibility_cache *j);
/* feasibility_cache_bound -- so much memory at most for what it has learnt, within bounds of its own */
void feasibility_cache_bound(feasibility_cache *j, size_t nbytes);
/* feasibility_cache_is_of -- the very same configurations? */
bool feasibility_cache_is_of(const feasibility_cache *j, const gen_config *configs, size_t n);
/* feasibility_cache_problem -- the one that is judged from now on */
void feasibility_cache_problem(feasibility_cache *j, const gen_problem *p);

typedef struct feasibility { /* one configuration */
  bool fits;                 /* if need be, adapted; else nothing below counts */
  gen_config config;
  int changed;
  model_work work;
} feasibility;

/* feasibility_cache_get -- configuration i; false: only the generator can tell
 *   cost a microsecond or two; a form that nobody has met yet takes 20 more */
bool feasibility_cache_get(feasibility_cache *j, size_t i, feasibility *out);
/* feasibility_cache_get_unchanged -- the same without changes: does it fit? */
bool feasibility_cache_get_unchanged(feasibility_cache *j, size_t i, feasibility *out);
/* feasibility_cache_nbytes -- of memory, about */
size_t feasibility_cache_nbytes(const feasibility_cache *j);

#endif
