/* cover_model.h -- a configuration's model (serve_model.h) out of the sizes where it was timed. */
#ifndef TUNE_COVER_MODEL_H
#define TUNE_COVER_MODEL_H

#include "serve_model.h"

typedef struct cover_known { /* one measured size */
  const int64_t *values;     /* as in serve_known_row */
  serve_work work;
  double sec; /* INFINITY: it failed; such a row is passed over */
} cover_known;

typedef struct cover_model cover_model;

/* cover_model_fit -- rows are read later, too: they must live as long.
 *   in   sms  the device's multiprocessors
 *   out  NULL when too few rows were measured to say anything
 *   err  ERR_NOMEM */
int cover_model_fit(const gen_template *t, const cover_known *rows, size_t n, double sms, arena *a,
                    const cover_model **out, err *e);
/* cover_model_sec -- INFINITY where it does not fit; near[n]: serve_near_weight of every row
 *   out  *doubt  serve_near_doubt */
double cover_model_sec(const cover_model *m, const int64_t *values, const serve_work *work,
                       const double *near, double *doubt);
/* cover_model_costs -- borrowed: the sum of costs alone */
const serve_costs *cover_model_costs(const cover_model *m);
/* cover_model_off -- of row i: log(measured / sum of costs); not finite when it was not measured */
double cover_model_off(const cover_model *m, size_t i);

#endif
