/* gen_fold.h -- a template's requirements and plan as partial values (expr_fold.h), with the
 * configuration known and the problem not.
 *
 * Equal partial values are one, whichever requirement of whichever configuration they come from, and
 * are computed once a problem. So many configurations can be checked for a new problem in the time
 * that one takes otherwise.
 */
#ifndef GEN_FOLD_H
#define GEN_FOLD_H

#include "gen.h"

typedef struct gen_fold gen_fold; /* of a template on a device */

/* gen_fold_new -- the template must outlive it.
 *   err  ERR_USAGE  the device's limits lack one */
int gen_fold_new(gen_template *t, const gen_number *device, size_t n_device, gen_fold **out,
                 err *e);
void gen_fold_free(gen_fold *f);
/* gen_fold_is_full -- there is hardly room for more partial values: without, they are
 * GEN_PARTIAL_NONE */
bool gen_fold_is_full(const gen_fold *f);
/* gen_fold_nbytes -- of memory */
size_t gen_fold_nbytes(const gen_fold *f);

typedef uint16_t gen_partial; /* a partial value; as long as the fold */
enum { GEN_PARTIAL_NONE, GEN_PARTIAL_FALSE, GEN_PARTIAL_TRUE }; /* NONE: unknown, or no memory */

/* gen_fold_config -- the configuration that is folded in from now on */
void gen_fold_config(gen_fold *f, const gen_config *c);
gen_partial gen_fold_requirement(gen_fold *f, size_t i);
/* gen_fold_derived -- GEN_PARTIAL_TRUE where derived value i can be had for every problem */
gen_partial gen_fold_derived(gen_fold *f, size_t i);

/* gen_fold_problem -- the values that partial values are computed from, from now on */
void gen_fold_problem(gen_fold *f, const gen_problem *p);
/* gen_partial_condition -- false: unknown, as it has no value or is no condition */
bool gen_partial_condition(gen_fold *f, gen_partial r, bool *yes);
/* gen_partial_has_value -- has it a value for this problem? */
bool gen_partial_has_value(gen_fold *f, gen_partial r);

typedef struct gen_work { /* what gen_plan says of a plan as a whole */
  size_t launches;
  /* of the launch with the most shared memory a block, of equals with the most threads */
  double blocks, threads, smem, work[GEN_MAX_WORK];
  double flops, bytes;
} gen_work;

typedef struct gen_folded_work gen_folded_work;
/* gen_fold_work -- of the plan, for the caller to free. NULL: out of memory */
gen_folded_work *gen_fold_work(gen_fold *f);
size_t gen_folded_work_nbytes(const gen_folded_work *w);
/* gen_partial_work -- for this problem; false: unknown */
bool gen_partial_work(gen_fold *f, const gen_folded_work *w, gen_work *out);

#endif
