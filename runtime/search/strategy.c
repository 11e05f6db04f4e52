#include "strategy.h"

#include <stdlib.h>
#include <string.h>

#include "history.h"

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
  for (size_t i = 0; i < COUNT; i++) {
    if (!strcmp(name, table[i]->name)) {
      *out = table[i];
      return 0;
    }
    names[i] = table[i]->name;
  }
  return err_unknown(e, "no strategy", name, names, COUNT);
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
