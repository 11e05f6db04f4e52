#include <math.h>
#include <string.h>

#include "portfolio_table.h"
#include "portfolio_models.h"
#include "portfolio_run.h"
#include "sizes.h"

/* Sizes that only models know. */
enum { DRAWN_LEAST = 1500, DRAWN_MOST = 30000, DRAWN_PER_SIZE = 25 };

static void set_ranges(const gen_template *t, const portfolio_table *table, portfolio *c) {
  for (size_t f = 0; f < t->n_fields; f++) {
    c->least[f] = INT64_MAX;
    c->most[f] = INT64_MIN;
    for (size_t j = 0; j < table->n_sizes; j++) {
      const int64_t v = table->values[j * table->n_fields + f];
      c->least[f] = v < c->least[f] ? v : c->least[f];
      c->most[f] = v > c->most[f] ? v : c->most[f];
      c->choices[f] |= t->fields[f].names && v < 64 ? UINT64_C(1) << v : 0;
    }
  }
}

/* ---- sizes that only a model knows ---------------------------------------------------------- */

/* The table gets these sizes too, without times. */
static int add_drawn(portfolio_run *r, const portfolio_subset *of, const sizes *more,
                     portfolio_table *t, err *e) {
  feasibility_cache *cache = NULL;
  TRY(portfolio_extend(r, more, t, e));
  int rc = portfolio_open_cache(r, of, &cache, e);
  for (size_t j = 0; !rc && j < more->n; j++) {
    rc = portfolio_works(r, cache, of, &more->p[j], t->n_sizes + more->n,
                         (model_work *)t->work + t->n_sizes + j, e);
  }
  feasibility_cache_free(cache);
  return rc;
}

static size_t n_drawn(const portfolio_table *t) {
  const size_t n = DRAWN_PER_SIZE * t->n_sizes;
  return n < DRAWN_LEAST ? DRAWN_LEAST : n < DRAWN_MOST ? n : DRAWN_MOST;
}

/* A grid has more sizes than can be timed: the tree learns from some more of them what the models
 * say there. */
static int thin_and_draw(portfolio_run *r, portfolio_subset *kept, portfolio_table *t, err *e) {
  sizes more = {0};
  if (!r->grid) {
    return 0;
  }
  TRY(r->more ? 0 : portfolio_thin(r->t, t, kept->which, &kept->n, &r->memory, e));
  TRY(sample_sizes(r->t, r->grid, n_drawn(t), (uint64_t)r->seed + 1, true, &r->memory, &more, e));
  return add_drawn(r, kept, &more, t, e);
}

int portfolio_make(portfolio_run *r, portfolio_table *table, portfolio *out, size_t *n_left,
                   err *e) {
  portfolio_subset kept = {.n = r->n_chosen};
  gen_config *configs = ARENA_ARRAY(&r->memory, gen_config, PORTFOLIO_CONFIGS);
  TRY(configs ? 0 : err_nomem(e));
  for (size_t i = 0; i < kept.n; i++) {
    kept.which[i] = i;
  }
  TRY(thin_and_draw(r, &kept, table, e));
  for (size_t i = 0; i < kept.n; i++) {
    configs[i] = r->chosen[kept.which[i]];
  }
  *out = (portfolio){.asked = r->loss, .configs = configs, .n_configs = kept.n};
  TRY(portfolio_learn(r->t, table, kept.which, kept.n, &r->memory, out, e));
  set_ranges(r->t, table, out);
  *n_left = 0;
  for (size_t j = 0; j < table->n_sizes; j++) {
    *n_left += portfolio_loss(table, kept.which, kept.n, j) > log1p(r->loss);
  }
  return 0;
}
