#include "strategy.h"

#include <string.h>

#include "str.h"

static const tune_strategy *const table[] = {
    &tune_forest,  &tune_evolve, &tune_bayes,      &tune_bandit, &tune_genetic,
    &tune_diffevo, &tune_swarm,  &tune_anneal,     &tune_tabu,   &tune_greedy,
    &tune_lhs,     &tune_random, &tune_exhaustive, NULL};

enum { COUNT = sizeof table / sizeof *table - 1 };

const tune_strategy *const *tune_strategies(void) {
  return table;
}

int tune_strategy_find(const char *name, const tune_strategy **out, err *e) {
  const char *names[COUNT];
  str all = {0};
  for (size_t i = 0; i < COUNT; i++) {
    if (!strcmp(name, table[i]->name)) {
      *out = table[i];
      str_clear(&all);
      return 0;
    }
    names[i] = table[i]->name;
    str_addf(&all, "%s%s", i ? ", " : "", names[i]);
  }
  const char *near = text_nearest(name, names, COUNT);
  int rc =
      err_set(e, ERR_USAGE, "no strategy '%s'%s%s%s; there are: %s", name,
              near ? ", did you mean '" : "", near ? near : "", near ? "'" : "", str_text(&all));
  str_clear(&all);
  return rc;
}
