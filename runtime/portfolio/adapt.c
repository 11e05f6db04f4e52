#include "adapt.h"

#include <stdlib.h>

/* gen_config_failing or gen_config_outside */
typedef int find_failing(gen_instance *g, const gen_config *c, size_t *failing, err *e);

/* ---- changing ------------------------------------------------------------------------------- */

/* failing: of the unchanged configuration; most values do not repair even that requirement */
static void try_values(const gen_template *t, gen_instance *g, find_failing *find,
                       const gen_config *c, size_t failing, size_t param, adapt_change *best) {
  const size_t now = c->index[param];
  gen_config other = *c;
  for (size_t i = 0; i < t->params[param].n; i++) {
    adapt_change x = {.param = param, .value = i, .steps = i > now ? i - now : now - i};
    bool mended;
    other.index[param] = (uint16_t)i;
    if (i != now && !gen_config_holds(g, &other, failing, &mended, NULL) && mended &&
        !find(g, &other, &x.failing, NULL) && adapt_change_better(&x, best)) {
      *best = x;
    }
  }
}

/* The one change that gets farthest down the list of requirements. */
static bool change_one(const gen_template *t, gen_instance *g, find_failing *find, gen_config *c,
                       size_t *failing) {
  const uint64_t reads = gen_requirement_reads(t, *failing);
  adapt_change best = {.failing = *failing};
  for (size_t i = 0; i < t->n_params; i++) {
    if (reads >> i & 1) {
      try_values(t, g, find, c, *failing, i, &best);
    }
  }
  if (best.failing <= *failing) {
    return false;
  }
  c->index[best.param] = (uint16_t)best.value;
  *failing = best.failing;
  return true;
}

static bool adapt(const gen_template *t, gen_instance *g, find_failing *find, size_t n,
                  gen_config *c, int *changed) {
  size_t failing;
  *changed = 0;
  if (find(g, c, &failing, NULL)) {
    return false;
  }
  while (failing < n && *changed < ADAPT_CHANGES_MOST && change_one(t, g, find, c, &failing)) {
    ++*changed;
  }
  return failing == n;
}

bool adapt_config(const gen_template *t, gen_instance *g, gen_config *c, int *changed) {
  return adapt(t, g, gen_config_failing, t->n_requirements, c, changed);
}

bool adapt_to_space(const gen_template *t, gen_instance *g, gen_config *c) {
  int changed;
  return adapt(t, g, gen_config_outside, t->n_search_requirements, c, &changed);
}
