#define _GNU_SOURCE
#include "serve_features.h"

#include "cached_compiler.h"
#include "data_features.h"

static int check_args(const gen_template *t, const void *const *args, err *e) {
  if (!args) {
    return err_set(e, ERR_USAGE, "%s: args is NULL; give a pointer per argument", t->name);
  }
  for (size_t i = 0; i < t->n_args; i++) {
    if (!args[i] && t->args[i].dir != GEN_SCALAR && gen_features_read(t, i)) {
      return err_set(e, ERR_USAGE, "%s: argument %s is missing", t->name, t->args[i].name);
    }
  }
  return 0;
}

static int compute(serve *s, serve_family *f, gen_problem *p, tuned_stream stream,
                   const void *const *args, err *e) {
  rt_device *d = s->device;
  if (d->ops->capturing && d->ops->capturing(d, stream)) {
    return 0; /* preparing will refuse it */
  }
  if (!s->compiler && cached_compiler_open(&s->compiler, NULL)) {
    return 0;
  }
  TRY(check_args(f->t, args, e));
  return rt_features_compute(&f->features, d, s->compiler, f->t, stream, args, p, e);
}

int serve_features_find(serve *s, serve_family *f, const gen_problem *p, tuned_stream stream,
                        const void *const *args, tuned_kernel **k, err *e) {
  gen_problem found = *p;
  auto_str text = {0};
  if (p->open) {
    serve_turn_take(s);
    const int rc = compute(s, f, &found, stream, args, e);
    serve_turn_end(s);
    TRY(rc);
  }
  gen_problem_text(f->t, &found, &text);
  return text.failed ? err_nomem(e) : serve_find(s, f, &found, text.p, text.n, k, e);
}

int serve_features_find_text(serve *s, const char *text, tuned_stream stream,
                             const void *const *args, tuned_kernel **k, err *e) {
  serve_family *f;
  gen_problem p;
  pthread_mutex_lock(&s->lock);
  int rc = serve_parse_text(s, text, &f, &p, e);
  rc = rc ? rc : serve_features_find(s, f, &p, stream, args, k, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}
