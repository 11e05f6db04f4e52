/* initial_configs.h -- the configurations that are tried before the search's own points. In order:
 *
 *   - the one that would be served if nothing were tuned now;
 *   - those that the user gives (initial_configs_file.h);
 *   - the best of the nearest tuned problems (serve_choose.h), here or on other devices, shipped
 *     results included;
 *   - the template's suggestion for this problem, and its default;
 *   - the best of the two nearest problems tuned here, where the image is stored: such a trial
 *     takes some milliseconds instead of a second.
 *
 * The best of a near problem is rarely the best here, but mostly near it, and shows a strategy that
 * learns where to look: tests/bench/bench_sizes.sh measures what that saves. */
#ifndef TUNE_INITIAL_CONFIGS_H
#define TUNE_INITIAL_CONFIGS_H

#include "pipeline.h"
#include "tune.h"

enum { INITIAL_BEST = 12, INITIAL_PORTFOLIO = 5, INITIAL_NEAR = 2, INITIAL_BUILT = 16 };
enum { INITIAL_MOST = INITIAL_FROM_FILE + INITIAL_BEST + INITIAL_NEAR * INITIAL_BUILT };

typedef struct initial_sources {
  gen_template *t;
  const gen_problem *p;
  gen_instance *g;     /* of the problem */
  const char *problem; /* its canonical text */
  const pipeline *pipe;
  const tune_options *options;
  arena *memory;
} initial_sources;

/* initial_configs_find -- configurations that are valid for the problem, each once, at most
 * INITIAL_MOST. Without those of the user, the default is among the first INITIAL_BEST.
 *   err  ERR_DB, ERR_NOMEM */
int initial_configs_find(const initial_sources *from, gen_config *configs, size_t *n, err *e);

#endif
