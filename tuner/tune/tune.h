/* tune.h -- tune problems of one family on one device.
 *
 * This process owns Lua, the strategy and the database. Compile workers run ahead while one
 * measuring process has the device to itself. A result is stored while the next candidate is
 * measured, and before a third one starts: whatever kills any of the processes loses at most these
 * two and what was being compiled.
 */
#ifndef TUNE_H
#define TUNE_H

#include <signal.h>

#include "budget.h"
#include "initial_configs_file.h"
#include "objective.h"
#include "phases.h"
#include "samples.h"
#include "search.h"

typedef struct tune_state { /* of the search under way; what a progress line shows */
  const char *problem;      /* canonical text */
  const rt_info *device;
  const gen_tally *tally;
  double flops, bytes; /* of the problem */
  tune_budget budget;
  uint64_t known;                  /* trials in the database that are not of this run */
  uint64_t known_before;           /* of those: at the start */
  uint64_t shared;                 /* of those: stored meanwhile by other processes */
  uint64_t tried;                  /* by this run */
  uint64_t failed[DB_CRASHED + 1]; /* of those, by db_status; DB_OK counts the successes */
  uint64_t compiled_ahead;
  double sec, sec_before;             /* spent by this run; by earlier ones */
  double best_sec;                    /* INFINITY: none yet */
  double best_joules;                 /* of the same; 0: not measured */
  double best_values[OBJECTIVE_MOST]; /* likewise, of the objectives */
  char best_config[1024];
  uint64_t settled;  /* the first trial of this run within 3 % of the best, before the finals; 0: it
                        was known before, or nothing worked */
  const char *phase; /* "search", "finals", "done" */
  tune_phases phases;
  tune_health health;
  const tune_objective *objective;
  rt_replay replay;
  const measured *measured; /* of the trial that is reported; NULL for a change of phase */
} tune_state;

/* What is tried before the search's own points, besides the default; see initial_configs.h */
typedef enum tune_start {
  TUNE_START_ALL,   /* the best of the nearest tuned problems, shipped results included */
  TUNE_START_TUNED, /* the same of this database alone */
  TUNE_START_NONE
} tune_start;

typedef struct tune_options {
  const char *device;
  int jobs; /* compile workers; 0: one per core */
  uint64_t seed;
  const search_strategy *strategy;
  const search_subspace *within; /* NULL: the whole space; see tune_narrow */
  tune_budget budget;
  tune_start start;
  initial_configs given; /* tried after the one that would be served untuned */
  tune_objective objective;
  rt_replay replay;
  size_t finalists, rounds;          /* of the finals; 0: 6 and 15 */
  size_t draws;                      /* of the finals' data; 0: see measure_how */
  unsigned kinds;                    /* of these, likewise */
  double timeout_sec;                /* for one compilation or measurement; 0: 120 */
  const volatile sig_atomic_t *stop; /* set by a signal handler: return soon */
  /* after every trial, and with NULL when the phase changes; may be NULL */
  void (*report)(void *, const tune_state *, const db_result *trial);
  void *report_self;
} tune_options;

typedef struct tune_session tune_session;

/* tune_open -- start the processes.
 *   err  ERR_DEVICE  no such device, or no NVRTC */
int tune_open(gen_template *t, db *d, rt_compiler *c, const tune_options *o, tune_session **out,
              err *e);
void tune_close(tune_session *s);
const rt_info *tune_device(const tune_session *s);
/* tune_note -- why the GPU's clocks and power are not known; "": they are */
const char *tune_note(const tune_session *s);
int64_t tune_device_id(const tune_session *s);
int64_t tune_template_id(const tune_session *s);

/* tune_features -- of the matrix that a problem names, where it leaves features open; tune_problem calls it */
int tune_features(tune_session *s, gen_problem *p, err *e);
/* tune_problem -- search until the budget is spent, then race the finalists and the default.
 *   out  *last  the state at the end; its texts live until the next call
 *   err  ERR_INTERRUPTED  `stop` was set; what is known is stored
 *        ERR_USAGE        the space is empty for this problem and device */
int tune_problem(tune_session *s, const gen_problem *p, tune_state *last, err *e);

/* tune_data -- tune the next problems on data that a program's calls were given, from this file
 * (borrowed); NULL: on the template's fills. Results are stored alike. tune_problem fails with
 * ERR_USAGE or ERR_NOTFOUND when the file does not fit the problem. */
void tune_data(tune_session *s, const char *path);
/* tune_pause -- hold no memory on the device until the next problem: another process uses it */
int tune_pause(tune_session *s, err *e);
/* tune_narrow -- search the next problems in this subspace only (borrowed), with this budget.
 * Initial configurations are tried wherever they lie. */
void tune_narrow(tune_session *s, const search_subspace *w, const tune_budget *budget);

#endif
