/* crew.h -- the processes that tuning keeps busy: compile workers ahead, one measuring process
 * behind. One thread, one poll().
 *
 * A candidate in the crew's hands belongs to exactly one of: a compile worker's slot, the queue of
 * those that are ready for the device, the measuring slot. What goes in, when, and what becomes of
 * the results is the owner's affair: session.c searches, timing_table.c fills a table.
 */
#ifndef TUNE_CREW_H
#define TUNE_CREW_H

#include "candidate.h"
#include "measurer.h"

typedef struct crew_owner {
  void *self;
  /* the end of a candidate: measured, or failed on its way; the crew frees it afterwards */
  int (*finish)(void *self, candidate *c, const measured *m, err *e);
  /* the device is free, and m the answer, which is finished next: the moment to crew_measure */
  int (*next)(void *self, const measured *m, err *e);
  /* seconds that compiling one and storing its image took; may be NULL */
  void (*built)(void *self, double compile_sec, double store_sec);
  /* seconds that a measuring process took to die and another to take its place; may be NULL */
  void (*restarted)(void *self, double sec);
} crew_owner;

typedef struct crew_options {
  const char *device;
  int jobs;           /* compile workers; 0: one a core */
  double timeout_sec; /* for one compilation or measurement; 0: 120 */
  measure_how how;
} crew_options;

typedef struct crew {
  db *db;
  rt_compiler *compiler;
  crew_owner owner;
  double timeout_sec;
  int64_t device_id, template_id;
  measurer m;
  candidate *measuring;
  worker *jobs;
  candidate **slots; /* slots[i]: what jobs[i] compiles; NULL: nothing */
  size_t n_jobs;
  compile_setting setting;
  candidate_queue ready; /* for the device */
} crew;

/* crew_open -- start the processes, register device and template in the database; crew_close,
 * whether or not it failed. err ERR_DEVICE */
int crew_open(crew *k, gen_template *t, db *d, rt_compiler *c, const crew_options *o,
              const crew_owner *owner, err *e);
void crew_close(crew *k);

/* crew_compile -- worker i, which has nothing to do, compiles it; then it is ready, or, if it is
 * ahead of its time, its image is in the database and that was all */
int crew_compile(crew *k, size_t i, candidate *c, err *e);
/* crew_measure -- the device, which is free, measures it; see measurer_ask */
int crew_measure(crew *k, candidate *c, double stop_above, double energy_above, err *e);
/* crew_wait -- for answers, up to so many milliseconds; who is past its time is killed.
 *   out  *answers  how many came
 *        *sec      seconds waited are added */
int crew_wait(crew *k, int msec, int *answers, double *sec, err *e);
/* crew_compile_now -- one source, waited for. err ERR_COMPILE */
int crew_compile_now(crew *k, candidate *c, err *e);
size_t crew_compiling(const crew *k); /* candidates */
/* crew_drop -- empty its hands; workers that were busy are ended, and started again when needed */
void crew_drop(crew *k);

#endif
