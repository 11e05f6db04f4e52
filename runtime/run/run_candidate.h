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

#endif
