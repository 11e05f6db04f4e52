#define _GNU_SOURCE
#include "serve_plan.h"

#include <stdlib.h>
#include <string.h>

#include "prepared.h"
#include "serve_make.h"
#include "serve_kernel.h"
#include "serve_launch.h"
#include "serve_workspace.h"

/* The second run is timed: the first may load kernels. */
enum { RUN_NONE, RUN_ONE, RUN_TIMING, RUN_TIMED };

struct tuned_plan {
  serve *s;
  tuned_kernel *k;
  rt_prepared *prepared; /* NULL: an empty problem, or the last renewal failed */
  const gen_template *t;
  const void **args; /* per argument: where the plan's is; NULL: of the run */
  uint64_t *values;  /* what these point to */
  uint8_t *given;    /* arguments of the run */
  size_t n_given;
  gen_instance *g;
  double prepare_sec;
  _Atomic(const void *) mark;
  atomic_int look;
  rt_event *from, *to;
  tuned_plan *next, **here; /* in the context's list, under its lock */
  arena memory;
};

enum { ARGS_MOST = 64 }; /* as GEN_MAX_ARGS */

/* ---- arguments ------------------------------------------------------------------------------- */

static bool is_given(const tuned_plan *p, size_t i) {
  return p->t->args[i].role == GEN_OF_RUN;
}

static int make_room(tuned_plan *p, err *e) {
  const size_t n = p->t->n_args;
  p->args = ARENA_ARRAY(&p->memory, const void *, n + 1);
  p->values = ARENA_ARRAY(&p->memory, uint64_t, n + 1);
  p->given = ARENA_ARRAY(&p->memory, uint8_t, n + 1);
  if (!p->args || !p->values || !p->given) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < n; i++) {
    p->args[i] = NULL;
    if (is_given(p, i)) {
      p->given[p->n_given++] = (uint8_t)i;
    }
  }
  return 0;
}

static size_t nbytes_of(const gen_template *t, size_t i) {
  dtype type;
  return t->args[i].dir == GEN_SCALAR && dtype_parse(t->args[i].type, &type) ? dtype_nbytes(type)
                                                                             : sizeof(rt_ptr);
}

static int refuse(const tuned_plan *p, size_t i, const char *what, err *e) {
  return err_set(e, ERR_USAGE, "%s: argument %s %s", p->t->name, p->t->args[i].name, what);
}

/* The argument is copied: the plan outlives the call. */
static int take(tuned_plan *p, const void *const *args, size_t i, err *e) {
  if (!args[i] && !p->args[i] && p->k->needs[i] != SERVE_FIXED) {
    return refuse(p, i, "is missing", e);
  }
  if (args[i]) {
    memcpy(&p->values[i], args[i], nbytes_of(p->t, i));
    p->args[i] = &p->values[i];
  }
  return 0;
}

static int take_all(tuned_plan *p, const void *const *args, gen_role least, err *e) {
  for (size_t i = 0; i < p->t->n_args && args; i++) {
    TRY(p->t->args[i].role >= least ? take(p, args, i, e) : 0);
  }
  return args ? 0
              : err_set(e, ERR_USAGE, "%s: args is NULL; give a pointer per argument", p->t->name);
}

static int check_addresses(const tuned_plan *p, err *e) {
  const serve_addresses *all = &p->k->addresses;
  for (size_t i = 0; i < all->n; i++) {
    const serve_address *a = &all->list[i];
    const rt_ptr at = is_given(p, a->index) ? sizeof(rt_ptr) << 8 : p->values[a->index];
    if (!at || at & a->stray) {
      return refuse(p, a->index, at ? "is not aligned to its elements" : "is a NULL address", e);
    }
  }
  return 0;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static int refuse_capture(const tuned_plan *p, tuned_stream stream, err *e) {
  rt_device *d = p->s->device;
  const bool captured = d->ops->capturing && d->ops->capturing(d, stream);
  return captured ? err_set(e, ERR_USAGE,
                            "%s: the stream is being captured, and preparing waits for it; prepare "
                            "before",
                            p->t->name)
                  : 0;
}

static int plan_part(tuned_plan *p, bool *more, err *e) {
  pthread_mutex_lock(&p->s->lock);
  serve_turn_take(p->s);
  const int rc = rt_prepared_plan(p->prepared, more, e);
  serve_turn_end(p->s);
  pthread_mutex_unlock(&p->s->lock);
  return rc;
}

static int prepare(tuned_plan *p, tuned_stream stream, err *e) {
  bool more = true;
  int rc = 0;
  serve_turn_take(p->s);
  rt_prepared_begin(p->prepared);
  serve_turn_end(p->s);
  while (more && !rc) {
    rc = plan_part(p, &more, e);
    serve_turn_take(p->s);
    rc = rc ? rc : rt_prepared_step(p->prepared, more, stream, p->args, e);
    serve_turn_end(p->s);
  }
  serve_turn_take(p->s);
  rt_prepared_trim(p->prepared);
  serve_turn_end(p->s);
  p->prepare_sec = rc ? 0 : rt_prepared_sec(p->prepared);
  return rc;
}

static void drop_prepared(tuned_plan *p) {
  serve_turn_take(p->s);
  rt_prepared_free(p->prepared);
  serve_turn_end(p->s);
  p->prepared = NULL;
}

/* Under the lock. */
static int open_prepared(tuned_plan *p, err *e) {
  gen_problem problem;
  gen_config config;
  gen_template *t = (gen_template *)p->t;
  TRY(gen_problem_parse(t, p->k->info.problem, &problem, e));
  TRY(gen_config_parse(t, p->k->info.config, &config, e));
  TRY(p->g ? 0 : rt_instance_new(t, &problem, &p->s->device->info, &p->g, e));
  serve_turn_take(p->s);
  const int rc = rt_prepared_new(p->k->loaded, t, p->g, &config, &p->prepared, e);
  serve_turn_end(p->s);
  return rc;
}

static int prepare_with(tuned_plan *p, tuned_kernel *k, tuned_stream stream, err *e) {
  p->k = k;
  if (k->is_empty) {
    return 0;
  }
  pthread_mutex_lock(&p->s->lock);
  int rc = open_prepared(p, e);
  pthread_mutex_unlock(&p->s->lock);
  rc = rc ? rc : prepare(p, stream, e);
  if (rc) {
    drop_prepared(p);
  }
  return rc;
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

static int prepare_default(tuned_plan *p, tuned_kernel *k, tuned_stream stream, err *e) {
  tuned_kernel *other = NULL;
  pthread_mutex_lock(&p->s->lock);
  const int rc = find_default(k, &other, e);
  pthread_mutex_unlock(&p->s->lock);
  return rc ? rc : prepare_with(p, other, stream, e);
}

/* What these inputs do not fit is told by the data, and memory may be enough for another format. */
static int prepare_any(tuned_plan *p, tuned_kernel *k, tuned_stream stream, err *e) {
  err why = {0};
  const int rc = prepare_with(p, k, stream, &why);
  if (rc != ERR_USAGE && rc != ERR_NOMEM) {
    return rc ? err_copy(e, rc, &why) : 0;
  }
  return prepare_default(p, k, stream, NULL) ? err_copy(e, rc, &why) : 0;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void enlist(tuned_plan *p) {
  pthread_mutex_lock(&p->s->lock);
  p->next = p->s->plans;
  p->here = &p->s->plans;
  if (p->next) {
    p->next->here = &p->next;
  }
  p->s->plans = p;
  pthread_mutex_unlock(&p->s->lock);
}

static void delist(tuned_plan *p) {
  if (p->here) {
    *p->here = p->next;
    if (p->next) {
      p->next->here = p->here;
    }
  }
}

/* Under the lock. */
static void release(tuned_plan *p) {
  rt_device *d = p->s->device;
  drop_prepared(p);
  serve_turn_take(p->s);
  if (p->from) {
    d->ops->event_free(d, p->from);
  }
  if (p->to) {
    d->ops->event_free(d, p->to);
  }
  serve_turn_end(p->s);
  gen_instance_free(p->g);
  arena_clear(&p->memory);
  free(p);
}

void serve_plans_free(tuned_plan *first) {
  for (tuned_plan *p = first, *next; p; p = next) {
    next = p->next;
    release(p);
  }
}

void serve_plan_free(tuned_plan *p) {
  serve *s = p->s;
  if (serve_check_fork(&s->front, NULL)) {
    return; /* the parent's */
  }
  pthread_mutex_lock(&s->lock);
  delist(p);
  release(p);
  pthread_mutex_unlock(&s->lock);
}

static int new_events(tuned_plan *p, err *e) {
  rt_device *d = p->s->device;
  serve_turn_take(p->s);
  int rc = d->ops->event_new(d, &p->from, e);
  rc = rc ? rc : d->ops->event_new(d, &p->to, e);
  serve_turn_end(p->s);
  return rc;
}

static int fill(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  TRY(make_room(p, e));
  TRY(p->k->is_empty ? 0 : take_all(p, args, GEN_OF_PLAN, e));
  TRY(p->k->is_empty ? 0 : check_addresses(p, e));
  TRY(refuse_capture(p, stream, e));
  TRY(new_events(p, e));
  return prepare_any(p, p->k, stream, e);
}

int serve_plan_new(tuned_kernel *k, tuned_stream stream, const void *const *args, tuned_plan **plan,
                   err *e) {
  if (!k->t->has_prepare) {
    return err_set(e, ERR_USAGE, "%s prepares nothing: tuned_launch needs no plan", k->t->name);
  }
  tuned_plan *p = calloc(1, sizeof *p);
  if (!p) {
    return err_nomem(e);
  }
  p->s = k->owner;
  p->k = k;
  p->t = k->t;
  const int rc = fill(p, stream, args, e);
  if (rc) {
    serve_plan_free(p);
    return rc;
  }
  enlist(p);
  *plan = p;
  return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static inline int launch(tuned_plan *p, tuned_stream stream, const void *const *args, rt_ptr at,
                         err *e) {
  serve_turn_take(p->s);
  const int rc = rt_prepared_launch_in(p->prepared, stream, args, at, e);
  serve_turn_end(p->s);
  return rc;
}

static __attribute__((noinline)) int launch_in_turn(tuned_plan *p, tuned_stream stream,
                                                    const void *const *args, err *e) {
  serve_workspace *w;
  TRY(serve_workspace_get(p->k, stream, &w, e));
  pthread_mutex_lock(&w->turn);
  int rc = w->at ? 0 : serve_workspace_renew(w, e);
  rc = rc ? rc : launch(p, stream, args, w->at, e);
  pthread_mutex_unlock(&w->turn);
  return rc;
}

static inline int launch_plain(tuned_plan *p, tuned_stream stream, const void *const *args,
                               err *e) {
  return p->k->has_workspace ? launch_in_turn(p, stream, args, e) : launch(p, stream, args, 0, e);
}

static int record(tuned_plan *p, rt_event *ev, tuned_stream stream, err *e) {
  serve_turn_take(p->s);
  const int rc = p->s->device->ops->event_record(p->s->device, ev, stream, e);
  serve_turn_end(p->s);
  return rc;
}

/* Of several threads one times its run. */
static __attribute__((noinline)) int launch_watched(tuned_plan *p, tuned_stream stream,
                                                    const void *const *args, err *e) {
  int first = RUN_NONE, second = RUN_ONE;
  if (refuse_capture(p, stream, NULL) ||
      atomic_compare_exchange_strong(&p->look, &first, RUN_ONE) ||
      !atomic_compare_exchange_strong(&p->look, &second, RUN_TIMING)) {
    return launch_plain(p, stream, args, e);
  }
  int rc = record(p, p->from, stream, e);
  rc = rc ? rc : launch_plain(p, stream, args, e);
  rc = rc ? rc : record(p, p->to, stream, e);
  atomic_store(&p->look, rc ? RUN_ONE : RUN_TIMED);
  return rc;
}

static void tell_hook(tuned_plan *p, tuned_stream stream, const void *const *args) {
  serve_hook *h = p->s->sees_launches;
  if (h) {
    h->launch(h, p->k, stream, args);
  }
}

static __attribute__((cold, noinline)) int refuse_run(const tuned_plan *p, const void *const *args,
                                                      err *e) {
  if (!args) {
    return err_set(e, ERR_USAGE, "%s: args is NULL; give a pointer per argument", p->t->name);
  }
  for (size_t i = 0; i < p->n_given; i++) {
    const size_t at = p->given[i];
    TRY(args[at] || p->k->needs[at] == SERVE_FIXED ? 0 : refuse(p, at, "is missing", e));
  }
  return err_set(e, ERR_USAGE, "%s: the plan's last renewal failed; free it", p->t->name);
}

static bool is_complete(const tuned_plan *p, const void *const *args) {
  bool complete = args && p->prepared;
  for (size_t i = 0; complete && i < p->n_given; i++) {
    complete = args[p->given[i]] || p->k->needs[p->given[i]] == SERVE_FIXED;
  }
  return complete;
}

int serve_plan_run(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  const void *full[ARGS_MOST];
  TRY(serve_check_fork(&p->s->front, e));
  if (p->k->is_empty) {
    return 0;
  }
  if (!is_complete(p, args)) {
    return refuse_run(p, args, e);
  }
  memcpy(full, p->args, p->t->n_args * sizeof *full);
  for (size_t i = 0; i < p->n_given; i++) {
    full[p->given[i]] = args[p->given[i]];
  }
  if (!serve_addresses_valid(&p->k->addresses, full)) {
    return serve_addresses_refuse(p->t, &p->k->addresses, full, e);
  }
  tell_hook(p, stream, full);
  return atomic_load_explicit(&p->look, memory_order_relaxed) == RUN_TIMED
             ? launch_plain(p, stream, full, e)
             : launch_watched(p, stream, full, e);
}

/* ---- changes --------------------------------------------------------------------------------- */

int serve_plan_values(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  TRY(serve_check_fork(&p->s->front, e));
  if (p->k->is_empty) {
    return 0;
  }
  TRY(p->prepared ? take_all(p, args, GEN_OF_VALUES, e) : refuse_run(p, args, e));
  TRY(check_addresses(p, e));
  serve_turn_take(p->s);
  const int rc = rt_prepared_values(p->prepared, stream, p->args, e);
  serve_turn_end(p->s);
  return rc;
}

int serve_plan_renew(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  TRY(serve_check_fork(&p->s->front, e));
  tuned_kernel *k = serve_newest(p->k);
  if (k->is_empty) {
    return 0;
  }
  TRY(take_all(p, args, GEN_OF_PLAN, e));
  TRY(check_addresses(p, e));
  TRY(refuse_capture(p, stream, e));
  if (p->prepared && k == p->k && !prepare(p, stream, NULL)) {
    return 0;
  }
  drop_prepared(p); /* with buffers of other sizes, or another configuration */
  atomic_store(&p->look, RUN_NONE);
  return prepare_any(p, k, stream, e);
}

/* ---- what it costs --------------------------------------------------------------------------- */

int serve_plan_seconds(tuned_plan *p, double *prepare_sec, double *run, err *e) {
  rt_device *d = p->s->device;
  int rc = serve_check_fork(&p->s->front, e);
  *prepare_sec = p->prepare_sec;
  *run = 0;
  if (!rc && atomic_load(&p->look) == RUN_TIMED) {
    serve_turn_take(p->s);
    rc = d->ops->elapsed(d, p->from, p->to, run, e);
    serve_turn_end(p->s);
  }
  return rc;
}

tuned_kernel *serve_plan_kernel(const tuned_plan *p) {
  return p->k;
}

void serve_plan_mark(tuned_plan *p, const void *mark) {
  atomic_store_explicit(&p->mark, mark, memory_order_relaxed);
}

const void *serve_plan_marked(const tuned_plan *p) {
  return atomic_load_explicit(&p->mark, memory_order_relaxed);
}
