#include "strategy.h"

#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "str.h"

static const search_strategy *const table[] = {&search_forest,     &search_evolve,
                                               &search_bayes,      &search_bandit,
                                               &search_genetic,    &search_diffevo,
                                               &search_swarm,      &search_anneal,
                                               &search_tabu,       &search_greedy,
                                               &search_lhs,        &search_random,
                                               &search_exhaustive, NULL};

enum { COUNT = sizeof table / sizeof *table - 1 };

const search_strategy *const *search_strategies(void) {
  return table;
}

int search_strategy_find(const char *name, const search_strategy **out, err *e) {
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

int search_strategy_open(const search_strategy *s, const search_space *space, uint64_t seed,
                         void **self, err *e) {
  *self = calloc(1, s->nbytes);
  int rc = *self ? history_init(*self, space, seed, e) : err_nomem(e);
  rc = rc || !s->start ? rc : s->start(*self, e);
  if (rc && *self) {
    search_strategy_close(s, *self);
    *self = NULL;
  }
  return rc;
}

void search_strategy_close(const search_strategy *s, void *self) {
  if (s->stop) {
    s->stop(self);
  }
  history_clear(self);
  free(self);
}
