/* cover_model.h -- how long a configuration takes at sizes where nobody has timed it.
 *
 * From the sizes where it was timed, for one configuration: a sum of non-negative costs, per
 * launch, per block, per operation and byte of all, and per round of blocks over the
 * multiprocessors, in itself and for the work of each of its blocks; and what the measured sizes
 * nearby took more or less than that sum. The rounds are what a smooth curve through the times
 * would miss: a block more than fits into a round can cost as much as a whole one. */
#ifndef TUNE_COVER_MODEL_H
#define TUNE_COVER_MODEL_H

#include "gen.h"

typedef struct cover_work { /* what a configuration does at one size */
  double launches, blocks;  /* blocks 0: it does not fit this size */
  double flops, bytes;      /* of the whole problem */
  uint64_t variant;         /* equal for the same kernel: it is adapted to some sizes */
} cover_work;

typedef struct cover_known { /* one measured size */
  const int64_t *values;     /* as in serve_known_row */
  cover_work work;
  double sec; /* INFINITY: it failed; such a row is passed over */
} cover_known;

typedef struct cover_model cover_model;

/* cover_model_fit -- rows are read later, too: they must live as long.
 *   in   sms  the device's multiprocessors
 *   out  NULL when too few rows were measured to say anything
 *   err  ERR_NOMEM */
int cover_model_fit(const gen_template *t, const cover_known *rows, size_t n, double sms, arena *a,
                    const cover_model **out, err *e);
/* cover_model_sec -- INFINITY where it does not fit */
double cover_model_sec(const cover_model *m, const int64_t *values, const cover_work *work);

#endif
