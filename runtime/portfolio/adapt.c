#include "adapt.h"

#include <stdlib.h>

/* ---- changing ------------------------------------------------------------------------------- */

/* failing: of the unchanged configuration; most values do not repair even that requirement */
static void try_values(const gen_template *t, gen_instance *g, const gen_config *c, size_t failing,
                       size_t param, adapt_change *best) {
  const size_t now = c->index[param];
  gen_config other = *c;
  for (size_t i = 0; i < t->params[param].n; i++) {
    adapt_change x = {.param = param, .value = i, .steps = i > now ? i - now : now - i};
    bool mended;
    other.index[param] = (uint16_t)i;
    if (i != now && !gen_config_holds(g, &other, failing, &mended, NULL) && mended &&
        !gen_config_failing(g, &other, &x.failing, NULL) && adapt_change_better(&x, best)) {
      *best = x;
    }
  }
}

/* The one change that gets farthest down the list of requirements. */
static bool change_one(const gen_template *t, gen_instance *g, gen_config *c, size_t *failing) {
  const uint64_t reads = gen_requirement_reads(t, *failing);
  adapt_change best = {.failing = *failing};
  for (size_t i = 0; i < t->n_params; i++) {
    if (reads >> i & 1) {
      try_values(t, g, c, *failing, i, &best);
    }
  }
  if (best.failing <= *failing) {
    return false;
  }
  c->index[best.param] = (uint16_t)best.value;
  *failing = best.failing;
  return true;
}

bool adapt_config(const gen_template *t, gen_instance *g, gen_config *c, int *changed) {
  size_t failing;
  *changed = 0;
  if (gen_config_failing(g, c, &failing, NULL)) {
    return false;
  }
  while (failing < t->n_requirements && *changed < ADAPT_CHANGES_MOST &&
         change_one(t, g, c, &failing)) {
    ++*changed;
  }
  return failing == t->n_requirements;
}
