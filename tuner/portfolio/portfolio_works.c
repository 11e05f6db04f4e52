#include <string.h>

#include "adapt.h"
#include "portfolio_run.h"

static void find_work(portfolio_run *r, gen_instance *g, const gen_config *config,
                      model_work *out) {
  gen_config c = *config;
  int changed;
  if (adapt_config(r->t, g, &c, &changed)) {
    model_work_of(g, &c, out);
  }
}

static int find_works(portfolio_run *r, const portfolio_subset *of, const gen_problem *p,
                      size_t stride, model_work *work, err *e) {
  auto_instance *g = NULL;
  TRY(rt_instance_new(r->t, p, timing_table_device(r->timings), &g, e));
  for (size_t i = 0; i < of->n; i++) {
    find_work(r, g, &r->chosen[of->which[i]], &work[of->which[i] * stride]);
  }
  return 0;
}

/* The cache is a hundred times as fast as find_works. */
int portfolio_works(portfolio_run *r, feasibility_cache *cache, const portfolio_subset *of,
                    const gen_problem *p, size_t stride, model_work *work, err *e) {
  feasibility_cache_problem(cache, p);
  for (size_t i = 0; i < of->n; i++) {
    feasibility is;
    if (!feasibility_cache_get(cache, i, &is)) {
      return find_works(r, of, p, stride, work, e);
    }
    work[of->which[i] * stride] = is.fits ? is.work : (model_work){0};
  }
  return 0;
}

int portfolio_open_cache(portfolio_run *r, const portfolio_subset *of, feasibility_cache **cache,
                         err *e) {
  gen_config configs[PORTFOLIO_CONFIGS];
  gen_number numbers[RT_NUMBERS];
  rt_numbers(timing_table_device(r->timings), numbers);
  for (size_t i = 0; i < of->n; i++) {
    configs[i] = r->chosen[of->which[i]];
  }
  return feasibility_cache_new(r->t, configs, of->n, numbers, RT_NUMBERS, cache, e);
}

int portfolio_extend(portfolio_run *r, const sizes *more, portfolio_table *t, err *e) {
  const size_t all = t->n_sizes + more->n, nf = t->n_fields;
  int64_t *values = ARENA_ARRAY(&r->memory, int64_t, nf * all + 1);
  model_work *work = ARENA_ARRAY(&r->memory, model_work, t->n_configs * all + 1);
  TRY(values && work ? 0 : err_nomem(e));
  memcpy(values, t->values, t->n_sizes * nf * sizeof *values);
  for (size_t i = 0; i < t->n_configs; i++) {
    memcpy(work + i * all, t->work + i * t->n_sizes, t->n_sizes * sizeof *work);
  }
  for (size_t j = 0; j < more->n; j++) {
    for (size_t f = 0; f < nf; f++) {
      values[(t->n_sizes + j) * nf + f] = more->p[j].values[f].i;
    }
  }
  t->n_drawn = more->n;
  t->values = values;
  t->work = work;
  return 0;
}
