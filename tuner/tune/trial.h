/* trial.h -- inside the measuring process: one candidate on the device, or the finalists side by
 * side.
 *
 * Whatever goes wrong with a candidate is its own status and reason, never a failure here. */
#ifndef TUNE_TRIAL_H
#define TUNE_TRIAL_H

#include "measured.h"
#include "run_captured.h"

typedef struct trial_bench { /* what the child holds */
  rt_device *device;
  rt_compiler *compiler;
  rt_tools *tools;
  gen_template *t;
  gen_instance *instance;
  rt_captured data; /* that a program gave, of this problem */
  rt_bench *buffers;
  measure_how how;
  rt_nvml *nvml; /* NULL: nothing to read */
  rt_health health[MEASURE_RACERS];
} trial_bench;

/* trial_open -- the device, and NVML where it is.
 *   out  *note  why clocks and power are not known; code 0: they are
 *   err  ERR_DEVICE;  ERR_USAGE  the device can't do what the session asks for */
int trial_open(trial_bench *b, const char *name, err *note, err *e);
/* trial_problem -- the buffers of a problem, instead of those before.
 *   in   data  a file of what a program gave; empty: there is none
 *   err  ERR_USAGE, ERR_NOTFOUND  the file, see rt_captured_open */
int trial_problem(trial_bench *b, const char *text, const char *data, err *e);
/* trial_forget -- have none */
void trial_forget(trial_bench *b);
/* trial_one -- load, check, time; measurer_ask says what the bounds are */
void trial_one(trial_bench *b, const measure_image *image, double stop_above, double energy_above,
               measured *out);
/* trial_race -- n of them, at most MEASURE_RACERS; out[n] */
void trial_race(trial_bench *b, const measure_image *images, size_t n, size_t rounds, measured *out,
                arena *a);

#endif
