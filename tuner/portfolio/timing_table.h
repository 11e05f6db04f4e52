/* timing_table.h -- time given configurations at given sizes: the table that portfolio_learn.h chooses from.
 *
 * As the tuner does it: compile workers ahead, one measuring process behind, each result checked
 * against the reference, timed and stored as a trial before the next; what the database knows is
 * not measured again. A configuration that does not fit a size is adapted as libtuned would adapt
 * it. */
#ifndef TUNE_TIMING_TABLE_H
#define TUNE_TIMING_TABLE_H

#include "portfolio_model.h"
#include "sizes.h"
#include "tune.h"

typedef struct timing_progress { /* after a size */
  const char *problem;
  size_t i, n;       /* the i-th of n */
  uint64_t measured; /* so far; what was known is not counted */
  const char *why;   /* it could not be had at all; NULL: it could */
} timing_progress;

typedef struct timing_options {
  const char *device;
  int jobs;           /* compile workers; 0: one a core */
  double timeout_sec; /* for one compilation or measurement; 0: 120 */
  const volatile sig_atomic_t *stop;
  void (*report)(void *, const timing_progress *); /* may be NULL */
  void *report_self;
} timing_options;

typedef struct timing_table timing_table;

/* timing_table_open -- start the processes. err ERR_DEVICE */
int timing_table_open(gen_template *t, db *d, rt_compiler *c, const timing_options *o,
                      timing_table **out, err *e);
void timing_table_close(timing_table *g);
const rt_info *timing_table_device(const timing_table *g);
int64_t timing_table_device_id(const timing_table *g);
int64_t timing_table_template_id(const timing_table *g);
/* timing_table_fill -- sec[config * stride + size]: INFINITY where it does not fit or failed; work
 * likewise, what they do there.
 *   in   budget   seconds after which no size is begun; 0: all of them are
 *   out  *n_done  sizes that were looked at; fewer than all when the time is over
 *   err  ERR_INTERRUPTED  what is finished is stored */
int timing_table_fill(timing_table *g, const gen_config *configs, size_t n_configs,
                      const sizes *list, double budget, size_t stride, double *sec,
                      model_work *work, size_t *n_done, err *e);

#endif
