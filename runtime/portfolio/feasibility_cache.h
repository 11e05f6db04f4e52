/* feasibility_cache.h -- which of a portfolio's configurations fit a new problem, and adapted how.
 *
 * adapt_config finds that out by evaluating requirements: does this one hold, with that parameter
 * changed? Most answers are the same for every problem. The others depend on it through partial
 * results (gen_fold.h), whose values are computed once per problem, however many configurations
 * need them. So the cache keeps the variants that configurations were adapted to, each with the
 * partial results of its requirements, and for each requirement that failed the changes that could
 * repair it. For a new problem it only looks answers up.
 *
 * Its size is bounded: variants that were used rarely or long ago are forgotten. Where the cache
 * can't tell, the generator has to. */
#ifndef FEASIBILITY_CACHE_H
#define FEASIBILITY_CACHE_H

#include "portfolio_model.h"

typedef struct feasibility_cache feasibility_cache;

/* feasibility_cache_new -- for these configurations, on a device with these limits; the template
 * must outlive it.
 *   err  ERR_NOMEM */
int feasibility_cache_new(gen_template *t, const gen_config *configs, size_t n,
                          const gen_number *limits, size_t n_limits, feasibility_cache **out,
                          err *e);
void feasibility_cache_free(feasibility_cache *fc);
/* feasibility_cache_bound -- the most memory that it takes, within bounds of its own */
void feasibility_cache_bound(feasibility_cache *fc, size_t nbytes);
/* feasibility_cache_is_of -- is it for exactly these configurations? */
bool feasibility_cache_is_of(const feasibility_cache *fc, const gen_config *configs, size_t n);
/* feasibility_cache_problem -- the problem that is asked about from now on */
void feasibility_cache_problem(feasibility_cache *fc, const gen_problem *p);

typedef struct feasibility { /* one configuration */
  bool fits;                 /* adapted if need be; false: nothing below counts */
  gen_config config;
  int changed;
  model_work work;
} feasibility;

/* feasibility_cache_get -- configuration i; false: only the generator can tell
 *   cost a microsecond or two; a new variant takes 20 more */
bool feasibility_cache_get(feasibility_cache *fc, size_t i, feasibility *out);
/* feasibility_cache_get_unchanged -- the same without adapting */
bool feasibility_cache_get_unchanged(feasibility_cache *fc, size_t i, feasibility *out);
/* feasibility_cache_nbytes -- of memory, about */
size_t feasibility_cache_nbytes(const feasibility_cache *fc);

#endif
