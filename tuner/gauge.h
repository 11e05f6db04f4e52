/* gauge.h -- time given configurations at given sizes: the table that cover.h chooses from.
 *
 * As the tuner does it: compile workers ahead, one measuring process behind, each result checked
 * against the reference, timed and stored as a trial before the next; what the database knows is
 * not measured again. A configuration that does not fit a size is adapted as libtuned would adapt
 * it. */
#ifndef TUNE_GAUGE_H
#define TUNE_GAUGE_H

#include "serve_model.h"
#include "sizes.h"
#include "tune.h"

typedef struct gauge_progress { /* after a size */
  const char *problem;
  size_t i, n;       /* the i-th of n */
  uint64_t measured; /* so far; what was known is not counted */
  const char *why;   /* it could not be had at all; NULL: it could */
} gauge_progress;

typedef struct gauge_options {
  const char *device;
  int jobs;           /* compile workers; 0: one a core */
  double timeout_sec; /* for one compilation or measurement; 0: 120 */
  const volatile sig_atomic_t *stop;
  void (*report)(void *, const gauge_progress *); /* may be NULL */
  void *report_self;
} gauge_options;

typedef struct gauge gauge;

/* gauge_open -- start the processes. err ERR_DEVICE */
int gauge_open(gen_template *t, db *d, rt_compiler *c, const gauge_options *o, gauge **out, err *e);
void gauge_close(gauge *g);
const rt_info *gauge_device(const gauge *g);
int64_t gauge_device_id(const gauge *g);
int64_t gauge_template_id(const gauge *g);
/* gauge_table -- sec[config * stride + size]: INFINITY where it does not fit or failed; work
 * likewise, what they do there.
 *   in   budget   seconds after which no size is begun; 0: all of them are
 *   out  *n_done  sizes that were looked at; fewer than all when the time is over
 *   err  ERR_INTERRUPTED  what is finished is stored */
int gauge_table(gauge *g, const gen_config *configs, size_t n_configs, const sizes *list,
                double budget, size_t stride, double *sec, serve_work *work, size_t *n_done,
                err *e);

#endif
