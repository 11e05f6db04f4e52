#define _GNU_SOURCE
#include "serve_choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "adapt.h"
#include "serve_distance.h"

/* What is added to the distance of a result from elsewhere, in octaves: a neighbour tuned here and
 * twice as large in one field counts as much as the same size tuned on another device. */
static const double charge_of[] = {[TUNED_EXACT] = 0,
                                   [TUNED_PORTFOLIO] = 0,
                                   [TUNED_NEAREST] = 0,
                                   [TUNED_OTHER_DEVICE] = 1,
                                   [TUNED_PRESET] = 1.25};

enum { LOOK_MOST = 48 }; /* candidates whose requirements are evaluated, at up to 20 us each */

enum { ADAPT_MOST = 3 }; /* candidates that are adapted, at a millisecond or two each */

/* Bytes of a portfolio's models and its feasibility cache together: a context stays below 2 MB. */
static const size_t MODEL_AND_CACHE = 670 << 10;

static const double SAME_DISTANCE = 1e-9, ADAPTED_CHARGE = 1;
/* In octaves, of multiprocessors and bandwidth: 7 %. */
static const double SAME_DEVICE = 0.1;

/* A template's suggestion for the problem precedes neighbours farther away than this, in octaves,
 * and all that had to be adapted. */
static const double SUGGESTED_CHARGE = 4;

/* A result is passed over when one at most ODD_OCTAVES farther away is ODD_RATIO times as fast,
 * both relative to the least time that launches and peak rates allow: its own search went wrong. */
static const double ODD_RATIO = 4, ODD_OCTAVES = 1, LAUNCH_SEC = 4e-6;

typedef struct serve_adapted {
  gen_config config;
  int changed;
} adapted;

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- distance ------------------------------------------------------------------------------- */

static double device_distance(const serve_known_row *row) {
  return fabs(log2(row->sms)) + fabs(log2(row->bandwidth));
}

static double distance_of(const serve_choose *c, const serve_known_row *row) {
  return sqrt(serve_distance_squared(c->t, c->octaves, row->octaves, INFINITY)) +
         device_distance(row) + charge_of[row->origin];
}

/* ---- speed ---------------------------------------------------------------------------------- */

/* The least time that the peak rates of a device allow, `sms` and `bandwidth` against ours. */
static double floor_of(const serve_choose *c, const gen_plan *plan, double sms, double bandwidth) {
  const rt_info *info = c->from->device;
  const double compute = plan->flops / (rt_peak_flops(info) * sms);
  const double memory = plan->bytes / (rt_peak_bandwidth(info) * bandwidth);
  return fmax(compute, memory);
}

static double floor_at(serve_choose *c, const gen_problem *p, const gen_config *config, double sms,
                       double bandwidth) {
  const gen_plan *plan;
  gen_instance *g;
  gen_number limits[RT_NUMBERS];
  double sec = 0;
  rt_numbers(c->from->device, limits);
  if (!gen_instance_new(c->t, p, limits, RT_NUMBERS, &g, NULL)) {
    sec = gen_plan_make(g, config, c->memory, &plan, NULL) ? 0 : floor_of(c, plan, sms, bandwidth);
    gen_instance_free(g);
  }
  return sec;
}

/* The least time of the problem that is being served. */
static double floor_here(serve_choose *c, const gen_config *config) {
  const gen_plan *plan;
  return gen_plan_make(c->g, config, c->memory, &plan, NULL) ? 0 : floor_of(c, plan, 1, 1);
}

static const char *text_of(serve_choose *c, const serve_known_text *text) {
  return arena_text_n(c->memory, text->p, text->n);
}

static bool parse_problem(serve_choose *c, const serve_known_row *row, gen_problem *out) {
  const char *text = text_of(c, &row->problem);
  return text && !gen_problem_parse(c->t, text, out, NULL);
}

static bool parse_config(serve_choose *c, const serve_known_row *row, gen_config *out) {
  const char *text = text_of(c, &row->config);
  return text && !gen_config_parse(c->t, text, out, NULL);
}

/* The row's time over the least time of its own problem on its device; 0: not known. config NULL:
 * the row's. */
static double slowness(serve_choose *c, serve_known_row *row, const gen_config *config) {
  gen_problem p;
  gen_config own;
  if (!(row->sec > 0)) {
    return 0;
  }
  if (row->floor_sec <= 0 && parse_problem(c, row, &p) && (config || parse_config(c, row, &own))) {
    row->floor_sec = floor_at(c, &p, config ? config : &own, row->sms, row->bandwidth);
  }
  return row->floor_sec > 0 ? row->sec / row->floor_sec : 0;
}

/* The same with a launch's overhead in the least time, to compare small problems with large. */
static double lateness(serve_choose *c, serve_known_row *row, const gen_config *config) {
  return slowness(c, row, config) > 0 ? row->sec / (row->floor_sec + LAUNCH_SEC) : 0;
}

/* ---- the nearest ---------------------------------------------------------------------------- */

/* It was the exact candidate. */
static bool was_exact(const serve_choose *c, const serve_known_row *row) {
  return row->origin == TUNED_NEAREST && row->problem.n == strlen(c->problem) &&
         !memcmp(row->problem.p, c->problem, row->problem.n);
}

static void read_fields(serve_choose *c) {
  for (size_t i = 0; i < c->t->n_fields; i++) {
    c->values[i] = c->p->values[i].i;
  }
  serve_problem_octaves(c->t, c->values, c->octaves);
}

/* Computed once, and not at all where the portfolio serves. */
static int measure_distances(serve_choose *c, err *e) {
  if (c->distance) {
    return 0;
  }
  c->distance = ARENA_ARRAY(c->memory, double, c->known->n + 1);
  c->adapted = ARENA_ARRAY(c->memory, adapted *, c->known->n + 1);
  for (size_t i = 0; c->distance && i < c->known->n; i++) {
    const serve_known_row *row = &c->known->rows[i];
    c->distance[i] = was_exact(c, row) ? INFINITY : distance_of(c, row);
  }
  return c->distance && c->adapted ? 0 : no_room(e);
}

/* A walk for each candidate: mostly the first one serves. */
static size_t nearest(const serve_choose *c) {
  size_t best = c->known->n;
  double least = INFINITY;
  for (size_t i = 0; i < c->known->n; i++) {
    if (c->distance[i] < least) {
      least = c->distance[i];
      best = i;
    }
  }
  return best;
}

static bool valid(serve_choose *c, const char *config, gen_config *out) {
  return !gen_config_parse(c->t, config, out, NULL) && !gen_config_check(c->g, out, NULL);
}

static bool valid_row(serve_choose *c, size_t i, gen_config *config) {
  if (c->adapted[i]) {
    *config = c->adapted[i]->config;
    return true;
  }
  c->n_looked++;
  return parse_config(c, &c->known->rows[i], config) && !gen_config_check(c->g, config, NULL);
}

/* A row that is not valid here is adapted and put farther away, or dropped. */
static void adapt_or_drop(serve_choose *c, size_t i) {
  adapted *a = c->n_adapted++ < ADAPT_MOST ? ARENA_ARRAY(c->memory, adapted, 1) : NULL;
  if (a && parse_config(c, &c->known->rows[i], &a->config) &&
      adapt_config(c->t, c->g, &a->config, &a->changed)) {
    c->adapted[i] = a;
    c->distance[i] += ADAPTED_CHARGE;
  } else {
    c->distance[i] = INFINITY;
  }
}

/* Of row i and those at the same distance: the one closest to its device's peak. */
static size_t fastest_beside(serve_choose *c, size_t i, gen_config *config) {
  double least = 0;
  const double near = c->distance[i];
  for (size_t j = i + 1; j < c->known->n && c->n_looked < LOOK_MOST; j++) {
    gen_config other;
    if (fabs(c->distance[j] - near) > SAME_DISTANCE || !valid_row(c, j, &other)) {
      continue;
    }
    const double slow = slowness(c, &c->known->rows[j], &other);
    least = least > 0 ? least : slowness(c, &c->known->rows[i], config);
    if (slow > 0 && (slow < least || !(least > 0))) {
      least = slow;
      i = j;
      *config = other;
    }
  }
  return i;
}

/* Row i, or one hardly farther away if row i is far slower. */
static size_t sound_beside(serve_choose *c, size_t i, gen_config *config) {
  const double near = c->distance[i], late = lateness(c, &c->known->rows[i], config);
  double least = late / ODD_RATIO;
  for (size_t j = 0; late > ODD_RATIO && j < c->known->n && c->n_looked < LOOK_MOST; j++) {
    gen_config other;
    if (c->distance[j] - near > ODD_OCTAVES || !valid_row(c, j, &other)) {
      continue;
    }
    const double its = lateness(c, &c->known->rows[j], &other);
    if (its > 0 && its < least) {
      least = its;
      i = j;
      *config = other;
    }
  }
  return i;
}

static void take_row(serve_choose *c, size_t i, const gen_config *config, serve_pick *pick) {
  serve_known_row *row = &c->known->rows[i];
  const double slow = slowness(c, row, config);
  const double least = slow > 0 ? floor_here(c, config) : 0;
  *pick = (serve_pick){.config = *config,
                       .origin = row->origin,
                       .problem = text_of(c, &row->problem),
                       .device_key = row->device_key,
                       .image = row->image,
                       .sec = slow * least,
                       .measured = row->measured,
                       .changed = c->adapted[i] ? c->adapted[i]->changed : 0};
  c->distance[i] = INFINITY;
}

static bool same_fields(const serve_choose *c, const serve_known_row *row) {
  size_t i = 0;
  while (i < c->t->n_fields && fabs(c->octaves[i] - row->octaves[i]) < SAME_DISTANCE) {
    i++;
  }
  return i == c->t->n_fields;
}

/* Exactly this problem, tuned on another device of about this size, and not tried yet. */
static bool is_same(const serve_choose *c, size_t i) {
  const serve_known_row *row = &c->known->rows[i];
  return same_fields(c, row) && !was_exact(c, row) && device_distance(row) < SAME_DEVICE &&
         !(c->distance && isinf(c->distance[i]));
}

static int next_same(serve_choose *c, serve_pick *pick, bool *found, err *e) {
  gen_config config;
  for (size_t i = 0; i < c->known->n && !*found; i++) {
    if (is_same(c, i)) {
      TRY(measure_distances(c, e));
      if (valid_row(c, i, &config)) {
        take_row(c, i, &config, pick);
        *found = true;
      }
    }
  }
  return 0;
}

static bool is_suggested(serve_choose *c) {
  gen_config config;
  bool suggested;
  return !gen_config_untuned(c->g, &config, &suggested, NULL) && suggested;
}

static bool next_nearest(serve_choose *c, serve_pick *pick) {
  size_t i;
  while (c->n_looked < LOOK_MOST && (i = nearest(c)) < c->known->n) {
    gen_config config;
    if ((c->distance[i] > SUGGESTED_CHARGE || c->adapted[i]) && is_suggested(c)) {
      return false;
    }
    if (valid_row(c, i, &config)) {
      i = fastest_beside(c, i, &config);
      take_row(c, sound_beside(c, i, &config), &config, pick);
      return true;
    }
    adapt_or_drop(c, i);
  }
  return false;
}

/* ---- the portfolio -------------------------------------------------------------------------- */

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
      const size_t model = portfolio_model_nbytes(&of->model);
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

static void open_portfolio(serve_choose *c) {
  const serve_known *k = c->known;
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
    const double slow = slowness(c, near, NULL);
    pick->sec = slow > 0 ? slow * floor_here(c, &pick->config) : 0;
    pick->measured = near->measured;
  }
}

static bool fits(serve_choose *c, serve_pick *pick) {
  return !gen_config_check(c->g, &pick->config, NULL) ||
         (c->n_adapted++ < ADAPT_MOST && adapt_config(c->t, c->g, &pick->config, &pick->changed));
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

static bool next_of_portfolio(serve_choose *c, serve_pick *pick) {
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

/* ---- the ends of the list ------------------------------------------------------------------- */

/* A stored configuration that this template does not accept is ignored. */
static int find_exact(serve_choose *c, serve_pick *pick, bool *found, err *e) {
  db_result best;
  err why = {0};
  *found = false;
  if (!c->from->db) {
    return 0;
  }
  const char *key = c->from->device_key;
  const int rc = db_best(c->from->db, c->t->hash, key, c->problem, c->memory, &best, &why);
  if (rc) { /* a damaged row is ignored; a damaged file is reported by the next read */
    return rc == ERR_NOTFOUND || rc == ERR_DB ? 0 : err_at(e, rc, why.place, "%s", why.message);
  }
  bool former = false; /* that image may have other kernels */
  TRY(db_is_former(c->from->db, c->t->hash, &former, e));
  *pick = (serve_pick){.origin = TUNED_EXACT,
                       .problem = best.t.problem,
                       .device_key = key,
                       .image = former ? NULL : best.t.image,
                       .sec = best.median > 0 ? best.median : best.modelled,
                       .measured = best.median > 0};
  *found = valid(c, best.t.config, &pick->config);
  return 0;
}

static int take_default(serve_choose *c, serve_pick *pick, err *e) {
  *pick = (serve_pick){.origin = TUNED_DEFAULT};
  TRY(gen_config_untuned(c->g, &pick->config, NULL, e));
  return gen_config_check(c->g, &pick->config, e);
}

enum { EXACT, SAME, PORTFOLIO, PORTFOLIO_OPEN, REST, DEFAULT, END };

int serve_choose_next(serve_choose *c, serve_pick *pick, err *e) {
  bool found = false;
  if (c->step == EXACT) {
    c->step = SAME;
    TRY(find_exact(c, pick, &found, e));
  }
  if (!found && c->step == SAME) {
    TRY(serve_known_read(c->from, c->t, c->known, e));
    read_fields(c);
    c->step = PORTFOLIO;
    TRY(next_same(c, pick, &found, e));
  }
  if (!found && c->step == PORTFOLIO) {
    c->step = PORTFOLIO_OPEN;
    open_portfolio(c);
  }
  if (!found && c->step == PORTFOLIO_OPEN) {
    found = next_of_portfolio(c, pick);
    c->step = found ? PORTFOLIO_OPEN : REST;
  }
  if (!found && c->step == REST) {
    TRY(measure_distances(c, e));
    found = next_nearest(c, pick);
    c->step = found ? REST : DEFAULT;
  }
  if (!found && c->step == DEFAULT) {
    c->step = END;
    return take_default(c, pick, e);
  }
  return found ? 0 : ERR_NOTFOUND;
}

void serve_choose_default(serve_choose *c) {
  c->step = c->step == END ? END : DEFAULT;
}
