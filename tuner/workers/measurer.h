/* measurer.h -- the one process that owns the device while tuning.
 *
 * It opens the device, holds the buffers of the current problem, and checks and times candidates. A
 * kernel that faults, hangs or crashes the process costs its own row: the parent kills the process
 * and starts another.
 */
#ifndef TUNE_MEASURER_H
#define TUNE_MEASURER_H

#include "measured.h"
#include "worker.h"

typedef struct measurer {
  worker w;
  const char *device; /* as the user named it */
  rt_compiler *compiler;
  gen_template *t;
  measure_how how;
  rt_info info;   /* of the device, as the child reports it */
  char note[200]; /* why clocks and power are unknown; empty: they are known */
  str problem;    /* whose buffers the child holds; empty: none */
  str data;       /* a file of recorded data; empty: the template's fills */
  bool opening;   /* measurer_begin without measurer_ready so far */
} measurer;

/* measurer_start -- fork, open the device, learn its limits.
 *   err  ERR_DEVICE  as rt_device_open;  ERR_LIMIT  no answer within 120 s */
int measurer_start(measurer *m, const char *device, rt_compiler *c, gen_template *t,
                   const measure_how *how, err *e);
void measurer_stop(measurer *m);
/* measurer_features -- those of the matrix that the problem names (rt_features_find) */
int measurer_features(measurer *m, gen_problem *p, err *e);
/* measurer_problem -- allocate and fill the buffers of a problem (its canonical text).
 * measurer_begin starts the same, and measurer_ready waits for its end.
 *   in  data  a file of recorded data; NULL: the template's fills */
int measurer_problem(measurer *m, const char *problem, err *e);
int measurer_begin(measurer *m, const char *problem, const char *data, err *e);
int measurer_ready(measurer *m, err *e);
/* measurer_forget -- free the problem's memory on the device */
int measurer_forget(measurer *m, err *e);
/* measurer_restart -- a fresh process with the same problem */
int measurer_restart(measurer *m, err *e);

/* measurer_ask -- check and time one candidate; the answer is there when m->w.fd is readable.
 *   in  stop_above    stop early when it is certainly slower than this, in seconds; 0 or infinite:
 *                     never
 *       energy_above  do not measure the energy when it is slower than this, in seconds */
int measurer_ask(measurer *m, const measure_image *image, double stop_above, double energy_above,
                 err *e);
/* measurer_answer -- a dead child is a result, DB_CRASHED.
 *   err  ERR_IO  the answer makes no sense */
int measurer_answer(measurer *m, measured *out, err *e);
/* measurer_race -- time n candidates interleaved; waits. out[i] has each status and time */
int measurer_race(measurer *m, const measure_image *images, size_t n, size_t rounds, measured *out,
                  err *e);

#endif
