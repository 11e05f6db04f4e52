/* trial.h -- the inside of the measuring process: check and time one candidate, or race the
 * finalists.
 *
 * A failure of a candidate is its status and reason, never an error of these functions. */
#ifndef TUNE_TRIAL_H
#define TUNE_TRIAL_H

#include "measured.h"
#include "run_candidate.h"
#include "run_captured.h"

typedef struct trial_state { /* the state of the measuring process */
  rt_device *device;
  rt_compiler *compiler;
  rt_checker *checker;
  gen_template *t;
  gen_instance *instance;
  rt_captured data; /* recorded from a program's calls, of this problem */
  rt_harness *buffers;
  double uses; /* gen_uses */
  measure_how how;
  rt_nvml *nvml; /* NULL: nothing to read */
  rt_health health[MEASURE_RACERS];
} trial_state;

/* trial_open -- the device, and NVML where it is.
 *   out  *note  why clocks and power are not known; code 0: they are
 *   err  ERR_DEVICE;  ERR_USAGE  the device has no graphs, or no energy counter */
int trial_open(trial_state *s, const char *name, err *note, err *e);
/* trial_problem -- replace the buffers by those of this problem.
 *   in   data  a file of recorded data; empty: the template's fills
 *   err  ERR_USAGE, ERR_NOTFOUND  the file, see rt_captured_open */
int trial_problem(trial_state *s, const char *text, const char *data, err *e);
/* trial_features -- the problem of a text with the features of its matrix */
int trial_features(trial_state *s, const char *text, gen_problem *p, err *e);
/* trial_forget -- free the buffers */
void trial_forget(trial_state *s);
/* trial_one -- load, check, time; see measurer_ask for the limits */
void trial_one(trial_state *s, const measure_image *image, double stop_above, double energy_above,
               measured *out);
/* trial_race -- of n candidates, at most MEASURE_RACERS; out[n] */
void trial_race(trial_state *s, const measure_image *images, size_t n, size_t rounds, measured *out,
                arena *a);

#endif
