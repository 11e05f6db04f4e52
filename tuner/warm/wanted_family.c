#include "wanted_family.h"

#include <string.h>

#include "adapt.h"
#include "run.h"
#include "serve_choose.h"
#include "warm_problems.h"

typedef struct gatherer {
  const serve_sources *from;
  gen_template *t;
  serve_known known;
  wanted_images *w;
} gatherer;

/* Any other error belongs to one problem or configuration, which serving would pass over. */
static bool is_final(int rc) {
  return rc == ERR_NOMEM || rc == ERR_INTERRUPTED || rc == ERR_DB;
}

static bool is_stored(const serve_sources *from, const char *image) {
  auto_arena a = {0};
  db_image row;
  return image && from->db && !db_image_get(from->db, image, &a, &row, NULL) &&
         !strcmp(row.arch, from->device->arch) &&
         (from->device->format == RT_CUBIN ? row.n_cubin : row.n_ptx);
}

static int want_served(gatherer *x, gen_instance *g, const gen_problem *p, const char *problem,
                       err *e) {
  auto_arena a = {0};
  serve_pick pick;
  serve_choose c = {.from = x->from,
                    .t = x->t,
                    .p = p,
                    .g = g,
                    .problem = problem,
                    .known = &x->known,
                    .memory = &a};
  TRY(serve_choose_next(&c, &pick, e));
  return pick.origin == TUNED_EXACT && is_stored(x->from, pick.image)
             ? 0
             : wanted_add(x->w, g, &pick.config, WANTED_SERVED, problem, e);
}

static int want_untuned(gatherer *x, gen_instance *g, const gen_problem *p, const char *problem,
                        err *e) {
  gen_config config;
  (void)p;
  TRY(gen_config_untuned(g, &config, NULL, e));
  TRY(gen_config_check(g, &config, e));
  return wanted_add(x->w, g, &config, WANTED_UNTUNED, problem, e);
}

static int want_portfolio(gatherer *x, gen_instance *g, const gen_problem *p, const char *problem,
                          err *e) {
  const portfolio *pf = &x->known.portfolio;
  (void)p;
  for (size_t i = 0; i < pf->n_configs; i++) {
    gen_config config = pf->configs[i];
    int changed;
    if (adapt_config(x->t, g, &config, &changed)) {
      TRY(wanted_add(x->w, g, &config, WANTED_PORTFOLIO, problem, e));
    }
  }
  return 0;
}

typedef int want(gatherer *x, gen_instance *g, const gen_problem *p, const char *problem, err *e);

static int want_for(gatherer *x, const gen_problem *p, want *what, err *e) {
  auto_instance *g = NULL;
  auto_str problem = {0};
  gen_problem_text(x->t, p, &problem);
  TRY(problem.failed ? err_nomem(e) : 0);
  TRY(rt_instance_new(x->t, p, x->from->device, &g, e));
  return what(x, g, p, str_text(&problem), e);
}

static int want_for_all(gatherer *x, const sizes *s, want *what, err *e) {
  for (size_t i = 0; i < s->n; i++) {
    err why = {0};
    const int rc = want_for(x, &s->p[i], what, &why);
    if (is_final(rc)) {
      return err_copy(e, rc, &why);
    }
  }
  return 0;
}

static int gather(gatherer *x, const sizes *only, size_t drawn, err *e) {
  auto_arena a = {0};
  sizes some, combinations;
  TRY(serve_known_read(x->from, x->t, &x->known, e));
  if (only) {
    return want_for_all(x, only, want_served, e);
  }
  TRY(warm_problems(x->t, &x->known, drawn, &a, &some, e));
  TRY(want_for_all(x, &some, want_served, e));
  TRY(want_for_all(x, &some, want_untuned, e));
  TRY(warm_combinations(x->t, &x->known.portfolio, &a, &combinations, e));
  return want_for_all(x, &combinations, want_portfolio, e);
}

int wanted_family(const serve_sources *from, gen_template *t, const sizes *only, size_t drawn,
                  wanted_images *w, err *e) {
  gatherer x = {.from = from, .t = t, .w = w};
  const int rc = gather(&x, only, drawn, e);
  serve_known_clear(&x.known);
  return rc;
}
