/* pipeline.h -- candidates on their way to a result: compiled by a worker pool, queued, measured by
 * the one process that owns the device. One thread, one poll().
 *
 * A candidate inside belongs to exactly one of: a worker of the pool, the ready queue, the
 * measuring process. The owner decides what goes in and what becomes of the results: search_loop.c
 * searches, timing_table.c fills a table.
 */
#ifndef TUNE_PIPELINE_H
#define TUNE_PIPELINE_H

#include "candidate.h"
#include "measurer.h"
#include "worker_pool.h"

typedef struct pipeline_owner {
  void *self;
  /* a candidate has a result: measured, or failed on the way; the pipeline frees it afterwards */
  int (*finish)(void *self, candidate *c, const measured *m, err *e);
  /* the device is idle: the moment to call pipeline_measure. m will be passed to finish next */
  int (*next)(void *self, const measured *m, err *e);
  /* seconds to compile one source and to store its image; may be NULL */
  void (*built)(void *self, double compile_sec, double store_sec);
  /* seconds to replace a measuring process that died; may be NULL */
  void (*restarted)(void *self, double sec);
} pipeline_owner;

typedef struct pipeline_options {
  const char *device;
  int jobs;           /* compile workers; 0: one per core */
  double timeout_sec; /* for one compilation or measurement; 0: 120 */
  measure_how how;
} pipeline_options;

typedef struct pipeline {
  db *db;
  rt_compiler *compiler;
  pipeline_owner owner;
  double timeout_sec;
  int64_t device_id, template_id;
  worker_pool pool;      /* its jobs are candidates */
  candidate_queue ready; /* compiled */
  measurer m;
  candidate *measuring;
} pipeline;

/* tune_device_key -- append rt_device_key, and a suffix for times taken in graphs: they must not
 * compete with those of single launches */
void tune_device_key(const rt_info *info, rt_replay replay, str *key);

/* pipeline_open -- start the processes, register device and template in the database; *k stays
 * where it is. pipeline_close, also on error. err ERR_DEVICE */
int pipeline_open(pipeline *k, gen_template *t, db *d, rt_compiler *c, const pipeline_options *o,
                  const pipeline_owner *owner, err *e);
void pipeline_close(pipeline *k);

/* pipeline_compile -- on the idle worker i. The candidate is ready afterwards; one that is only
 * compiled ahead has its image stored and is freed. */
int pipeline_compile(pipeline *k, size_t i, candidate *c, err *e);
/* pipeline_compile_now -- one source, waited for, when no worker is busy; the database gets the image.
 *   err  ERR_COMPILE */
int pipeline_compile_now(pipeline *k, candidate *c, err *e);
/* pipeline_compiling -- what worker i compiles; NULL: nothing */
candidate *pipeline_compiling(const pipeline *k, size_t i);
/* pipeline_measure -- on the idle device; see measurer_ask */
int pipeline_measure(pipeline *k, candidate *c, double stop_above, double energy_above, err *e);
/* pipeline_wait -- for results, at most msec milliseconds. What exceeds its time limit is killed
 * and fails.
 *   out  *answers  how many came
 *        *sec      the seconds waited are added */
int pipeline_wait(pipeline *k, int msec, int *answers, double *sec, err *e);
/* pipeline_drop -- free all candidates; busy workers are killed, and started again when needed */
void pipeline_drop(pipeline *k);

#endif
