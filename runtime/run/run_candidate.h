/* run_candidate.h -- a configuration's image on a device, with its preparation where the template has one:
 * what is checked and timed. */
#ifndef RT_CANDIDATE_H
#define RT_CANDIDATE_H

#include "prepared.h"

typedef struct rt_candidate { /* all zero: none */
  rt_loaded *loaded;
  rt_prepared *prepared; /* NULL: the template prepares nothing */
} rt_candidate;

/* rt_candidate_load -- as rt_loaded_new; the instance must outlive it.
 *   in  plan  of the configuration */
int rt_candidate_load(rt_candidate *k, rt_device *d, const str *image, const gen_template *t,
                      gen_instance *g, const gen_config *c, const gen_plan *plan, err *e);
void rt_candidate_clear(rt_candidate *k);
rt_contender rt_candidate_contender(rt_candidate *k);
/* rt_candidate_plan -- gen_plan_make, with the counts of the last preparation if there was one */
int rt_candidate_plan(const rt_candidate *k, gen_instance *g, const gen_config *c, arena *a,
                      const gen_plan **out, err *e);

/* A single launch of a candidate's, to be timed after what the candidate prepares. */
typedef struct rt_stage {
  rt_candidate *of;
  rt_loaded *loaded; /* the caller's */
} rt_stage;
/* rt_stage_open -- launch i, once where it is in a loop */
int rt_stage_open(rt_stage *x, rt_candidate *of, const gen_template *t, const gen_plan *plan,
                  size_t i, err *e);
void rt_stage_close(rt_stage *x);
rt_contender rt_stage_contender(rt_stage *x);

#endif
