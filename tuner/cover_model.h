/* cover_model.h -- a configuration's model (serve_model.h) out of the sizes where it was timed. */
#ifndef TUNE_COVER_MODEL_H
#define TUNE_COVER_MODEL_H

#include "serve_model.h"

typedef struct cover_known { /* one measured size */
  const int64_t *values;     /* as in serve_known_row */
  serve_work work;
  double sec; /* INFINITY: it failed; such a row is passed over */
} cover_known;

typedef struct cover_model {
  serve_fit fit;        /* a row's number is its size's */
  const double *unseen; /* per row: seconds by the model that has not seen it; INFINITY: not
                           measured */
  const bool *held_up; /* per row: it took far longer than the others say; the model goes without */
} cover_model;

/* cover_model_fit -- in the arena.
 *   in   sms    the device's multiprocessors
 *        apart  [row * n + row]: serve_fields_apart
 *   out  NULL when too few rows were measured to say anything
 *   err  ERR_NOMEM
 *   cost n^3 / 3: a tenth of a second for 500 rows */
int cover_model_fit(const gen_template *t, const cover_known *rows, size_t n, const float *apart,
                    double sms, arena *a, const cover_model **out, err *e);

/* cover_model_doubt -- how far off its time may be here, the deviation of a logarithm, going by the
 * measured size that is most alike; apart as in serve_fit_sec */
double cover_model_doubt(const gen_template *t, const cover_model *m, const serve_work *work,
                         const float *apart);

#endif
