#include "serve_base.h"

static gen_instance *promise_most(serve_make *m) {
  gen_problem p = *m->p;
  gen_instance *g = NULL;
  if (gen_problem_promise_most(m->f->t, &p)) {
    rt_instance_new(m->f->t, &p, &m->b.s->device->info, &g, NULL);
  }
  return g;
}

static bool is_valid(gen_instance *g, const gen_config *c) {
  return g && !gen_config_check(g, c, NULL);
}

/* Loads the configuration for either problem.
 *   most  the problem that promises most; NULL: the problem itself does */
static int load(serve_make *m, gen_instance *own, gen_instance *most) {
  const gen_config *c = &m->b.pick.config;
  m->b.g = is_valid(most, c) ? most : own;
  return m->b.g == most || is_valid(own, c) ? serve_make_load(m, SERVE_AT_HAND, NULL)
                                            : ERR_NOTFOUND;
}

int serve_base_load(serve_make *m) {
  gen_instance *own = m->b.g, *most = promise_most(m);
  int rc = ERR_NOTFOUND;
  m->b.pick = (serve_pick){.origin = TUNED_DEFAULT};
  for (size_t i = 0; rc == ERR_NOTFOUND && gen_config_base(m->f->t, i, &m->b.pick.config); i++) {
    rc = load(m, own, most);
  }
  gen_instance_free(m->b.g == own ? most : own);
  m->choose.g = m->b.g;
  return rc;
}
