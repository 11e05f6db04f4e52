#include "serve_choose.h"

#include <string.h>

#include "choose_state.h"
#include "serve_distance.h"

static bool valid(serve_choose *c, const char *config, gen_config *out) {
  return !gen_config_parse(c->t, config, out, NULL) && !gen_config_check(c->g, out, NULL);
}

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
    return rc == ERR_NOTFOUND || rc == ERR_DB ? 0 : err_copy(e, rc, &why);
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

static void read_fields(serve_choose *c) {
  for (size_t i = 0; i < c->t->n_fields; i++) {
    c->values[i] = c->p->values[i].i;
  }
  serve_problem_octaves(c->t, c->values, c->octaves);
}

enum { QUICK_LOOKS = 6 }; /* neighbours whose requirements are evaluated, at 20 us each */

enum { EXACT, SAME, PORTFOLIO, PORTFOLIO_OPEN, NEAREST, DEFAULT, END };

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
    TRY(choose_same(c, pick, &found, e));
  }
  if (!found && c->step == PORTFOLIO) {
    c->step = PORTFOLIO_OPEN;
    choose_open_portfolio(c);
  }
  if (!found && c->step == PORTFOLIO_OPEN) {
    found = choose_portfolio(c, pick);
    c->step = found ? PORTFOLIO_OPEN : NEAREST;
  }
  if (!found && c->step == NEAREST) {
    TRY(choose_nearest(c, pick, &found, e));
    c->step = found ? NEAREST : DEFAULT;
  }
  if (!found && c->step == DEFAULT) {
    c->step = END;
    return take_default(c, pick, e);
  }
  return found ? 0 : ERR_NOTFOUND;
}

bool serve_choose_is_quick(const serve_choose *c) {
  return c->leaf && c->ranked ? c->leaf_at < c->n_ranked : c->n_looked < QUICK_LOOKS;
}

void serve_choose_default(serve_choose *c) {
  c->step = c->step == END ? END : DEFAULT;
}
