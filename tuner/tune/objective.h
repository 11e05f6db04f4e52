/* objective.h -- what a search optimises: time, energy, their product (edp), or any expression over
 * what is measured, the problem and the configuration (gen_metric); or several of these at once.
 *
 * A search minimises one number, the score: the value itself, or its inverse where more is better;
 * of several objectives the geometric mean of these. What no other configuration beats in all of
 * several objectives is their Pareto front.
 *
 * Energy is measured, over a quarter of a second of launches, for every candidate that takes at
 * most twice the fastest one's time, and for longer in the finals.
 */
#ifndef TUNE_OBJECTIVE_H
#define TUNE_OBJECTIVE_H

#include "db.h"
#include "gen.h"

enum { OBJECTIVE_MOST = 4 };

typedef struct tune_goal {
  const char *text; /* as given */
  gen_metric m;
  enum { GOAL_BY_ITSELF, GOAL_LEAST, GOAL_MOST } direction;
} tune_goal;

typedef struct tune_objective { /* all zero: time */
  const char *text;
  tune_goal goals[OBJECTIVE_MOST];
  size_t n;
  uint32_t measured; /* bits of gen_measured that they read */
  bool reads_config;
} tune_objective;

/* tune_objective_parse -- "time", "flops/joules", "sec, registers", "max flops/sec"; texts in the
 * arena. Without min or max, values that rise with all that is measured are costs
 *   err ERR_USAGE */
int tune_objective_parse(gen_template *t, const char *text, arena *a, tune_objective *out, err *e);
/* tune_objective_name -- "time" where nothing else was asked for */
const char *tune_objective_name(const tune_objective *o);
/* tune_objective_is_time -- does it order configurations as their times do? */
bool tune_objective_is_time(const tune_objective *o);
static inline bool tune_objective_reads(const tune_objective *o, gen_measured x) {
  return o->measured >> x & 1;
}

typedef struct scorer { /* all zero: scores are times */
  const tune_objective *o;
  gen_instance *g; /* the problem */
  bool most[OBJECTIVE_MOST];
  double watts; /* of the last candidate whose energy was measured; 0: none yet */
} scorer;

/* scorer_init -- o and g are borrowed
 *   err  ERR_USAGE  an objective of which it cannot be told whether more is better */
int scorer_init(scorer *s, const tune_objective *o, gen_template *t, gen_instance *g, err *e);

/* scorer_score -- least is best, never below or at 0. Energy that was not measured (0) is estimated
 * from the last watts. INFINITY: an objective has no value
 *   out  values  of each objective; may be NULL */
double scorer_score(const scorer *s, const gen_config *c, const double measured[GEN_MEASURED],
                    double values[OBJECTIVE_MOST]);
/* scorer_note -- the energy of a candidate; 0: not measured */
void scorer_note(scorer *s, double sec, double joules);

/* measured_of -- what the database has of a trial */
void measured_of(const db_result *row, double joules, double out[GEN_MEASURED]);

/* pareto_front -- which of n points, each of n_values values, no other beats: better in one and as
 * good in all. s says which way is better */
void pareto_front(const scorer *s, const double (*values)[OBJECTIVE_MOST], size_t n, bool *front);

#endif
