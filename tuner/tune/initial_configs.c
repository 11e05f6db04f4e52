#include "initial_configs.h"

#include <string.h>

#include "serve_choose.h"
#include "serve_presets.h"
#include "session.h"

typedef struct sower {
  tune_session *s;
  gen_config *configs;
  size_t n;
  const char *near[INITIAL_NEAR]; /* problems tuned here */
  size_t n_near;
  size_t n_covered; /* of a portfolio */
} sower;

static void add(sower *x, const gen_config *c) {
  const size_t nbytes = x->s->t->n_params * sizeof *c->index;
  if (gen_config_check(x->s->g, c, NULL)) {
    return;
  }
  for (size_t i = 0; i < x->n; i++) {
    if (!memcmp(x->configs[i].index, c->index, nbytes)) {
      return;
    }
  }
  x->configs[x->n++] = *c;
}

/* What the user asks for, here or everywhere. */
static size_t add_given(sower *x) {
  const initial_configs *all = &x->s->o.given;
  const size_t before = x->n;
  for (size_t i = 0; i < all->n && x->n < before + INITIAL_FROM_FILE; i++) {
    if (!all->given[i].problem || !strcmp(all->given[i].problem, str_text(&x->s->problem))) {
      add(x, &all->given[i].config);
    }
  }
  return x->n - before;
}

/* In the order in which they would be served, but of a portfolio only so many that the nearest
 * problems' own have their place too. */
static int add_best(sower *x, serve_choose *choose, size_t most, err *e) {
  serve_pick pick;
  int rc = 0;
  while (x->n < most && !(rc = serve_choose_next(choose, &pick, e))) {
    if (pick.origin == TUNED_NEAREST && x->n_near < INITIAL_NEAR) {
      x->near[x->n_near++] = pick.problem;
    }
    if (pick.origin != TUNED_PORTFOLIO || x->n_covered++ < INITIAL_COVER) {
      add(x, &pick.config);
    }
  }
  return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Is its image in the database? */
static int is_built(sower *x, const gen_config *c, bool *found, err *e) {
  tune_session *s = x->s;
  candidate *built;
  TRY(candidate_new(s->g, s->compiler, &s->crew.setting, 0, c, &built, e));
  int rc = candidate_from_db(built, s->db, s->crew.m.info.format, found, e);
  candidate_free(built);
  return rc;
}

/* The fastest of a problem nearby that are valid here and built. */
static int add_built(sower *x, const char *problem, err *e) {
  tune_session *s = x->s;
  db_result *rows;
  size_t n, before = x->n;
  TRY(db_results(s->db, s->crew.template_id, s->crew.device_id, problem, &s->memory, &rows, &n, e));
  for (size_t i = 0; i < n && i < 2 * INITIAL_BUILT && x->n < before + INITIAL_BUILT; i++) {
    gen_config c;
    bool found = false;
    if (rows[i].t.status != DB_OK || gen_config_parse(s->t, rows[i].t.config, &c, NULL) ||
        gen_config_check(s->g, &c, NULL)) {
      continue;
    }
    TRY(is_built(x, &c, &found, e));
    if (found) {
      add(x, &c);
    }
  }
  return 0;
}

/* What the template suggests for a problem that nobody tuned, where it does; and its default, which
 * may be so slow that a bound in seconds allows for nothing behind it. */
static int add_own(sower *x, err *e) {
  gen_config c;
  TRY(gen_config_untuned(x->s->g, &c, NULL, e));
  add(x, &c);
  gen_config_default(x->s->t, &c);
  add(x, &c);
  return 0;
}

static int add_neighbours(sower *x, serve_choose *choose, err *e) {
  TRY(add_best(x, choose, 1, e));
  const size_t n_given = add_given(x);
  TRY(add_best(x, choose, n_given + INITIAL_BEST - 2, e));
  TRY(add_own(x, e));
  for (size_t i = 0; i < x->n_near; i++) {
    TRY(add_built(x, x->near[i], e));
  }
  return 0;
}

/* libtuned's own search for a kernel, over this session's database; the device is only asked for
 * its limits, so the measuring process can keep it. */
int initial_configs_find(tune_session *s, gen_config *configs, size_t *n, err *e) {
  str device_key = {0};
  serve_sources from = {.device = &s->crew.m.info,
                        .db = s->db,
                        .presets = s->o.start == TUNE_START_ALL ? serve_presets : NULL};
  serve_known known = {0};
  serve_choose choose = {.from = &from,
                         .t = s->t,
                         .p = &s->p,
                         .g = s->g,
                         .problem = str_text(&s->problem),
                         .known = &known,
                         .memory = &s->memory};
  sower x = {.s = s, .configs = configs};
  if (s->o.start == TUNE_START_NONE) {
    gen_config_default(s->t, &configs[x.n++]);
    add_given(&x);
    *n = x.n;
    return 0;
  }
  tune_device_key(&s->crew.m.info, s->o.replay, &device_key);
  from.device_key = str_text(&device_key);
  int rc = add_neighbours(&x, &choose, e);
  *n = x.n;
  serve_known_clear(&known);
  str_clear(&device_key);
  return rc;
}
