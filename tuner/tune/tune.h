/* tune.h -- walk the whole street for one problem: ask the strategy, write, compile, measure,
 * store.
 *
 * One session serves one template on one device, for any number of problems. The parent process
 * owns Lua, the strategy and the database; compile workers run ahead while the one measuring
 * process has the device to itself. A finished candidate is stored while its successor is measured,
 * and before anything is asked of a third, so nothing that kills any of the processes loses more
 * than these two and what was being compiled.
 */
#ifndef TUNE_H
#define TUNE_H

#include <signal.h>

#include "db.h"
#include "measurer.h"
#include "initial_configs_file.h"
#include "search.h"

typedef struct tune_budget { /* for one problem, earlier runs counted in; 0: no such bound */
  uint64_t trials;
  double sec;
} tune_budget;

/* Where the seconds went. One process generates, searches, stores and waits; `jobs` others compile;
 * one loads, checks and measures: the three groups run at the same time. */
typedef struct tune_phases {
  double
      setup; /* the problem's buffers and the reference's results, again where that process died */
  double generate, search, store, wait;
  double compile; /* summed over the processes */
  double load, check, measure;
  double finals;
  size_t jobs;
} tune_phases;

/* What a search wants least of. Energy is measured, over a quarter of a second of launches for
 * every candidate that takes at most ENERGY_WITHIN times the fastest one's time, and for longer in
 * the finals; edp is energy times time. */
typedef enum tune_objective { TUNE_TIME, TUNE_ENERGY, TUNE_EDP } tune_objective;

/* The device's own words, over all samples of a run. */
typedef struct tune_health {
  uint64_t n, capped, spoiled, retaken; /* samples; under the power cap; held back badly; repeats */
  uint64_t held;                        /* all that was met */
  double clock_min, clock_max, temperature_max, power_max;
} tune_health;

typedef struct tune_state { /* of the search under way; what a progress line shows */
  const char *problem;      /* canonical text */
  const rt_info *device;
  const gen_tally *tally;
  double flops, bytes; /* of the problem */
  tune_budget budget;
  uint64_t known;        /* trials in the database that are not of this run */
  uint64_t known_before; /* of those: at the start */
  uint64_t shared;       /* of those: stored meanwhile by another search of this problem */
  uint64_t tried, failed[DB_CRASHED + 1]; /* now; by db_status, DB_OK counts the good ones */
  uint64_t compiled_ahead;
  double sec, sec_before; /* spent now; in earlier runs */
  double best_sec;        /* INFINITY: none yet */
  double best_joules;     /* of the same; 0: not measured */
  char best_config[1024];
  uint64_t settled;  /* trials of this run until one was within 3 % of the best first look; 0: the
                        best was known before, or nothing worked */
  const char *phase; /* "search", "finals", "done" */
  tune_phases phases;
  tune_health health;
  tune_objective objective;
  rt_replay replay;
  const measured *measured; /* of the trial that is reported; NULL for a change of phase */
} tune_state;

/* What a search tries before its own points, besides the default; see initial_configs.h */
typedef enum tune_start {
  TUNE_START_ALL,   /* the nearest tuned problems' best, shipped results included */
  TUNE_START_TUNED, /* of this database alone */
  TUNE_START_NONE
} tune_start;

typedef struct tune_options {
  const char *device;
  int jobs; /* compile workers; 0: one a core */
  uint64_t seed;
  const search_strategy *strategy;
  const search_subspace *within; /* NULL: the whole space; see tune_narrow */
  tune_budget budget;
  tune_start start;
  initial_configs given; /* tried before all but what would be served untuned */
  tune_objective objective;
  rt_replay replay;
  size_t finalists, rounds;          /* of the finals; 0: 6 and 15 */
  double timeout_sec;                /* for one compilation or measurement; 0: 120 */
  const volatile sig_atomic_t *stop; /* set by a signal handler: finish what is stored, return */
  void (*report)(void *, const tune_state *, const db_result *trial); /* after every trial (NULL
                               trial: a change of phase); may be NULL */
  void *report_self;
} tune_options;

typedef struct tune_session tune_session;

/* tune_device_key -- append the database's key of a device: rt_device_key, and for times taken in
 * graphs a word more, so that they never compete with those of launches one by one */
void tune_device_key(const rt_info *info, rt_replay replay, str *key);

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

/* tune_problem -- search until the budget is spent, then race the finalists and the default.
 *   out  *last  the state at the end; its texts live until the next call
 *   err  ERR_INTERRUPTED  `stop` was set; what is known is stored
 *        ERR_USAGE        the space is empty for this problem and device */
int tune_problem(tune_session *s, const gen_problem *p, tune_state *last, err *e);

/* tune_data -- the problems from now on are tuned on what a program gave, in this file, whose text
 * must outlive them; NULL: on what the template fills in. Results are stored alike. tune_problem
 * then fails with ERR_USAGE or ERR_NOTFOUND where the file does not fit. */
void tune_data(tune_session *s, const char *path);
/* tune_pause -- somebody else is to use the device: until the next problem hold no memory there */
int tune_pause(tune_session *s, err *e);
/* tune_narrow -- the next problems are searched only where `w` says, which must outlive them; what
 * is asked first all the same are near problems' best and the default. With another budget. */
void tune_narrow(tune_session *s, const search_subspace *w, const tune_budget *budget);

/* Every estimate of the emulated device carries the model's name and version. */
#define TUNE_MODEL "emulator 1"

#endif
