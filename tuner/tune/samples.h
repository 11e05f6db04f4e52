/* samples.h -- what was measured of a candidate: as a row, as a score, and summed up. */
#ifndef TUNE_SAMPLES_H
#define TUNE_SAMPLES_H

#include "tune.h"

/* samples_put -- a measured time on a GPU, or an estimate of the emulated device */
int samples_put(db *d, const rt_info *info, int64_t trial, db_stage stage, const measured *m,
                err *e);
/* samples_score -- what the session wants least of: seconds, joules, or their product. Joules that
 * were not measured are taken for those of the watts measured last. */
double samples_score(const tune_session *s, double sec, double joules);
/* samples_score_rows -- rows[i].score of all that worked, from their latest samples */
typedef struct scored {
  const db_result *row;
  double score; /* INFINITY: it failed, or was never timed */
} scored;
int samples_score_rows(tune_session *s, const db_result *rows, size_t n, arena *a, scored **out,
                       err *e);
/* samples_note -- into what is known of the device's state; its repeats may be counted already */
void samples_note(tune_health *h, const measured *m, bool counted);
/* samples_health_text -- one line, nothing when nothing is known */
void samples_health_text(str *s, const tune_health *h);

const char *tune_objective_name(tune_objective o);
/* tune_objective_find -- err ERR_USAGE */
int tune_objective_find(const char *name, tune_objective *out, err *e);

#endif
