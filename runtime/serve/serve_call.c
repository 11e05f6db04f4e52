/* serve_call.c -- a typed call whose problem is new: the key becomes a problem of the generator's,
 * whose kernel is found and stored under the key. */
#include "serve_call.h"

#include <string.h>

#include "serve_features.h"
#include "serve_handle.h"
#include "serve_kernel.h"
#include "serve_launch.h"
#include "serve_own_memory.h"
#include "serve_plan.h"

/* ---- a problem not met before --------------------------------------------------------------- */

static int unknown_choice(const serve_call *call, const gen_field *f, err *e) {
  auto_str names = {0};
  gen_field_choices(f, ", ", &names);
  err_set(e, ERR_USAGE, "%s: %s must be one of %s", call->function, f->name, str_text(&names));
  return ERR_USAGE;
}

/* src  gen_value: an integer, or the index of a name */
static int set_field(const serve_call *call, const gen_field *f, int64_t word, gen_value *v,
                     err *e) {
  if (!f->names) {
    v->i = word;
    return 0;
  }
  for (size_t i = 0; i < f->n_names; i++) {
    if (serve_key_word(f->names[i]) == word) {
      v->i = (int64_t)i;
      v->s = f->names[i];
      return 0;
    }
  }
  return unknown_choice(call, f, e);
}

static int problem_of(const serve *s, const serve_call *call, gen_template *t, const int64_t *words,
                      gen_problem *p, err *e) {
  bool given[GEN_MAX_FIELDS] = {0};
  for (size_t i = 0; i < call->n_fields; i++) {
    const gen_field *f = gen_field_find(t, call->fields[i], strlen(call->fields[i]));
    if (!f) {
      return err_set(e, ERR_USAGE, "%s has no field %s", t->path, call->fields[i]);
    }
    TRY(set_field(call, f, words[i], &p->values[f - t->fields], e));
    given[f - t->fields] = true;
  }
  return serve_complete(s, t, p, given, e);
}

static int get_family(serve *s, const serve_call *call, serve_family **f, err *e) {
  char signature[HASH_TEXT];
  TRY(serve_family_get(s, call->family, f, e));
  serve_signature((*f)->t, signature);
  if (strcmp(signature, call->signature)) {
    return err_set(e, ERR_USAGE,
                   "%s: the template %s has other fields or arguments than this call was made for; "
                   "use tuned_find and tuned_launch",
                   call->function, (*f)->t->path);
  }
  return 0;
}

static int find_locked(serve *s, const serve_call *call, const int64_t *key, size_t nbytes,
                       tuned_kernel **k, err *e) {
  serve_family *f;
  gen_problem p = {0};
  if ((*k = serve_table_get(&s->front.kernels, key, nbytes))) {
    return 0; /* another thread was first */
  }
  TRY(get_family(s, call, &f, e));
  TRY(problem_of(s, call, f->t, key + 1, &p, e));
  return serve_find(s, f, &p, key, nbytes, k, e);
}

/* The inputs decide, too, which kernel a plan has. */
static int find_of_plan(serve *s, const serve_call *call, const int64_t *key, tuned_stream stream,
                        const void *const *args, tuned_kernel **k, err *e) {
  serve_family *f;
  gen_problem p = {0};
  pthread_mutex_lock(&s->lock);
  int rc = get_family(s, call, &f, e);
  rc = rc ? rc : problem_of(s, call, f->t, key + 1, &p, e);
  rc = rc ? rc : serve_features_find(s, f, &p, stream, args, k, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

static int find(serve *s, const serve_call *call, const int64_t *key, size_t nbytes,
                tuned_kernel **k, err *e) {
  pthread_mutex_lock(&s->lock);
  const int rc = find_locked(s, call, key, nbytes, k, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

const void *const serve_no_buffer = NULL;

/* ---- every call ----------------------------------------------------------------------------- */

/* As in CUB, the size is never 0, so that allocating it always gives an address. */
static int call_with(const serve_call *call, tuned_kernel *k, tuned_stream stream,
                     const void *const *args, const serve_own *own, err *e) {
  if (!own->nbytes) {
    return err_set(e, ERR_USAGE, "%s_with: nbytes is NULL", call->function);
  }
  if (own->workspace) {
    return serve_launch_with(k, stream, args, own->workspace, *own->nbytes, e);
  }
  const size_t nbytes = serve_own_memory_nbytes(k);
  *own->nbytes = nbytes ? nbytes : 1;
  return 0;
}

static int call_new(tuned_context *ctx, const serve_call *call, const int64_t *key,
                    tuned_stream stream, const void *const *args, const serve_own *own, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  const size_t nbytes = (call->n_fields + 1) * sizeof *key;
  tuned_kernel *k = serve_table_get(&s->front.kernels, key, nbytes);
  if (!k) {
    TRY(find(s, call, key, nbytes, &k, e));
  }
  return own ? call_with(call, k, stream, args, own, e) : serve_launch(k, stream, args, e);
}

int serve_call_new(tuned_context *ctx, const serve_call *call, const int64_t *key,
                   tuned_stream stream, const void *const *args, const serve_own *own,
                   tuned_error *error) {
  err e;
  err_clear(&e);
  call_new(ctx, call, key, stream, args, own, &e);
  return serve_report(error, &e);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static int call_plan(tuned_context *ctx, const serve_call *call, const int64_t *key,
                     tuned_stream stream, const void *const *args, tuned_plan **plan, err *e) {
  serve *s;
  tuned_kernel *k;
  if (!plan) {
    return err_set(e, ERR_USAGE, "%s_plan: plan is NULL", call->function);
  }
  *plan = NULL;
  TRY(serve_of(ctx, &s, e));
  TRY(find_of_plan(s, call, key, stream, args, &k, e));
  TRY(serve_plan_new(k, stream, args, plan, e));
  serve_plan_mark(*plan, call);
  return 0;
}

int serve_call_plan(tuned_context *ctx, const serve_call *call, const int64_t *key,
                    tuned_stream stream, const void *const *args, tuned_plan **plan,
                    tuned_error *error) {
  err e;
  err_clear(&e);
  call_plan(ctx, call, key, stream, args, plan, &e);
  return serve_report(error, &e);
}

/* One that tuned_plan_new made may be of this family, too. */
static __attribute__((cold, noinline)) int check_plan(tuned_plan *plan, const serve_call *call,
                                                      err *e) {
  char signature[HASH_TEXT];
  if (!plan) {
    return err_set(e, ERR_USAGE, "%s: plan is NULL; %s_plan makes one", call->function,
                   call->function);
  }
  const gen_template *t = serve_plan_kernel(plan)->t;
  serve_signature(t, signature);
  if (strcmp(signature, call->signature)) {
    return err_set(e, ERR_USAGE, "%s: the plan is one of %s", call->function, t->name);
  }
  serve_plan_mark(plan, call);
  return 0;
}

static inline int know_plan(tuned_plan *plan, const serve_call *call, err *e) {
  return plan && serve_plan_marked(plan) == call ? 0 : check_plan(plan, call, e);
}

int serve_call_run(tuned_plan *plan, const serve_call *call, tuned_stream stream,
                   const void *const *args, tuned_error *error) {
  err e;
  e.code = 0; /* err_set writes the rest when there is an error */
  if (!know_plan(plan, call, &e)) {
    serve_plan_run(plan, stream, args, &e);
  }
  return serve_report(error, &e);
}

int serve_call_values(tuned_plan *plan, const serve_call *call, tuned_stream stream,
                      const void *const *args, tuned_error *error) {
  err e;
  err_clear(&e);
  if (!know_plan(plan, call, &e)) {
    serve_plan_values(plan, stream, args, &e);
  }
  return serve_report(error, &e);
}

int serve_refuse_range(tuned_error *error, const char *function, const char *arg, int64_t value,
                       int64_t min, int64_t max) {
  err e;
  err_clear(&e);
  err_set(&e, ERR_USAGE, "%s: %s is %lld; it must lie between %lld and %lld", function, arg,
          (long long)value, (long long)min, (long long)max);
  return serve_report(error, &e);
}

int serve_refuse_requirement(tuned_error *error, const char *function, const char *reason,
                             const char *expression) {
  err e;
  err_clear(&e);
  err_set(&e, ERR_USAGE, "%s: %s (required: %s)", function, reason, expression);
  return serve_report(error, &e);
}
