/* measurer.h -- the one process that owns the device while tuning.
 *
 * It opens the device, holds the buffers of the current problem, and checks and times the
 * candidates it is sent. A kernel that faults, hangs or takes the process with it costs its own
 * row: the parent kills what is left, starts another and goes on.
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
  rt_info info;   /* of the device, told by the child */
  char note[200]; /* why clocks and power are not known; empty: they are */
  str problem;    /* that the child holds; empty: none */
  str data;       /* a file of what a program gave it; empty: there is none */
  bool opening;   /* it was sent, and the answer has not come */
} measurer;

/* measurer_start -- fork, open the device, learn its limits.
 *   err  ERR_DEVICE  as rt_device_open;  ERR_LIMIT  it did not answer in 120 s */
int measurer_start(measurer *m, const char *device, rt_compiler *c, gen_template *t,
                   const measure_how *how, err *e);
void measurer_stop(measurer *m);
/* measurer_problem -- allocate and fill the buffers of a problem (its canonical text). In two
 * parts, with something else to do between them: measurer_begin, measurer_ready.
 *   in  data  a file of what a program gave; NULL: there is none */
int measurer_problem(measurer *m, const char *problem, err *e);
int measurer_begin(measurer *m, const char *problem, const char *data, err *e);
int measurer_ready(measurer *m, err *e);
/* measurer_forget -- give the problem's memory on the device back; the next one is to come */
int measurer_forget(measurer *m, err *e);
/* measurer_restart -- a fresh process with the same problem */
int measurer_restart(measurer *m, err *e);

/* measurer_ask -- check and time one candidate; the answer comes when m->w.fd turns readable.
 *   in  stop_above    seconds: give up what is surely slower; 0 or infinite: never
 *       energy_above  seconds: and measure no joules of what is slower than this */
int measurer_ask(measurer *m, const measure_image *image, double stop_above, double energy_above,
                 err *e);
/* measurer_answer -- never fails because of the candidate: a dead child is a DB_CRASHED.
 *   err  ERR_IO  the answer makes no sense */
int measurer_answer(measurer *m, measured *out, err *e);
/* measurer_race -- time n candidates interleaved; waits. out[i].status tells how each fared */
int measurer_race(measurer *m, const measure_image *images, size_t n, size_t rounds, measured *out,
                  err *e);

#endif
