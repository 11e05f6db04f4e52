#include "online_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt.h"

/* So many from anywhere first; then the best of a pool, every so manieth of it from anywhere. */
enum { FIRST = 24, POOL = 16, ANYWHERE = 4, ELITE = 4, ATTEMPTS = 24 };

enum { FEATURES = GEN_MAX_PARAMS + ONLINE_DRAW_SHAPES, VALUES = 64, ROUNDS = 12 };

/* An effect is believed as if so many more had shown none. What is said of a variant is off by
 * about NOISE, a logarithm; one that failed is as slow as the slowest and FAILED times more. */
static const double PRIOR = 1.5, NOISE = 0.15, FAILED = 2;

/* src: Vigna, xorshift64* */
static uint64_t draw(online_draw *d) {
  d->random ^= d->random >> 12;
  d->random ^= d->random << 25;
  d->random ^= d->random >> 27;
  return d->random * UINT64_C(2685821657736338717) >> 16;
}

static double uniform(online_draw *d) {
  return (double)(draw(d) & 0xffffffff) * 0x1p-32;
}

static bool same(const online_draw *d, const gen_config *a, const gen_config *b) {
  return !memcmp(a->index, b->index, d->t->n_params * sizeof *a->index);
}

static bool is_there(const online_draw *d, const gen_config *c) {
  for (size_t i = 0; i < d->n; i++) {
    if (same(d, &d->list[i].config, c)) {
      return true;
    }
  }
  return false;
}

/* ---- points --------------------------------------------------------------------------------- */

static void set_shape(online_draw *d, const gen_config *c, uint8_t shape[ONLINE_DRAW_SHAPES]) {
  const gen_plan *plan;
  arena a = {0};
  double blocks = 1, threads = 1;
  if (!gen_plan_make(d->g, c, &a, &plan, NULL)) {
    for (size_t i = 0; i < plan->n; i++) {
      const gen_launch *l = &plan->launches[i];
      const double n = (double)l->grid[0] * l->grid[1] * l->grid[2];
      threads = n > blocks ? (double)l->block[0] * l->block[1] * l->block[2] : threads;
      blocks = fmax(blocks, n);
    }
  }
  arena_clear(&a);
  shape[0] = (uint8_t)(2 * log2(fmin(blocks, d->blocks_most)));
  shape[1] = (uint8_t)log2(fmax(threads, 1));
}

static void count(online_draw *d) {
  if (!d->counted) {
    d->counted = true;
    gen_space_new(d->g, &d->space, NULL);
  }
}

static bool anywhere(online_draw *d, gen_config *c) {
  int changed;
  if (d->space) {
    gen_space_at(d->space, (size_t)(draw(d) % gen_space_count(d->space)), c);
    return true;
  }
  memset(c, 0, sizeof *c);
  for (size_t i = 0; i < d->t->n_params; i++) {
    c->index[i] = (uint16_t)(draw(d) % d->t->params[i].n);
  }
  return adapt_config(d->t, d->g, c, &changed);
}

/* One to four parameters otherwise, mostly a step or two along their values. */
static bool beside(online_draw *d, const gen_config *from, gen_config *c) {
  int changed;
  *c = *from;
  for (uint64_t n = 1 + draw(d) % 4; n > 0 && d->t->n_params; n--) {
    const size_t i = draw(d) % d->t->n_params, most = d->t->params[i].n;
    const int64_t at = c->index[i] + (int64_t)(draw(d) % 5) - 2;
    const bool in = at >= 0 && at < (int64_t)most;
    c->index[i] = (uint16_t)(in && draw(d) % 4 ? (uint64_t)at : draw(d) % most);
  }
  return adapt_config(d->t, d->g, c, &changed);
}

/* The k-th fastest; NULL: fewer are known. */
static const online_drawn *fastest(const online_draw *d, size_t k) {
  const online_drawn *best = NULL;
  double above = 0;
  for (size_t i = 0; i <= k; i++) {
    double least = INFINITY;
    best = NULL;
    for (size_t j = 0; j < d->n; j++) {
      const double sec = d->list[j].sec;
      if (sec > above && sec < least) {
        least = sec;
        best = &d->list[j];
      }
    }
    above = least;
  }
  return best;
}

static bool point(online_draw *d, bool from_anywhere, gen_config *c) {
  for (int i = 0; i < ATTEMPTS; i++) {
    const online_drawn *from = from_anywhere ? NULL : fastest(d, draw(d) % ELITE);
    const bool ok = from ? beside(d, &from->config, c) : anywhere(d, c);
    if (ok && !is_there(d, c)) {
      return true;
    }
  }
  return beside(d, &d->list[0].config, c) && !is_there(d, c);
}

/* ---- what the times say --------------------------------------------------------------------- */

typedef struct effects {
  double mean, of[FEATURES][VALUES];
  double log_sec[ONLINE_DRAW_MOST]; /* of those that are known, else NAN */
} effects;

static size_t value_of(const online_draw *d, const online_drawn *x, size_t feature) {
  const size_t np = d->t->n_params;
  const size_t v = feature < np ? x->config.index[feature] : x->shape[feature - np];
  return v < VALUES ? v : VALUES - 1;
}

static double foretell(const online_draw *d, const effects *e, const online_drawn *x) {
  double sum = e->mean;
  for (size_t f = 0; f < d->t->n_params + ONLINE_DRAW_SHAPES; f++) {
    sum += e->of[f][value_of(d, x, f)];
  }
  return sum;
}

static size_t read_times(const online_draw *d, effects *e) {
  size_t n = 0;
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < d->n; i++) {
    const double sec = d->list[i].sec;
    e->log_sec[i] = sec > 0 ? log(sec) : NAN;
    most = isfinite(e->log_sec[i]) ? fmax(most, e->log_sec[i]) : most;
  }
  for (size_t i = 0; i < d->n && isfinite(most); i++) {
    if (!isnan(e->log_sec[i])) {
      e->log_sec[i] = fmin(e->log_sec[i], most + log(FAILED));
      sum += e->log_sec[i];
      n++;
    }
  }
  e->mean = n ? sum / (double)n : 0;
  return n;
}

/* One feature's effects out of what the others leave. */
static void fit_feature(const online_draw *d, effects *e, size_t f) {
  double sum[VALUES] = {0}, n[VALUES] = {0};
  for (size_t i = 0; i < d->n; i++) {
    if (!isnan(e->log_sec[i])) {
      const size_t v = value_of(d, &d->list[i], f);
      sum[v] += e->log_sec[i] - foretell(d, e, &d->list[i]) + e->of[f][v];
      n[v]++;
    }
  }
  for (size_t v = 0; v < VALUES; v++) {
    e->of[f][v] = sum[v] / (n[v] + PRIOR);
  }
}

/* src: Hastie and Tibshirani, Generalized Additive Models (backfitting) */
static void fit(const online_draw *d, effects *e) {
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t f = 0; f < d->t->n_params + ONLINE_DRAW_SHAPES; f++) {
      fit_feature(d, e, f);
    }
  }
}

/* ---- the next ------------------------------------------------------------------------------- */

static bool best_of_pool(online_draw *d, const effects *e, gen_config *c) {
  double least = INFINITY;
  for (int i = 0; i < POOL; i++) {
    online_drawn x = {0};
    if (point(d, i % ANYWHERE == 0, &x.config)) {
      set_shape(d, &x.config, x.shape);
      const double sec = foretell(d, e, &x) + NOISE * (uniform(d) + uniform(d) - 1);
      if (sec < least) {
        least = sec;
        *c = x.config;
      }
    }
  }
  return least < INFINITY;
}

bool online_draw_next(online_draw *d, gen_config *c, size_t *place) {
  effects *e = calloc(1, sizeof *e);
  bool found;
  count(d);
  if (!e || read_times(d, e) < FIRST) {
    found = point(d, d->n < FIRST || draw(d) % 2, c);
  } else {
    fit(d, e);
    found = best_of_pool(d, e, c);
  }
  free(e);
  return found && online_draw_add(d, c, place);
}

bool online_draw_add(online_draw *d, const gen_config *c, size_t *place) {
  if (d->n == ONLINE_DRAW_MOST || is_there(d, c)) {
    return false;
  }
  *place = d->n;
  d->list[d->n].config = *c;
  set_shape(d, c, d->list[d->n].shape);
  atomic_fetch_add(&d->n, 1);
  return true;
}

void online_draw_tell(online_draw *d, size_t place, double sec) {
  atomic_store(&d->list[place].sec, sec);
}

void online_draw_init(online_draw *d, const gen_template *t, gen_instance *g, double sms) {
  memset(d, 0, sizeof *d);
  d->t = t;
  d->g = g;
  d->blocks_most = 64 * sms;
  d->random = 88172645463325252u;
}

void online_draw_clear(online_draw *d) {
  gen_space_free(d->space);
  d->space = NULL;
}
