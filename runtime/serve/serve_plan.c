#define _GNU_SOURCE
#include "serve_plan.h"

#include <stdlib.h>
#include <string.h>

#include "serve_kernel.h"
#include "serve_made.h"

/* The second run is timed: the first may load kernels. */
enum { RUN_NONE, RUN_ONE, RUN_TIMING, RUN_TIMED };
enum { ARGS_MOST = 64 }; /* as GEN_MAX_ARGS */

/* Fewer uses may not be worth another preparation. */
static const double USES_TO_MOVE = 100;

struct tuned_plan {
  serve *s;
  tuned_kernel *k; /* the problem's, which says what arguments have to be */
  const gen_template *t;
  _Atomic(serve_made *) made; /* NULL: the last renewal failed */
  const void **args;          /* per argument: where the plan's is; NULL: of the run */
  uint64_t *values;           /* what these point to */
  uint8_t *given;             /* arguments of the run */
  size_t n_given;
  _Atomic(tuned_kernel *) tried; /* the last better kernel that was to take over */
  _Atomic(const void *) mark;
  atomic_int look;
  rt_event *from, *to;
  tuned_plan *next, **here; /* in the context's list, under its lock */
  arena memory;
};

static serve_made *made_of(const tuned_plan *p) {
  return atomic_load_explicit(&p->made, memory_order_acquire);
}

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

static int refuse_no_args(const tuned_plan *p, err *e) {
  return err_set(e, ERR_USAGE, "%s: args is NULL; give a pointer per argument", p->t->name);
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

static int take_all(tuned_plan *p, const void *const *args, gen_role least, err *e) {
  if (!args) {
    return refuse_no_args(p, e);
  }
  for (size_t i = 0; i < p->t->n_args; i++) {
    TRY(p->t->args[i].role >= least ? take(p, args, i, e) : 0);
  }
  return check_addresses(p, e);
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static bool is_captured(const tuned_plan *p, tuned_stream stream) {
  rt_device *d = p->s->device;
  return d->ops->capturing && d->ops->capturing(d, stream);
}

static int refuse_capture(const tuned_plan *p, tuned_stream stream, err *e) {
  return is_captured(p, stream)
             ? err_set(e, ERR_USAGE,
                       "%s: the stream is being captured, and preparing waits for it; prepare "
                       "before",
                       p->t->name)
             : 0;
}

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

static void free_events(tuned_plan *p) {
  rt_device *d = p->s->device;
  serve_turn_take(p->s);
  if (p->from) {
    d->ops->event_free(d, p->from);
  }
  if (p->to) {
    d->ops->event_free(d, p->to);
  }
  serve_turn_end(p->s);
}

/* Under the lock. */
static void release(tuned_plan *p) {
  serve_made_free(made_of(p), true);
  free_events(p);
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

static int make(tuned_plan *p, tuned_kernel *k, tuned_stream stream, err *e) {
  serve_made *m;
  TRY(serve_made_any(k, stream, p->args, &m, e));
  atomic_store_explicit(&p->made, m, memory_order_release);
  return 0;
}

static int fill(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  TRY(make_room(p, e));
  TRY(p->k->is_empty ? 0 : take_all(p, args, GEN_OF_PLAN, e));
  TRY(refuse_capture(p, stream, e));
  TRY(new_events(p, e));
  return make(p, serve_newest(p->k), stream, e);
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

/* ---- a better kernel takes over -------------------------------------------------------------- */

/* One thread prepares; the others run what there is. */
static serve_made *move(tuned_plan *p, serve_made *m, tuned_kernel *k, tuned_stream stream) {
  tuned_kernel *tried = atomic_load(&p->tried);
  serve_made *better;
  if (is_captured(p, stream) || tried == k ||
      !atomic_compare_exchange_strong(&p->tried, &tried, k) ||
      serve_made_new(k, stream, p->args, &better, NULL)) {
    return m;
  }
  better->former = m;
  atomic_store_explicit(&p->made, better, memory_order_release);
  atomic_store(&p->look, RUN_NONE);
  return better;
}

static inline serve_made *newest(tuned_plan *p, serve_made *m, tuned_stream stream) {
  if (__builtin_expect(!atomic_load_explicit(&m->k->better, memory_order_acquire), 1)) {
    return m;
  }
  const bool moves = m->uses == 0 || m->uses >= USES_TO_MOVE;
  return moves ? move(p, m, serve_newest(m->k), stream) : m;
}

/* ---- running --------------------------------------------------------------------------------- */

static int record(tuned_plan *p, rt_event *ev, tuned_stream stream, err *e) {
  serve_turn_take(p->s);
  const int rc = p->s->device->ops->event_record(p->s->device, ev, stream, e);
  serve_turn_end(p->s);
  return rc;
}

/* Of several threads one times its run. */
static __attribute__((noinline)) int
launch_watched(tuned_plan *p, serve_made *m, tuned_stream stream, const void *const *args, err *e) {
  int first = RUN_NONE, second = RUN_ONE;
  if (is_captured(p, stream) || atomic_compare_exchange_strong(&p->look, &first, RUN_ONE) ||
      !atomic_compare_exchange_strong(&p->look, &second, RUN_TIMING)) {
    return serve_made_launch(m, stream, args, e);
  }
  int rc = record(p, p->from, stream, e);
  rc = rc ? rc : serve_made_launch(m, stream, args, e);
  rc = rc ? rc : record(p, p->to, stream, e);
  atomic_store(&p->look, rc ? RUN_ONE : RUN_TIMED);
  return rc;
}

static void tell_hook(tuned_plan *p, tuned_kernel *k, tuned_stream stream,
                      const void *const *args) {
  serve_hook *h = p->s->sees_launches;
  if (h) {
    h->launch(h, k, stream, args);
  }
}

static __attribute__((cold, noinline)) int refuse_run(const tuned_plan *p, const void *const *args,
                                                      err *e) {
  if (!args) {
    return refuse_no_args(p, e);
  }
  for (size_t i = 0; i < p->n_given; i++) {
    const size_t at = p->given[i];
    TRY(args[at] || p->k->needs[at] == SERVE_FIXED ? 0 : refuse(p, at, "is missing", e));
  }
  return err_set(e, ERR_USAGE, "%s: the plan's last renewal failed; renew it again, or free it",
                 p->t->name);
}

static bool is_complete(const tuned_plan *p, const void *const *args) {
  bool complete = args != NULL;
  for (size_t i = 0; complete && i < p->n_given; i++) {
    complete = args[p->given[i]] || p->k->needs[p->given[i]] == SERVE_FIXED;
  }
  return complete;
}

int serve_plan_run(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  const void *full[ARGS_MOST];
  serve_made *m = made_of(p);
  TRY(serve_check_fork(&p->s->front, e));
  if (p->k->is_empty) {
    return 0;
  }
  if (!m || !is_complete(p, args)) {
    return refuse_run(p, args, e);
  }
  memcpy(full, p->args, p->t->n_args * sizeof *full);
  for (size_t i = 0; i < p->n_given; i++) {
    full[p->given[i]] = args[p->given[i]];
  }
  if (!serve_addresses_valid(&p->k->addresses, full)) {
    return serve_addresses_refuse(p->t, &p->k->addresses, full, e);
  }
  m = newest(p, m, stream);
  tell_hook(p, m->k, stream, full);
  return atomic_load_explicit(&p->look, memory_order_relaxed) == RUN_TIMED
             ? serve_made_launch(m, stream, full, e)
             : launch_watched(p, m, stream, full, e);
}

/* ---- changes --------------------------------------------------------------------------------- */

int serve_plan_values(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  serve_made *m = made_of(p);
  TRY(serve_check_fork(&p->s->front, e));
  if (p->k->is_empty) {
    return 0;
  }
  TRY(m ? take_all(p, args, GEN_OF_VALUES, e) : refuse_run(p, args, e));
  serve_turn_take(p->s);
  const int rc = rt_prepared_values(m->prepared, stream, p->args, e);
  serve_turn_end(p->s);
  return rc;
}

/* With buffers of the same sizes, where the kernel is the same; else memory is released first. */
int serve_plan_renew(tuned_plan *p, tuned_stream stream, const void *const *args, err *e) {
  serve_made *m = made_of(p);
  tuned_kernel *k = serve_newest(p->k);
  TRY(serve_check_fork(&p->s->front, e));
  if (p->k->is_empty) {
    return 0;
  }
  TRY(take_all(p, args, GEN_OF_PLAN, e));
  TRY(refuse_capture(p, stream, e));
  if (m && m->k == k && !m->former && !serve_made_again(m, stream, p->args, NULL)) {
    return 0;
  }
  atomic_store(&p->made, NULL);
  serve_made_free(m, false);
  atomic_store(&p->look, RUN_NONE);
  return make(p, k, stream, e);
}

/* ---- what it costs --------------------------------------------------------------------------- */

int serve_plan_seconds(tuned_plan *p, double *prepare_sec, double *run, err *e) {
  const serve_made *m = made_of(p);
  rt_device *d = p->s->device;
  int rc = serve_check_fork(&p->s->front, e);
  *prepare_sec = m ? m->sec : 0;
  *run = 0;
  if (!rc && atomic_load(&p->look) == RUN_TIMED) {
    serve_turn_take(p->s);
    rc = d->ops->elapsed(d, p->from, p->to, run, e);
    serve_turn_end(p->s);
  }
  return rc;
}

tuned_kernel *serve_plan_kernel(const tuned_plan *p) {
  const serve_made *m = made_of(p);
  return m ? m->k : p->k;
}

void serve_plan_mark(tuned_plan *p, const void *mark) {
  atomic_store_explicit(&p->mark, mark, memory_order_relaxed);
}

const void *serve_plan_marked(const tuned_plan *p) {
  return atomic_load_explicit(&p->mark, memory_order_relaxed);
}
