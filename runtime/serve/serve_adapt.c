#include "serve_adapt.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- which parameters does an expression read? ---------------------------------------------- */

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool mentions(const char *expression, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = expression; (at = strstr(at, name)); at += n) {
    if ((at == expression || !is_word(at[-1])) && !is_word(at[n])) {
      return true;
    }
  }
  return false;
}

/* Derived values read those before them: from the last to the first, each is met after its readers.
 */
void serve_adapt_reads(const gen_template *t, const char *expression, bool reads[GEN_MAX_PARAMS]) {
  bool derived[GEN_MAX_DERIVED] = {false};
  for (size_t i = 0; i < t->n_params; i++) {
    reads[i] = mentions(expression, t->params[i].name);
  }
  for (size_t i = t->n_derived; i-- > 0;) {
    derived[i] = mentions(expression, t->derived[i].name);
    for (size_t j = i + 1; j < t->n_derived && !derived[i]; j++) {
      derived[i] = derived[j] && mentions(t->derived[j].expression, t->derived[i].name);
    }
    for (size_t j = 0; derived[i] && j < t->n_params; j++) {
      reads[j] = reads[j] || mentions(t->derived[i].expression, t->params[j].name);
    }
  }
}

/* ---- changing ------------------------------------------------------------------------------- */

/* failing: as it is; most values do not mend even that */
static void try_values(const gen_template *t, gen_instance *g, const gen_config *c, size_t failing,
                       size_t param, serve_change *best) {
  const size_t now = c->index[param];
  gen_config other = *c;
  for (size_t i = 0; i < t->params[param].n; i++) {
    serve_change x = {.param = param, .value = i, .steps = i > now ? i - now : now - i};
    bool mended;
    other.index[param] = (uint16_t)i;
    if (i != now && !gen_config_holds(g, &other, failing, &mended, NULL) && mended &&
        !gen_config_failing(g, &other, &x.failing, NULL) && serve_change_better(&x, best)) {
      *best = x;
    }
  }
}

/* The one change that gets farthest down the list of requirements. */
static bool change_one(const gen_template *t, gen_instance *g, gen_config *c, size_t *failing) {
  bool reads[GEN_MAX_PARAMS];
  serve_change best = {.failing = *failing};
  serve_adapt_reads(t, t->requirements[*failing].expression, reads);
  for (size_t i = 0; i < t->n_params; i++) {
    if (reads[i]) {
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

bool serve_adapt(const gen_template *t, gen_instance *g, gen_config *c, int *changed) {
  size_t failing;
  *changed = 0;
  if (gen_config_failing(g, c, &failing, NULL)) {
    return false;
  }
  while (failing < t->n_requirements && *changed < SERVE_CHANGES_MOST &&
         change_one(t, g, c, &failing)) {
    ++*changed;
  }
  return failing == t->n_requirements;
}
