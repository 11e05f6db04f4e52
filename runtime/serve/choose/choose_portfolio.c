#include "choose_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt.h"
#include "run.h"
#include "serve_distance.h"

/* Bytes on the heap of a portfolio's models and its feasibility cache together: a context stays
 * below 2 MB. */
static const size_t MODEL_AND_CACHE = 670 << 10;

/* Models are less exact than this. Of 1, 2, 3 and 5 %, for sgemm on an H200, 2 % gives the most: 200
 * sizes then need 7 images less, and lose 0.13 % more by the models. */
static const double NEARLY = 1.02;

typedef struct serve_ranked {
  gen_config config;
  int changed;
  double sec; /* as the model says */
} ranked;

static bool tuned_here(const serve_known *k) {
  for (size_t i = 0; i < k->n; i++) {
    if (k->rows[i].origin == TUNED_NEAREST) {
      return true;
    }
  }
  return false;
}

static int by_sec(const void *first, const void *second) {
  const ranked *x = first, *y = second;
  return (x->sec > y->sec) - (x->sec < y->sec);
}

static int by_changes(const void *first, const void *second) {
  const ranked *x = first, *y = second;
  const int by = (x->changed > y->changed) - (x->changed < y->changed);
  return by ? by : by_sec(x, y);
}

/* Of the nearly fastest those come first that are adapted least: more problems share an image. */
static void prefer_unchanged(ranked *list, size_t n) {
  size_t near = 0;
  while (near < n && list[near].sec <= NEARLY * list[0].sec) {
    near++;
  }
  qsort(list, near, sizeof *list, by_changes);
}

static void adapt_slowly(serve_choose *c, size_t i, feasibility *out) {
  *out = (feasibility){.config = c->known->portfolio.configs[i]};
  out->fits = adapt_config(c->t, c->g, &out->config, &out->changed);
  if (out->fits) {
    model_work_of(c->g, &out->config, &out->work);
  }
}

/* NULL: out of memory; the generator is slower and needs none. */
static feasibility_cache *cache_of(serve_choose *c) {
  serve_known *k = c->known;
  const portfolio *of = &k->portfolio;
  gen_number limits[RT_NUMBERS];
  if (k->cache && !feasibility_cache_is_of(k->cache, of->configs, of->n_configs)) {
    feasibility_cache_free(k->cache);
    k->cache = NULL;
  }
  if (!k->cache) {
    rt_numbers(c->from->device, limits);
    feasibility_cache_new(c->t, of->configs, of->n_configs, limits, RT_NUMBERS, &k->cache, NULL);
    if (k->cache) {
      const size_t model = of->model.embedded ? 0 : portfolio_model_nbytes(&of->model);
      feasibility_cache_bound(k->cache, MODEL_AND_CACHE > model ? MODEL_AND_CACHE - model : 0);
    }
  }
  if (k->cache) {
    feasibility_cache_problem(k->cache, c->p);
  }
  return k->cache;
}

static bool is_short(const chooser_node *leaf, size_t config) {
  for (size_t i = 0; i < leaf->n_short; i++) {
    if (leaf->order[i] == config) {
      return true;
    }
  }
  return !leaf->n_short;
}

/* Predict and sort those of the leaf's short list, or the others. */
static void rank(serve_choose *c, bool of_short, const float *apart) {
  const portfolio *pf = &c->known->portfolio;
  feasibility_cache *cache = cache_of(c);
  const size_t from = c->n_ranked;
  for (size_t i = 0; i < pf->n_configs; i++) {
    ranked *r = &c->ranked[c->n_ranked];
    feasibility is;
    if (is_short(c->leaf, i) != of_short) {
      continue;
    }
    if (!cache || !feasibility_cache_get(cache, i, &is)) {
      adapt_slowly(c, i, &is);
    }
    if (is.fits) {
      *r = (ranked){.config = is.config, .changed = is.changed};
      r->sec = model_fit_sec(c->t, &pf->model.fits[i], c->values, &is.work, apart);
      c->n_ranked += isfinite(r->sec);
    }
  }
  qsort(c->ranked + from, c->n_ranked - from, sizeof *c->ranked, by_sec);
  prefer_unchanged(c->ranked + from, c->n_ranked - from);
}

/* The others follow where none of the short list is valid or can be built. */
static bool rank_more(serve_choose *c) {
  const portfolio *pf = &c->known->portfolio;
  if (!c->ranked || c->ranked_all) {
    return false;
  }
  if (!c->apart) {
    c->apart = ARENA_ARRAY(c->memory, float, pf->model.sizes.n);
    if (!c->apart) {
      return false;
    }
    chooser_size_distances(&pf->model.sizes, c->values, c->apart);
    rank(c, true, c->apart);
  }
  if (c->leaf_at == c->n_ranked) {
    rank(c, false, c->apart);
    c->ranked_all = true;
  }
  return c->leaf_at < c->n_ranked;
}

void choose_open_portfolio(serve_choose *c) {
  const serve_known *k = c->known;
  portfolio_take_alike(c->t, &k->portfolio, c->values);
  const bool here = k->portfolio.n_nodes && !strcmp(k->portfolio_device, c->from->device_key);
  c->leaf = here || !tuned_here(k) ? portfolio_leaf(c->t, &k->portfolio, c->values) : NULL;
  if (c->leaf && k->portfolio.model.sizes.n) {
    c->ranked = ARENA_ARRAY(c->memory, ranked, k->portfolio.n_configs);
  }
}

/* Estimate the time by the nearest tuned problem: how far from the peak it stayed. */
static void estimate(serve_choose *c, serve_pick *pick) {
  serve_known_row *near = NULL;
  double least = INFINITY;
  for (size_t i = 0; i < c->known->n; i++) {
    serve_known_row *row = &c->known->rows[i];
    const double d = serve_distance_squared(c->t, c->octaves, row->octaves, least);
    if (d < least && !strcmp(row->device_key, pick->device_key)) {
      least = d;
      near = row;
    }
  }
  if (near) {
    const double slow = choose_slowness(c, near, NULL);
    pick->sec = slow > 0 ? slow * choose_floor(c, &pick->config) : 0;
    pick->measured = near->measured;
  }
}

static bool fits(serve_choose *c, serve_pick *pick) {
  return !gen_config_check(c->g, &pick->config, NULL) ||
         (c->n_adapted++ < CHOOSE_ADAPT_MOST &&
          adapt_config(c->t, c->g, &pick->config, &pick->changed));
}

static bool next_ranked(serve_choose *c, serve_pick *pick) {
  if (c->leaf_at >= c->n_ranked && !rank_more(c)) {
    return false;
  }
  const ranked *r = &c->ranked[c->leaf_at++];
  *pick = (serve_pick){.config = r->config,
                       .changed = r->changed,
                       .origin = TUNED_PORTFOLIO,
                       .device_key = c->known->portfolio_device,
                       .sec = r->sec,
                       .measured = !c->from->device->modelled,
                       .loss = c->leaf->expected};
  if (strcmp(c->known->portfolio_device, c->from->device_key) != 0) {
    estimate(c, pick);
  }
  return true;
}

bool choose_portfolio(serve_choose *c, serve_pick *pick) {
  if (c->ranked && next_ranked(c, pick)) {
    return true;
  }
  while (!c->n_ranked && c->leaf && c->leaf_at < c->leaf->n_order) {
    *pick = (serve_pick){.config = c->known->portfolio.configs[c->leaf->order[c->leaf_at++]],
                         .origin = TUNED_PORTFOLIO,
                         .device_key = c->known->portfolio_device,
                         .loss = c->leaf->expected};
    if (fits(c, pick)) {
      estimate(c, pick);
      return true;
    }
  }
  c->n_adapted = 0;
  return false;
}
