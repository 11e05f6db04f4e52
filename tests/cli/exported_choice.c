/* exported_choice.c -- an exported portfolio of sgemm says what the template says. The exported
 * source is included here, because its functions are static: over random problems every
 * requirement, workspace and choice agrees with the generator, and the times of the exported models
 * with those of the library. test_export.sh runs it; its argument is the file of the portfolio's
 * text. */
#include "emu.h"
#include "sgemm_portfolio.c"

#include <math.h>
#include <stdio.h>

#include "sizes.h"
#include "driver_on_emu.h"
#include "file.h"
#include "run.h"
#include "portfolio.h"
#include "feasibility_cache.h"

enum { PROBLEMS = 800, WORKSPACES_MOST = 16 };

typedef struct lua { /* the generator's view of a problem */
  gen_template *t;
  gen_instance *g;
  arena memory;
} lua;

static sgemm_problem exported(const gen_problem *p) {
  static const int64_t texts[] = {SGEMM_TEXT_n, SGEMM_TEXT_t},
                       alpha[] = {SGEMM_TEXT_1, SGEMM_TEXT_any},
                       beta[] = {SGEMM_TEXT_0, SGEMM_TEXT_1, SGEMM_TEXT_any};
  return (sgemm_problem){p->values[0].i,         p->values[1].i,        p->values[2].i,
                         texts[p->values[3].i],  texts[p->values[4].i], p->values[5].i,
                         p->values[6].i,         p->values[7].i,        SGEMM_TEXT_none,
                         SGEMM_TEXT_none,        SGEMM_TEXT_none,       SGEMM_TEXT_strict,
                         alpha[p->values[12].i], beta[p->values[13].i], SGEMM_TEXT_any};
}

static int fail(const char *what, const lua *l, const gen_problem *p, int i) {
  str text = {0};
  gen_problem_text(l->t, p, &text);
  printf("%s: %s with %s\n", what, str_text(&text), i < 0 ? "none" : sgemm_configs[i]);
  str_clear(&text);
  return 1;
}

static uint64_t workspace(lua *l, const gen_config *c) {
  const gen_plan *plan;
  uint64_t sum = 0;
  if (gen_plan_make(l->g, c, &l->memory, &plan, NULL)) {
    return UINT64_MAX;
  }
  for (size_t i = 0; i < plan->n_workspaces; i++) {
    sum += (plan->workspaces[i] + 255) / 256 * 256;
  }
  return sum;
}

/* Whether one variant fits, by C and by Lua. */
static int compare(lua *l, const sgemm_portfolio *k, const gen_problem *p, int i, int *n_fit) {
  const sgemm_problem x = exported(p);
  gen_config c;
  uint64_t at[WORKSPACES_MOST];
  size_t n = WORKSPACES_MOST;
  gen_config_parse(l->t, sgemm_configs[i], &c, NULL);
  const int same = configs[i].for_ta == x.ta && configs[i].for_tb == x.tb;
  const int by_lua = same && !gen_config_check(l->g, &c, NULL), by_c = fits(k, &x, &configs[i]);
  /* a packed operand needs a kernel that may not be among those exported */
  const bool other_text = by_lua && strstr(sgemm_configs[i], "PACK=yes");
  if (by_lua != by_c && !other_text) {
    return fail(by_c ? "C says it fits" : "Lua says it fits", l, p, i);
  }
  *n_fit += by_c;
  memset(at, 0xff, sizeof at); /* the entries that are set show their number */
  place_workspaces(k, &x, &configs[i], at);
  while (at[n - 1] == UINT64_MAX) {
    n--;
  }
  return by_c && at[n - 1] != workspace(l, &c) ? fail("the workspaces differ", l, p, i) : 0;
}

static bool same_launch(const gen_launch *l, const driver_note *n) {
  return !memcmp(l->grid, n->grid, sizeof l->grid) &&
         !memcmp(l->block, n->block, sizeof l->block) && l->smem == n->smem &&
         l->overlap == n->overlap;
}

/* C launches what the plan has. */
static int compare_launches(lua *l, const sgemm_portfolio *k, const gen_problem *p, int chosen,
                            int *n_overlap) {
  const sgemm_problem x = exported(p);
  const gen_plan *plan;
  gen_config c;
  driver_notes = (struct driver_notes){.dry = true};
  if (gen_config_parse(l->t, sgemm_configs[chosen], &c, NULL) ||
      gen_plan_make(l->g, &c, &l->memory, &plan, NULL) ||
      sgemm_run(k, NULL, &x, 256, 1, 256, x.m, 256, x.k, 0, 256, x.m, 0, 0)) {
    return fail("no launch", l, p, chosen);
  }
  for (int i = 0; i < driver_notes.n && (size_t)driver_notes.n == plan->n; i++) {
    *n_overlap += driver_notes.list[i].overlap;
    if (!same_launch(&plan->launches[i], &driver_notes.list[i])) {
      return fail("the launches differ", l, p, chosen);
    }
  }
  return (size_t)driver_notes.n != plan->n ? fail("more or fewer launches", l, p, chosen) : 0;
}

static int compare_all(lua *l, const sgemm_portfolio *k, const gen_problem *p, int *n_fit,
                       int *n_default, int *n_overlap) {
  const sgemm_problem x = exported(p);
  const int chosen = sgemm_choose(k, &x);
  int bad = 0;
  for (int i = 0; i < SGEMM_CONFIGS; i++) {
    bad += compare(l, k, p, i, n_fit);
  }
  if (chosen < 0 || !fits(k, &x, &configs[chosen])) {
    return bad + fail("a choice that does not fit", l, p, chosen);
  }
  *n_default += chosen >= first[sizeof first / sizeof *first - 2];
  return bad + compare_launches(l, k, p, chosen, n_overlap);
}

/* ---- models --------------------------------------------------------------------------------- */

typedef struct library { /* what libtuned makes of the same portfolio */
  portfolio portfolio;
  feasibility_cache *cache;
  float *apart;
  double sec[PORTFOLIO_CONFIGS];
  gen_config config[PORTFOLIO_CONFIGS];
  int n_same, n_picks, n_other; /* times compared; picks that are exported; slower ones */
} library;

static int open_library(library *y, gen_template *t, const char *path, const gen_number *limits,
                        arena *a, err *e) {
  str text = {0};
  TRY(file_read(path, 64 << 20, &text, e));
  const int rc = portfolio_read(t, str_text(&text), a, &y->portfolio, e);
  str_clear(&text);
  y->apart = ARENA_ARRAY(a, float, y->portfolio.model.sizes.n);
  return rc ? rc
            : feasibility_cache_new(t, y->portfolio.configs, y->portfolio.n_configs, limits,
                                    RT_NUMBERS, &y->cache, e);
}

static void ask_library(library *y, gen_template *t, const gen_problem *p, const int64_t *values) {
  feasibility_cache_problem(y->cache, p);
  chooser_size_distances(&y->portfolio.model.sizes, values, y->apart);
  for (size_t i = 0; i < y->portfolio.n_configs; i++) {
    feasibility is;
    const bool fit = feasibility_cache_get(y->cache, i, &is) && is.fits;
    y->sec[i] =
        fit ? model_fit_sec(t, &y->portfolio.model.fits[i], values, &is.work, y->apart) : INFINITY;
    y->config[i] = is.config;
  }
}

/* The exported variant that equals the library's configuration here; -1: none. */
static int exported_as(const lua *l, const library *y, const sgemm_portfolio *k,
                       const sgemm_problem *x, size_t base) {
  for (int i = first[base]; i < first[base + 1] && isfinite(y->sec[base]); i++) {
    gen_config c;
    if (fits(k, x, &configs[i]) && !gen_config_parse(l->t, sgemm_configs[i], &c, NULL) &&
        !memcmp(c.index, y->config[base].index, l->t->n_params * sizeof *c.index)) {
      return i;
    }
  }
  return -1;
}

/* A variant of both takes the same time by both. */
static int compare_times(lua *l, library *y, const sgemm_portfolio *k, const gen_problem *p) {
  const sgemm_problem x = exported(p);
  int64_t values[N_FIELDS];
  float distances[CHOOSER_SIZES];
  read_fields(&x, values);
  chooser_size_distances(&measured_sizes, values, distances);
  for (int i = 0; i < N_BASES; i++) {
    const int variant = exported_as(l, y, k, &x, (size_t)i);
    if (variant < 0) {
      continue;
    }
    const chooser_work w = work_of(k, &x, &configs[variant]);
    const double sec =
        chooser_seconds(&measured_sizes.fields, &models[i], values, &w, differ[variant], distances);
    y->n_same++;
    if (!(fabs(log(sec / y->sec[i])) < 1e-4)) {
      printf("%g against %g s: ", sec, y->sec[i]);
      return fail("the models differ", l, p, variant);
    }
  }
  return 0;
}

static double time_of(const sgemm_portfolio *k, const sgemm_problem *x, int variant) {
  int64_t values[N_FIELDS];
  float distances[CHOOSER_SIZES];
  int base = 0;
  while (base < N_BASES && variant >= first[base + 1]) {
    base++;
  }
  read_fields(x, values);
  chooser_size_distances(&measured_sizes, values, distances);
  return base < N_BASES ? seconds(k, x, values, variant, base, distances) : INFINITY;
}

/* Where C has the variant that the library chooses, from the short list or from all, C chooses it
 * as well, or another that is as fast. */
static void compare_pick(const lua *l, library *y, const sgemm_portfolio *k, const gen_problem *p,
                         const chooser_node *leaf) {
  const sgemm_problem x = exported(p);
  size_t best = leaf->order[0];
  for (size_t i = 0; i < (leaf->n_short ? leaf->n_short : y->portfolio.n_configs); i++) {
    const size_t base = leaf->n_short ? leaf->order[i] : i;
    best = y->sec[base] < y->sec[best] ? base : best;
  }
  const int variant = exported_as(l, y, k, &x, best);
  if (variant >= 0 && variant == first_that_fits(k, &x, first[best], first[best + 1])) {
    y->n_picks++;
    y->n_other += !(time_of(k, &x, sgemm_choose(k, &x)) < 1.001 * time_of(k, &x, variant));
  }
}

static int compare_models(lua *l, library *y, const sgemm_portfolio *k, const gen_problem *p) {
  int64_t values[GEN_MAX_FIELDS];
  for (size_t i = 0; i < l->t->n_fields; i++) {
    values[i] = p->values[i].i;
  }
  const chooser_node *leaf = portfolio_leaf(l->t, &y->portfolio, values);
  ask_library(y, l->t, p, values);
  if (leaf) {
    compare_pick(l, y, k, p, leaf);
  }
  return compare_times(l, y, k, p);
}

int main(int argc, char **argv) {
  static sgemm_portfolio k;
  static library y;
  lua l = {0};
  sizes drawn;
  rt_device *d;
  gen_number limits[RT_NUMBERS];
  err e = {0};
  int bad = 0, n_fit = 0, n_default = 0, n_overlap = 0;
  if (cuInit(0) || read_limits(&k, 0) || rt_emu_open(NULL, &d, &e) ||
      gen_open(NULL, "sgemm", &l.t, &e) ||
      sample_sizes(l.t, "m=1..3000 n=1..3000 k=1..3000 align=1,2,4 beta_is=0,0,1,any", PROBLEMS, 11,
                   true, &l.memory, &drawn, &e)) {
    printf("setting up: %s\n", e.message);
    return 1;
  }
  k.overlaps = 1;
  rt_numbers(&d->info, limits);
  if (argc != 2 || open_library(&y, l.t, argv[1], limits, &l.memory, &e)) {
    printf("reading the portfolio: %s\n", e.message);
    return 1;
  }
  for (size_t i = 0; i < drawn.n && bad < 10; i++) {
    if (gen_instance_new(l.t, &drawn.p[i], limits, RT_NUMBERS, &l.g, &e)) {
      return 1;
    }
    bad += compare_all(&l, &k, &drawn.p[i], &n_fit, &n_default, &n_overlap);
    bad += compare_models(&l, &y, &k, &drawn.p[i]);
    gen_instance_free(l.g);
  }
  printf("%zu problems, %d variants fit, %d problems got the default, %d launches overlap, %d "
         "times, %d picks of which %d slower, %d differences\n",
         drawn.n, n_fit, n_default, n_overlap, y.n_same, y.n_picks, y.n_other, bad);
  feasibility_cache_free(y.cache);
  gen_close(l.t);
  arena_clear(&l.memory);
  d->ops->close(d);
  return bad || n_fit < 100 || n_overlap < 5 || y.n_same < 50 || y.n_picks < 5 || y.n_other;
}
