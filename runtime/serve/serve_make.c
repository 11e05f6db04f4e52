#include "serve_make.h"

#include "serve_kernel.h"

int serve_make_begin(serve_make *m, serve *s, serve_family *f, const gen_problem *p,
                     const char *problem, err *e) {
  *m = (serve_make){
      .f = f, .p = p, .problem = problem, .b = {.s = s, .t = f->t, .notes = &f->notes}};
  TRY(rt_instance_new(f->t, p, &s->device->info, &m->b.g, e));
  m->choose = (serve_choose){.from = &s->sources,
                             .t = f->t,
                             .p = p,
                             .g = m->b.g,
                             .problem = problem,
                             .known = &f->known,
                             .memory = &m->b.memory};
  return 0;
}

void serve_make_end(serve_make *m) {
  rt_loaded_free(m->loaded);
  gen_instance_free(m->b.g);
  serve_build_clear(&m->b);
}

int serve_make_next(serve_make *m, err *e) {
  return serve_choose_next(&m->choose, &m->b.pick, e);
}

static bool take_noted(serve_make *m) {
  return serve_notes_choice(m->b.s, m->f->t, &m->f->notes, m->problem, &m->b.memory, &m->b.pick) &&
         !gen_config_check(m->b.g, &m->b.pick.config, NULL);
}

int serve_make_first(serve_make *m, err *e) {
  if (!take_noted(m)) {
    TRY(serve_make_next(m, e));
    serve_notes_chose(m->b.s, &m->f->notes, m->problem, &m->b.pick);
  }
  return 0;
}

int serve_make_load(serve_make *m, serve_effort effort, err *e) {
  return serve_build_load(&m->b, effort, &m->loaded, e);
}

enum { TRIES_MOST = 6 }; /* of loading valid candidates, before the default */

int serve_make_load_first(serve_make *m, err *e) {
  for (int tries = 0;; tries++) {
    err why = {0};
    if (tries == TRIES_MOST) {
      serve_choose_default(&m->choose);
    }
    TRY(tries ? serve_make_next(m, e) : serve_make_first(m, e));
    const int rc = serve_make_load(m, SERVE_COMPILE, &why);
    if (!rc) {
      return 0;
    }
    if (m->b.pick.origin == TUNED_DEFAULT || serve_build_is_final(&m->b, rc)) {
      return err_copy(e, rc, &why);
    }
  }
}

static void adopt(serve *s, tuned_kernel *k) {
  k->next = s->newest;
  s->newest = k;
}

int serve_make_kernel(serve_make *m, tuned_kernel **k, err *e) {
  const serve_parts parts = {.owner = m->b.s,
                             .family = m->f,
                             .t = m->f->t,
                             .name = m->f->name,
                             .problem = m->problem,
                             .g = m->b.g,
                             .pick = &m->b.pick,
                             .plan = m->b.plan,
                             .loaded = m->loaded,
                             .spill = m->b.spill};
  *k = NULL;
  m->loaded = NULL; /* the kernel's, or freed after an error */
  TRY(serve_kernel_new(&parts, k, e));
  const int rc = serve_build_share(&m->b, *k, e);
  if (rc) {
    serve_kernel_free(*k);
    *k = NULL;
    return rc;
  }
  adopt(m->b.s, *k);
  return 0;
}

void serve_make_news(serve *s, serve_news *news) {
  for (serve_family *f = s->families; f; f = f->next) {
    serve_news_take(f->t, &f->notes, news);
  }
}
