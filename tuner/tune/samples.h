/* samples.h -- what was measured of a candidate: stored as a row, and summed up over a run. */
#ifndef TUNE_SAMPLES_H
#define TUNE_SAMPLES_H

#include "measurer.h"

/* The name and version of the emulated device's cost model, stored with every estimate. */
#define TUNE_MODEL "emulator 1"

/* samples_put -- a measured time on a GPU, or an estimate of the emulated device */
int samples_put(db *d, const rt_info *info, int64_t trial, db_stage stage, const measured *m,
                err *e);

/* What NVML reported of the device, over all samples of a run. */
typedef struct tune_health {
  uint64_t n;       /* samples */
  uint64_t capped;  /* of them: under the power cap */
  uint64_t spoiled; /* of them: clocks held back badly */
  uint64_t retaken; /* repeats because of that */
  uint64_t held;    /* every reason seen, see rt_health */
  double clock_min, clock_max, temperature_max, power_max;
} tune_health;

/* samples_note -- add a sample
 *   in  counted  the repeats of its race are counted already */
void samples_note(tune_health *h, const measured *m, bool counted);
/* samples_health_text -- one line; nothing when nothing is known */
void samples_health_text(str *s, const tune_health *h);

#endif
