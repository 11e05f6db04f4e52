/* gen_fold.h -- what is left of a template's questions when the configuration is known.
 *
 * With the parameters and the device's limits given, most of a requirement is a constant, and what
 * remains is about the problem's fields: `align >= 4`, `16 < max(m, 16)`. Equal remainders are one,
 * whichever requirement of whichever configuration they come from, and are computed once a problem.
 * So many configurations can be judged for a new problem in the time that one takes otherwise.
 *
 * What a remainder says is what Lua says of the expression; where it can't tell, because there
 * would be an error or because C does not know the operation (gen_code.h), it says so.
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
/* gen_fold_is_full -- there is hardly room for more remainders: without, questions are left open */
bool gen_fold_is_full(const gen_fold *f);
/* gen_fold_nbytes -- of memory */
size_t gen_fold_nbytes(const gen_fold *f);

typedef uint16_t gen_rest;                             /* a remainder; as long as the fold */
enum { GEN_REST_NONE, GEN_REST_FALSE, GEN_REST_TRUE }; /* NONE: can't be told, or no memory */

/* gen_fold_config -- the configuration that is folded in from now on */
void gen_fold_config(gen_fold *f, const gen_config *c);
gen_rest gen_fold_requirement(gen_fold *f, size_t i);
/* gen_fold_derived -- GEN_REST_TRUE where derived value i can be had for every problem */
gen_rest gen_fold_derived(gen_fold *f, size_t i);

/* gen_fold_problem -- the values that remainders are of from now on */
void gen_fold_problem(gen_fold *f, const gen_problem *p);
/* gen_rest_condition -- false: it can't be told */
bool gen_rest_condition(gen_fold *f, gen_rest r, bool *yes);
/* gen_rest_holds_value -- has it a value for this problem? */
bool gen_rest_has_value(gen_fold *f, gen_rest r);

typedef struct gen_work { /* what gen_plan says of a plan as a whole */
  size_t launches;
  /* of the launch with the most shared memory a block, of equals with the most threads */
  double blocks, threads, smem, work[GEN_MAX_WORK];
  double flops, bytes;
} gen_work;

typedef struct gen_work_rest gen_work_rest;
/* gen_fold_work -- of the plan, for the caller to free. NULL: out of memory */
gen_work_rest *gen_fold_work(gen_fold *f);
size_t gen_work_rest_nbytes(const gen_work_rest *w);
/* gen_rest_work -- for this problem; false: it can't be told */
bool gen_rest_work(gen_fold *f, const gen_work_rest *w, gen_work *out);

#endif
