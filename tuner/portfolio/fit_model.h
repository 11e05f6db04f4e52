/* fit_model.h -- fit a configuration's model (portfolio_model.h) to the sizes where it was
 * timed. */
#ifndef TUNE_FIT_MODEL_H
#define TUNE_FIT_MODEL_H

#include "portfolio_model.h"

typedef struct fit_sample { /* one measured size */
  const int64_t *values;    /* of the problem's fields; a name's index */
  model_work work;
  double sec; /* INFINITY: it failed; such a row is ignored */
} fit_sample;

typedef struct fitted_model {
  model_fit fit;        /* a row's number is its size's */
  const double *unseen; /* per row: seconds by the model that has not seen it; INFINITY: not
                           measured */
  const bool
      *held_up; /* per row: it took far longer than the others say, and is not in the model */
} fitted_model;

/* fit_model -- in the arena.
 *   in   sms    the device's multiprocessors
 *        apart  [row * n + row]: chooser_field_distance
 *   out  NULL when too few rows were measured to say anything
 *   err  ERR_NOMEM
 *   cost n^3 / 3: a tenth of a second for 500 rows */
int fit_model(const gen_template *t, const fit_sample *rows, size_t n, const float *apart,
              double sms, arena *a, const fitted_model **out, err *e);

/* fitted_model_doubt -- the deviation of the logarithm of a time, from the nearest measured size
 * alone; apart as in model_fit_sec */
double fitted_model_doubt(const gen_template *t, const fitted_model *m, const model_work *work,
                          const float *apart);

#endif
