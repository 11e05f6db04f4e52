/* tune_settings.c -- the settings of a search, from the command line. */
#include "tuning.h"

#include <string.h>

#include "budget.h"
#include "effort.h"

static int parse_effort(const cli *c, arena *a, tune_options *o, err *e) {
  const tune_effort *effort;
  TRY(tune_effort_find(c->effort, &effort, e));
  o->budget = effort->budget;
  o->finalists = effort->finalists;
  o->rounds = effort->rounds;
  return c->budget ? budget_parse("budget", c->budget, a, &o->budget, e) : 0;
}

static int parse_start(const char *text, tune_start *out, err *e) {
  static const char *const names[] = {
      [TUNE_START_ALL] = "all", [TUNE_START_TUNED] = "tuned", [TUNE_START_NONE] = "none"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!text || text_is_path(text) || !strcmp(text, names[i])) {
      *out = (tune_start)i;
      return 0;
    }
  }
  return err_set(e, ERR_USAGE,
                 "--start '%s' is none of: all, tuned, none; and not a file of configurations (a "
                 "path, or a name that ends in .txt)",
                 text);
}

int tune_settings_common(const cli *c, progress *p, tune_options *o, err *e) {
  int64_t jobs, seed, timeout, draws;
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  TRY(cli_number("seed", c->seed, 0, INT64_MAX, 1, &seed, e));
  TRY(cli_timeout(c, 86400, &timeout, e));
  TRY(cli_number("draws", c->draws, 1, 1000, 0, &draws, e));
  err why = {0};
  if (rt_kinds_parse(c->kinds, &o->kinds, &why)) {
    return err_set(e, ERR_USAGE, "--kinds: %s", why.message);
  }
  TRY(cli_timing(c, &o->replay, e));
  TRY(search_strategy_find(c->strategy ? c->strategy : search_strategies()[0]->name, &o->strategy,
                           e));
  o->device = cli_device(c);
  o->jobs = (int)jobs;
  o->draws = (size_t)draws;
  o->seed = (uint64_t)seed;
  o->timeout_sec = (double)timeout;
  o->stop = cli_catch_signals();
  o->report = progress_report;
  o->report_self = p;
  return 0;
}

int tune_settings(const cli *c, gen_template *t, arena *a, progress *p, tune_options *o, err *e) {
  TRY(tune_settings_common(c, p, o, e));
  TRY(parse_effort(c, a, o, e));
  TRY(parse_start(c->start, &o->start, e));
  TRY(c->objective ? tune_objective_parse(t, c->objective, a, &o->objective, e) : 0);
  return c->start && text_is_path(c->start) ? initial_configs_read(t, c->start, a, &o->given, e)
                                            : 0;
}
