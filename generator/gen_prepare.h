/* gen_prepare.h -- the preparation of a template: stages that run when inputs change, and the buffers
 * that they leave for launches (templates/README.md, `prepare`).
 *
 * It has parts. Behind each, the host reads counts, which the sizes of buffers, later parts and the
 * launch itself depend on.
 */
#ifndef GEN_PREPARE_H
#define GEN_PREPARE_H

#include "gen_plan.h"

typedef struct gen_problem gen_problem;

enum { GEN_MAX_COUNTS = 8, GEN_MAX_PREPARED = 48 };

typedef struct gen_counts { /* those that are known */
  uint32_t known;           /* bits */
  int64_t values[GEN_MAX_COUNTS];
} gen_counts;

typedef struct gen_reading_back { /* of a count */
  size_t index;                   /* among the counts */
  gen_operand of;                 /* an argument, or GEN_FROM_PREPARED */
  dtype type;
  uint64_t at; /* bytes from its start */
  int64_t most;
} gen_reading_back;

typedef struct gen_preparation {     /* a part */
  const gen_plan *plan;              /* NULL: there are no more parts */
  uint64_t nbytes[GEN_MAX_PREPARED]; /* of the buffers that it needs first; elsewhere 0 */
  uint32_t fresh;                    /* bits: these */
  const gen_reading_back *reads;     /* behind its launches */
  size_t n_reads;
} gen_preparation;

/* gen_prepare_part -- the part of that number, given the counts that earlier parts read; out in the arena.
 *   err  ERR_TEMPLATE  as gen_plan_make; a stage takes a buffer whose size is not known yet */
int gen_prepare_part(gen_instance *g, const gen_config *c, size_t part, const gen_counts *counts,
                     arena *a, gen_preparation *out, err *e);
/* gen_prepares -- does this configuration prepare anything? */
int gen_prepares(gen_instance *g, const gen_config *c, bool *yes, err *e);
/* gen_values_plan -- the stages that run again when only values change */
int gen_values_plan(gen_instance *g, const gen_config *c, const gen_counts *counts, arena *a,
                    const gen_plan **out, err *e);
/* gen_plan_make_for -- gen_plan_make with these counts; there, unknown ones are at their bounds */
int gen_plan_make_for(gen_instance *g, const gen_config *c, const gen_counts *counts, arena *a,
                      const gen_plan **out, err *e);

/* gen_uses -- how often a preparation is used, by the problem's field `uses`; 0: so often that it does
 * not count, or there is no such field */
double gen_uses(const gen_template *t, const gen_problem *p);

#endif
