/* timing_table.h -- the times of given configurations at given sizes: the table from which
 * portfolio_table.h chooses.
 *
 * Each configuration is adapted to a size as libtuned would adapt it. Results are checked, timed
 * and stored as trials one by one, through the tuner's pipeline; those in the database are not
 * measured again. */
#ifndef TUNE_TIMING_TABLE_H
#define TUNE_TIMING_TABLE_H

#include "portfolio_model.h"
#include "sizes.h"
#include "tune.h"

typedef struct timing_progress { /* after a size */
  const char *problem;
  size_t i, n;       /* the i-th of n */
  uint64_t measured; /* by this run so far */
  const char *why;   /* the size failed as a whole; NULL: it did not */
} timing_progress;

typedef struct timing_options {
  const char *device;
  int jobs;           /* compile workers; 0: one per core */
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
/* timing_table_fill -- sec[config * stride + size]: INFINITY where the configuration does not fit
 * or failed. work has the same layout.
 *   in   budget   seconds after which no size is started; 0: no limit
 *   out  *n_done  sizes that were timed; fewer than all when the time is over
 *   err  ERR_INTERRUPTED  finished results are stored */
int timing_table_fill(timing_table *g, const gen_config *configs, size_t n_configs,
                      const sizes *list, double budget, size_t stride, double *sec,
                      model_work *work, size_t *n_done, err *e);

#endif
