/* initial_configs.h -- what to try before the search: what would be served untuned; what the user asks for;
 * what is best for the nearest tuned problems (serve_choose.h says what is near), here or on other
 * devices, and what the library ships with;
 * the template's suggestion and its default; then what did well on the two nearest here and needs
 * no compiler, because its source is the same for this problem: such a trial takes some
 * milliseconds instead of a second.
 *
 * A neighbour's best is rarely the best here, but mostly near it, and tells a searcher that learns
 * where to look; see tests/bench/bench_sizes.sh for what that saves. */
#ifndef TUNE_INITIAL_CONFIGS_H
#define TUNE_INITIAL_CONFIGS_H

#include "tune.h"

enum { INITIAL_BEST = 12, INITIAL_COVER = 5, INITIAL_NEAR = 2, INITIAL_BUILT = 16 };
enum { INITIAL_MOST = INITIAL_FROM_FILE + INITIAL_BEST + INITIAL_NEAR * INITIAL_BUILT };

/* initial_configs_find -- configurations that are valid here, each once, at most INITIAL_MOST; the default is
 * among the first INITIAL_BEST of those not asked for.
 *   err  ERR_DB, ERR_NOMEM */
int initial_configs_find(tune_session *s, gen_config *configs, size_t *n, err *e);

#endif
