#define _GNU_SOURCE
#include "serve_made.h"

#include <stdlib.h>

#include "serve_kernel.h"
#include "serve_make.h"
#include "serve_workspace.h"

/* ---- preparing ------------------------------------------------------------------------------- */

static int plan_part(serve_made *m, bool *more, err *e) {
  serve *s = m->k->owner;
  pthread_mutex_lock(&s->lock);
  serve_turn_take(s);
  const int rc = rt_prepared_plan(m->prepared, more, e);
  serve_turn_end(s);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int serve_made_again(serve_made *m, tuned_stream stream, const void *const *args, err *e) {
  serve *s = m->k->owner;
  bool more = true;
  int rc = 0;
  serve_turn_take(s);
  rt_prepared_begin(m->prepared);
  serve_turn_end(s);
  while (more && !rc) {
    rc = plan_part(m, &more, e);
    serve_turn_take(s);
    rc = rc ? rc : rt_prepared_step(m->prepared, more, stream, args, e);
    serve_turn_end(s);
  }
  serve_turn_take(s);
  rt_prepared_trim(m->prepared);
  serve_turn_end(s);
  m->sec = rc ? 0 : rt_prepared_sec(m->prepared);
  return rc;
}

/* Under the lock. */
static int open_prepared(serve_made *m, err *e) {
  gen_problem problem;
  gen_config config;
  serve *s = m->k->owner;
  gen_template *t = m->k->family->t;
  TRY(gen_problem_parse(t, m->k->info.problem, &problem, e));
  TRY(gen_config_parse(t, m->k->info.config, &config, e));
  TRY(rt_instance_new(t, &problem, &s->device->info, &m->g, e));
  m->uses = gen_uses(t, &problem);
  serve_turn_take(s);
  const int rc = rt_prepared_new(m->k->loaded, t, m->g, &config, &m->prepared, e);
  serve_turn_end(s);
  return rc;
}

static int fill(serve_made *m, tuned_stream stream, const void *const *args, err *e) {
  serve *s = m->k->owner;
  if (m->k->is_empty) {
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  const int rc = open_prepared(m, e);
  pthread_mutex_unlock(&s->lock);
  return rc ? rc : serve_made_again(m, stream, args, e);
}

int serve_made_new(tuned_kernel *k, tuned_stream stream, const void *const *args, serve_made **out,
                   err *e) {
  serve_made *m = calloc(1, sizeof *m);
  *out = NULL;
  if (!m) {
    return err_nomem(e);
  }
  m->k = k;
  const int rc = fill(m, stream, args, e);
  if (rc) {
    serve_made_free(m, false);
    return rc;
  }
  *out = m;
  return 0;
}

static void free_one(serve_made *m) {
  serve *s = m->k->owner;
  serve_turn_take(s);
  rt_prepared_free(m->prepared);
  serve_turn_end(s);
  gen_instance_free(m->g);
  free(m);
}

void serve_made_free(serve_made *m, bool locked) {
  serve *s = m ? m->k->owner : NULL;
  if (s && !locked) {
    pthread_mutex_lock(&s->lock);
  }
  for (serve_made *former; m; m = former) {
    former = m->former;
    free_one(m);
  }
  if (s && !locked) {
    pthread_mutex_unlock(&s->lock);
  }
}

/* ---- the default configuration --------------------------------------------------------------- */

static int load_default(serve_make *m, tuned_kernel **out, err *e) {
  m->b.pick = (serve_pick){.origin = TUNED_DEFAULT};
  gen_config_default(m->f->t, &m->b.pick.config);
  TRY(serve_make_load(m, SERVE_COMPILE, e));
  return serve_make_kernel(m, out, e);
}

static int make_default(tuned_kernel *k, tuned_kernel **out, err *e) {
  serve_make m;
  gen_problem problem;
  TRY(gen_problem_parse(k->family->t, k->info.problem, &problem, e));
  serve_turn_take(k->owner);
  int rc = serve_make_begin(&m, k->owner, k->family, &problem, k->info.problem, e);
  rc = rc ? rc : load_default(&m, out, e);
  serve_make_end(&m);
  serve_turn_end(k->owner);
  return rc;
}

/* Under the lock; kept under a key of its own. */
static int find_default(tuned_kernel *k, tuned_kernel **out, err *e) {
  serve_table *all = &k->owner->front.kernels;
  auto_str key = {0};
  str_add_n(&key, &k->t, sizeof k->t);
  str_addf(&key, "default of %s", k->info.problem);
  TRY(key.failed ? err_nomem(e) : 0);
  if ((*out = serve_table_get(all, key.p, key.n))) {
    return 0;
  }
  TRY(make_default(k, out, e));
  return serve_table_put(all, key.p, key.n, *out) ? 0 : err_nomem(e);
}

static int new_default(tuned_kernel *k, tuned_stream stream, const void *const *args,
                       serve_made **out) {
  tuned_kernel *other = NULL;
  pthread_mutex_lock(&k->owner->lock);
  const int rc = find_default(k, &other, NULL);
  pthread_mutex_unlock(&k->owner->lock);
  return rc ? rc : serve_made_new(other, stream, args, out, NULL);
}

/* What these inputs do not fit is told by the data, and memory may be enough for another format. */
int serve_made_any(tuned_kernel *k, tuned_stream stream, const void *const *args, serve_made **out,
                   err *e) {
  err why = {0};
  const int rc = serve_made_new(k, stream, args, out, &why);
  const bool other = rc == ERR_USAGE || rc == ERR_NOMEM;
  return !rc || (other && !new_default(k, stream, args, out)) ? 0 : err_copy(e, rc, &why);
}

/* ---- launching ------------------------------------------------------------------------------- */

static inline int launch(serve_made *m, tuned_stream stream, const void *const *args, rt_ptr at,
                         err *e) {
  serve_turn_take(m->k->owner);
  const int rc = rt_prepared_launch_in(m->prepared, stream, args, at, e);
  serve_turn_end(m->k->owner);
  return rc;
}

static __attribute__((noinline)) int launch_in_turn(serve_made *m, tuned_stream stream,
                                                    const void *const *args, err *e) {
  serve_workspace *w;
  TRY(serve_workspace_get(m->k, stream, &w, e));
  pthread_mutex_lock(&w->turn);
  int rc = w->at ? 0 : serve_workspace_renew(w, e);
  rc = rc ? rc : launch(m, stream, args, w->at, e);
  pthread_mutex_unlock(&w->turn);
  return rc;
}

int serve_made_launch(serve_made *m, tuned_stream stream, const void *const *args, err *e) {
  return m->k->has_workspace ? launch_in_turn(m, stream, args, e) : launch(m, stream, args, 0, e);
}
