#define _GNU_SOURCE
#include "serve_online.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file.h"
#include "serve_choose.h"
#include "serve_draw.h"
#include "serve_family.h"
#include "serve_kernel.h"
#include "serve_launch.h"

/* So many variants of a problem; so many in a row that were no better, then it settles: fewer
 * beside what is somebody's choice already than beside a template's default. */
enum { VARIANTS_MOST = 240, STALE_MOST = 30, STALE_DEFAULT = 60, NEAR_MOST = 6 };
enum { PAIRS = 5, CHECKS = 3, GUARD = 4096, OUTPUTS_MOST = 64 << 20 };

/* Variants made ahead of the trials, and threads that make them. */
enum { AHEAD_MOST = 8, THREADS_MOST = 8, NICENESS = 10 };

/* Faster by less than this is noise. Slower by so much after so many pairs is hopeless; before the
 * first that counts, when its code has yet to be loaded. */
static const double BETTER = 0.98, HOPELESS[PAIRS] = {4, 1.5, 1.15, 1.05, 1.02};

/* For a variant; for callers; for the thread that settles it; for nobody. */
enum { WAITING, READY, SETTLING, SETTLED };

typedef struct worker {
  struct serve_online *on;
  pthread_t thread;
  rt_compiler *compiler;
} worker;

struct serve_online {
  serve_hook hook;
  serve *s;
  double fraction; /* of the time, for trials */
  worker workers[THREADS_MOST];
  size_t n_workers;
  pthread_mutex_t lock; /* taken inside the context's */
  pthread_cond_t wake;
  bool stop;
  serve_trial *first; /* newest first; only added to, under the context's lock and this one */
};

typedef struct variant {
  gen_config config;
  size_t tried; /* its place among those */
  tuned_kernel *kernel;
  str source, image; /* to be stored */
  char key[HASH_TEXT];
  int regs;
  int64_t spill, smem;
} variant;

struct serve_trial {
  serve_detour detour;
  serve_trial *next;
  serve_online *owner;
  tuned_kernel *k; /* as it was found */
  const char *family;
  gen_problem p;
  gen_instance *g; /* under the context's lock */
  atomic_int state;
  atomic_flag busy; /* a caller is trying */
  _Atomic double fraction;

  /* under `choosing`, with a template of their own: to look for variants takes long */
  pthread_mutex_t choosing;
  gen_template *own;
  gen_instance *own_g;
  gen_config found, near[NEAR_MOST]; /* found: what is served from the beginning */
  size_t n_near;
  serve_draw draw;
  atomic_bool exhausted; /* nothing is left to try */

  /* under the lock of the threads */
  variant ready[AHEAD_MOST];
  size_t n_ready, n_building;
  tuned_kernel *retired[VARIANTS_MOST + THREADS_MOST]; /* nobody launches them; to be unloaded */
  size_t n_retired;
  atomic_size_t n_done; /* variants that were tried, or could not be built */
  size_t stale, n_better;

  /* handed over by state */
  variant now, best; /* best.kernel NULL: the one that was found */
  double served_sec; /* of the best, by the last comparison; 0: none yet */

  /* the caller's who tries */
  double since, spent, last_cost;
  double served[PAIRS + 1], tried_sec[PAIRS + 1];
  int n_pairs, n_checks; /* for the time; then to compare the results */
  rt_event *events[3];
  rt_ptr *scratch; /* per argument: a buffer with guards; 0: no output */
  size_t *nbytes;  /* of it, without guards */
  arena memory;
};

static void close_online(serve_hook *h);

/* NULL: it was never switched on. */
static serve_online *online_of(const serve *s) {
  serve_hook *h = s->hooks;
  while (h && h->close != close_online) {
    h = h->next;
  }
  return (serve_online *)h;
}

static tuned_kernel *kernel_now(const serve_trial *o) {
  return o->best.kernel ? o->best.kernel : o->k;
}

static void variant_clear(variant *v) {
  str_clear(&v->source);
  str_clear(&v->image);
  *v = (variant){0};
}

/* ---- a trial: scratch memory ---------------------------------------------------------------- */

static rt_device *device_of(const serve_trial *o) {
  return o->k->owner->device;
}

static bool is_output(const gen_template *t, size_t i) {
  return t->args[i].dir == GEN_OUT || t->args[i].dir == GEN_INOUT;
}

/* How large are the buffers of this very call? Leading dimensions may tell. */
static int call_data(serve_trial *o, const void *const *args, arena *a, const gen_data **data,
                     err *e) {
  serve *s = o->k->owner;
  pthread_mutex_lock(&s->lock);
  const int rc = serve_args_data(o->k->t, o->k->needs, o->g, args, a, data, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

static size_t output_nbytes(const gen_template *t, const gen_data *data, size_t i) {
  return is_output(t, i) ? data->args[i].count * dtype_nbytes(data->args[i].type) : 0;
}

static void release_scratch(serve_trial *o) {
  for (size_t i = 0; o->scratch && i < o->k->t->n_args; i++) {
    device_of(o)->ops->release(device_of(o), o->scratch[i]);
    o->scratch[i] = 0;
  }
}

/* With guards before and behind; kept from trial to trial. */
static int take_scratch(serve_trial *o, const gen_data *data, err *e) {
  const gen_template *t = o->k->t;
  size_t all = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    all += output_nbytes(t, data, i);
  }
  if (all > OUTPUTS_MOST) {
    return err_set(e, ERR_LIMIT, "outputs of %zu bytes are not copied", all);
  }
  for (size_t i = 0; i < t->n_args; i++) {
    const size_t n = output_nbytes(t, data, i);
    if (is_output(t, i) && (!o->scratch[i] || o->nbytes[i] != n)) {
      device_of(o)->ops->release(device_of(o), o->scratch[i]);
      o->scratch[i] = 0;
      TRY(device_of(o)->ops->alloc(device_of(o), n + 2 * GUARD, &o->scratch[i], e));
      o->nbytes[i] = n;
    }
  }
  return 0;
}

static int fill_scratch(serve_trial *o, tuned_stream stream, const void *const *args, err *e) {
  const rt_device_ops *ops = device_of(o)->ops;
  for (size_t i = 0; i < o->k->t->n_args; i++) {
    if (!is_output(o->k->t, i)) {
      continue;
    }
    const rt_ptr at = o->scratch[i], real = *(const rt_ptr *)args[i];
    TRY(ops->set(device_of(o), at, 0xa5, GUARD, stream, e));
    TRY(ops->set(device_of(o), at + GUARD + o->nbytes[i], 0xa5, GUARD, stream, e));
    if (o->nbytes[i]) {
      TRY(ops->copy(device_of(o), at + GUARD, real, o->nbytes[i], stream, e));
    }
  }
  return 0;
}

/* ---- a trial: right? ------------------------------------------------------------------------ */

static double value_at(dtype type, const unsigned char *p, size_t i) {
  const size_t n = dtype_nbytes(type);
  uint64_t bits = 0;
  memcpy(&bits, p + n * i, n);
  return dtype_decode(type, bits);
}

/* Single precision is the common case, and the caller waits: a tenth of the time. */
static bool agree_f32(const gen_data *data, const float *x, const float *ref, size_t count) {
  float most = 0;
  for (size_t i = 0; i < count; i++) {
    const float v = fabsf(ref[i]);
    most = v > most && v <= FLT_MAX ? v : most;
  }
  const double absolute = 2 * data->tolerance_abs * (double)most;
  const double relative = 2 * data->tolerance_rel;
  size_t off = 0;
  for (size_t i = 0; i < count; i++) {
    const double a = (double)x[i], b = (double)ref[i];
    const bool same = a == b || (a != a && b != b);
    off += !(same | (fabs(a - b) <= absolute + relative * fabs(b)));
  }
  return !off;
}

static double largest(dtype type, const unsigned char *p, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) {
    const double v = fabs(value_at(type, p, i));
    most = v > most && isfinite(v) ? v : most;
  }
  return most;
}

/* Both lie within the tolerance of the truth, so they differ by twice that at most. The absolute
 * part is told for data of order one; other data have it in proportion. */
static bool agree(const gen_datum *d, const gen_data *data, const unsigned char *x,
                  const unsigned char *ref, size_t nbytes) {
  if (!memcmp(x, ref, nbytes)) {
    return true;
  }
  if (d->type == DTYPE_f32) { /* both begin where malloc's memory does, or a guard behind it */
    const void *a = x, *b = ref;
    return agree_f32(data, a, b, d->count);
  }
  const double absolute = 2 * data->tolerance_abs * largest(d->type, ref, d->count);
  for (size_t i = 0; i < d->count; i++) {
    const double a = value_at(d->type, x, i), b = value_at(d->type, ref, i);
    const bool same = a == b || (isnan(a) && isnan(b));
    if (!same && !(fabs(a - b) <= absolute + 2 * data->tolerance_rel * fabs(b))) {
      return false;
    }
  }
  return true;
}

static bool guards_hold(const unsigned char *p, size_t nbytes) {
  for (size_t i = 0; i < GUARD; i++) {
    if (p[i] != 0xa5 || p[GUARD + nbytes + i] != 0xa5) {
      return false;
    }
  }
  return true;
}

static int compare_one(serve_trial *o, const gen_data *data, size_t i, rt_ptr real, bool *same,
                       err *e) {
  const rt_device_ops *ops = device_of(o)->ops;
  const size_t n = o->nbytes[i];
  unsigned char *x = malloc(n + 2 * GUARD), *ref = malloc(n + 1);
  int rc = x && ref ? 0 : err_set(e, ERR_NOMEM, "out of host memory");
  rc = rc ? rc : ops->copy_out(device_of(o), x, o->scratch[i], n + 2 * GUARD, NULL, e);
  rc = rc || !n ? rc : ops->copy_out(device_of(o), ref, real, n, NULL, e);
  *same = !rc && guards_hold(x, n) && agree(&data->args[i], data, x + GUARD, ref, n);
  free(x);
  free(ref);
  return rc;
}

static int compare(serve_trial *o, const gen_data *data, const void *const *args, bool *same,
                   err *e) {
  *same = true;
  for (size_t i = 0; i < o->k->t->n_args && *same; i++) {
    if (is_output(o->k->t, i)) {
      TRY(compare_one(o, data, i, *(const rt_ptr *)args[i], same, e));
    }
  }
  return 0;
}

/* ---- a trial: both kernels ------------------------------------------------------------------ */

static int make_events(serve_trial *o, err *e) {
  for (int i = 0; i < 3; i++) {
    if (!o->events[i]) {
      TRY(device_of(o)->ops->event_new(device_of(o), &o->events[i], e));
    }
  }
  return 0;
}

static int mark(serve_trial *o, int i, tuned_stream stream) {
  serve_turn_take(o->k->owner);
  const int rc = device_of(o)->ops->event_record(device_of(o), o->events[i], stream, NULL);
  serve_turn_end(o->k->owner);
  return rc;
}

typedef struct attempt {
  serve_trial *o;
  tuned_stream stream;
  const void *const *args, **own; /* the caller's; with scratch in place of outputs */
  int rc;                         /* of the caller's launch */
  err *e;
  bool tried; /* the variant could be launched */
} attempt;

static void launch_served(attempt *a) {
  a->rc = serve_launch_plain(kernel_now(a->o), a->stream, a->args, a->e);
}

static void launch_variant(attempt *a) {
  a->tried = !serve_launch_plain(a->o->now.kernel, a->stream, a->own, NULL);
}

/* In turns who is first: the second finds inputs in the cache. */
static int launch_both(attempt *a) {
  const bool variant_first = a->o->n_pairs % 2 == 0;
  int rc = mark(a->o, 0, a->stream);
  variant_first ? launch_variant(a) : launch_served(a);
  rc |= mark(a->o, 1, a->stream);
  variant_first ? launch_served(a) : launch_variant(a);
  return rc | mark(a->o, 2, a->stream);
}

static int read_times(serve_trial *o, bool variant_first) {
  double first = 0, second = 0;
  const rt_device_ops *ops = device_of(o)->ops;
  int rc = ops->elapsed(device_of(o), o->events[0], o->events[1], &first, NULL);
  rc = rc ? rc : ops->elapsed(device_of(o), o->events[1], o->events[2], &second, NULL);
  o->tried_sec[o->n_pairs] = variant_first ? first : second;
  o->served[o->n_pairs] = variant_first ? second : first;
  return rc;
}

typedef enum verdict { GO_ON, ACCEPT, REJECT, GIVE_UP } verdict;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(const double *list, int n) {
  double copy[PAIRS + 1];
  memcpy(copy, list, (size_t)n * sizeof *list);
  qsort(copy, (size_t)n, sizeof *copy, by_value);
  return copy[n / 2];
}

/* The first pair warms up. */
static verdict judge(serve_trial *o) {
  const int n = o->n_pairs - 1, from = n > 0;
  const double a = median_of(o->tried_sec + from, n + !from);
  const double b = median_of(o->served + from, n + !from);
  o->served_sec = n == PAIRS ? b : o->served_sec;
  return n == PAIRS ? (a < BETTER * b ? GO_ON : REJECT) : a > HOPELESS[n] * b ? REJECT : GO_ON;
}

static bool is_timed(const serve_trial *o) {
  return o->n_pairs == PAIRS + 1;
}

static verdict note_times(serve_trial *o, bool variant_first, int *rc) {
  *rc = read_times(o, variant_first);
  o->n_pairs++;
  return judge(o);
}

static verdict note_check(serve_trial *o, const gen_data *data, const void *const *args, int *rc) {
  bool same = false;
  *rc = compare(o, data, args, &same, NULL);
  return !same ? REJECT : ++o->n_checks == CHECKS ? ACCEPT : GO_ON;
}

/* The caller's work is done whatever becomes of the variant. Comparing takes the host longer than
 * most kernels run, so only a variant that is faster is compared. */
static verdict run_pair(attempt *a, const gen_data *data) {
  serve_trial *o = a->o;
  serve *s = o->k->owner;
  const bool variant_first = o->n_pairs % 2 == 0;
  verdict v = REJECT;
  if (launch_both(a) || a->rc || !a->tried) {
    return a->rc ? GIVE_UP : REJECT;
  }
  serve_turn_take(s);
  int rc = device_of(o)->ops->stream_sync(device_of(o), a->stream, NULL);
  if (!rc) {
    v = is_timed(o) ? note_check(o, data, a->args, &rc) : note_times(o, variant_first, &rc);
  }
  serve_turn_end(s);
  return rc ? GIVE_UP : v;
}

static int prepare(serve_trial *o, tuned_stream stream, const void *const *args, arena *a,
                   const gen_data **data) {
  serve *s = o->k->owner;
  TRY(call_data(o, args, a, data, NULL));
  serve_turn_take(s);
  int rc = make_events(o, NULL);
  rc = rc ? rc : take_scratch(o, *data, NULL);
  rc = rc ? rc : device_of(o)->ops->stream_sync(device_of(o), stream, NULL);
  rc = rc ? rc : fill_scratch(o, stream, args, NULL);
  serve_turn_end(s);
  return rc;
}

static const void **own_args(serve_trial *o, const void *const *args, arena *a) {
  const size_t n = o->k->t->n_args;
  const void **own = ARENA_ARRAY(a, const void *, n + 1);
  rt_ptr *at = ARENA_ARRAY(a, rt_ptr, n + 1);
  for (size_t i = 0; own && at && i < n; i++) {
    at[i] = o->scratch[i] + GUARD;
    own[i] = is_output(o->k->t, i) ? (const void *)&at[i] : args[i];
  }
  return at ? own : NULL;
}

/* ---- what follows from it ------------------------------------------------------------------- */

static void accept(serve_trial *o) {
  variant_clear(&o->best);
  o->best = o->now;
  o->now = (variant){0};
  o->served_sec = median_of(o->tried_sec + 1, PAIRS);
  tuned_kernel_info *info = &o->best.kernel->info;
  info->expected_sec = o->served_sec;
  info->measured = !device_of(o)->info.modelled;
  atomic_store_explicit(&o->k->better, o->best.kernel, memory_order_release);
}

/* Under the threads' lock. */
static void next_ready(serve_trial *o) {
  if (atomic_load(&o->state) == WAITING && o->n_ready) {
    o->now = o->ready[0];
    memmove(&o->ready[0], &o->ready[1], --o->n_ready * sizeof *o->ready);
    o->n_pairs = o->n_checks = 0;
    atomic_store(&o->state, READY);
  }
}

/* As far as it came; a variant that cannot be launched has no times. */
static double median_time(const double *list, int n) {
  return n > 1 ? median_of(list + 1, n - 1) : n == 1 ? list[0] : INFINITY;
}

static void retire(serve_trial *o) {
  if (o->now.kernel) {
    o->retired[o->n_retired++] = o->now.kernel;
  }
  variant_clear(&o->now);
}

/* What the callers found out; and the next one's turn. */
static void hand_over(serve_trial *o, verdict v) {
  serve_online *on = o->owner;
  const size_t tried = o->now.tried;
  if (v != GIVE_UP) {
    serve_draw_tell(&o->draw, tried, median_time(o->tried_sec, o->n_pairs));
  }
  if (o->n_pairs > 0) {
    serve_draw_tell(&o->draw, o->best.tried, median_time(o->served, o->n_pairs));
  }
  if (v == ACCEPT) {
    accept(o);
  }
  if (v == GIVE_UP) {
    release_scratch(o);
  }
  pthread_mutex_lock(&on->lock);
  atomic_fetch_add(&o->n_done, 1);
  o->stale = v == ACCEPT ? 0 : o->stale + 1;
  o->n_better += v == ACCEPT;
  if (v == REJECT) {
    retire(o);
  }
  atomic_store(&o->state, v == GIVE_UP ? SETTLED : WAITING);
  next_ready(o);
  pthread_cond_broadcast(&on->wake);
  pthread_mutex_unlock(&on->lock);
}

static bool within_budget(const serve_trial *o) {
  const double share = o->fraction;
  return share > 0 && o->spent + o->last_cost <= share * (now_sec() - o->since);
}

static verdict try_now(serve_trial *o, tuned_stream stream, const void *const *args, int *rc,
                       bool *launched, err *e) {
  arena a = {0};
  const gen_data *data;
  verdict v = GIVE_UP;
  if (!prepare(o, stream, args, &a, &data)) {
    attempt x = {.o = o, .stream = stream, .args = args, .own = own_args(o, args, &a), .e = e};
    if (x.own) {
      v = run_pair(&x, data);
      *rc = x.rc;
      *launched = true;
    }
  }
  arena_clear(&a);
  return v;
}

bool serve_online_tell(serve *s, const tuned_kernel *k, serve_online_tally *out) {
  serve_online *on = online_of(s);
  for (const serve_trial *o = on ? on->first : NULL; o; o = o->next) {
    if (o->k == k) {
      pthread_mutex_lock(&on->lock);
      *out = (serve_online_tally){.tried = atomic_load(&o->n_done),
                                  .better = o->n_better,
                                  .stale = o->stale,
                                  .spent_sec = o->spent};
      pthread_mutex_unlock(&on->lock);
      return true;
    }
  }
  return false;
}

static bool launch_trial(serve_detour *d, tuned_stream stream, const void *const *args, int *rc,
                         err *e) {
  serve_trial *o = (serve_trial *)d;
  bool launched = false;
  if (atomic_load(&o->state) != READY || atomic_flag_test_and_set(&o->busy)) {
    return false;
  }
  if (atomic_load(&o->state) == READY && within_budget(o)) {
    const double from = now_sec();
    const verdict v = try_now(o, stream, args, rc, &launched, e);
    o->last_cost = now_sec() - from;
    o->spent += o->last_cost;
    if (v != GO_ON) {
      hand_over(o, v);
    }
  }
  atomic_flag_clear(&o->busy);
  return launched;
}

/* ---- the threads: the next variant ---------------------------------------------------------- */

/* The context's template is needed by callers who look for kernels. */
static bool open_draw(serve_trial *o) {
  const serve *s = o->k->owner;
  gen_number limits[RT_NUMBERS];
  size_t place;
  rt_numbers(&s->device->info, limits);
  if (gen_open(&s->options, o->family, &o->own, NULL) || strcmp(o->own->hash, o->k->t->hash) != 0 ||
      gen_instance_new(o->own, &o->p, limits, RT_NUMBERS, &o->own_g, NULL)) {
    return false;
  }
  serve_draw_init(&o->draw, o->own, o->own_g, s->device->info.sms);
  return serve_draw_add(&o->draw, &o->found, &place);
}

/* False: there is none left to try. First what near problems suggest. */
static bool next_config(serve_trial *o, gen_config *c, size_t *place) {
  if (!o->own && !open_draw(o)) {
    return false;
  }
  while (o->n_near) {
    *c = o->near[--o->n_near];
    if (serve_draw_add(&o->draw, c, place)) {
      return true;
    }
  }
  return serve_draw_next(&o->draw, c, place);
}

static int write_source(serve_trial *o, variant *v, rt_source *source) {
  TRY(gen_source_make(o->own_g, &v->config, &v->source, &source->body, NULL));
  source->text = str_text(&v->source);
  source->arch = device_of(o)->info.arch;
  source->lineinfo = device_of(o)->info.format == RT_PTX;
  return 0;
}

static void keep_image(const serve_trial *o, variant *v, const rt_image *image) {
  const bool cubin = device_of(o)->info.format == RT_CUBIN;
  const str *bytes = cubin ? &image->cubin : &image->ptx;
  str_add_n(&v->image, bytes->p, bytes->n);
  memcpy(v->key, image->key, sizeof v->key);
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    const int64_t spill = k->spill_stores + k->spill_loads;
    v->regs = k->regs > v->regs ? k->regs : v->regs;
    v->spill = spill > v->spill ? spill : v->spill;
    v->smem = k->smem_static > v->smem ? k->smem_static : v->smem;
  }
}

static int build(const serve_trial *o, rt_compiler *compiler, variant *v, const rt_source *source) {
  arena a = {0};
  rt_image image;
  rt_image_init(&image);
  const int rc = rt_compile(compiler, source, &a, &image, NULL);
  if (!rc) {
    keep_image(o, v, &image);
  }
  rt_image_clear(&image);
  arena_clear(&a);
  return rc;
}

static int load(serve_trial *o, variant *v) {
  serve *s = o->k->owner;
  const serve_pick pick = {.config = v->config,
                           .origin = TUNED_ONLINE,
                           .problem = o->k->info.problem,
                           .device_key = s->sources.device_key};
  const serve_variant_image image = {
      .bytes = str_text(&v->image), .nbytes = v->image.n, .spill = v->spill};
  pthread_mutex_lock(&s->lock);
  serve_turn_take(s);
  const int rc = serve_kernel_variant(o->k, s->device, o->g, &pick, &image, &v->kernel, NULL);
  serve_turn_end(s);
  if (!rc) {
    v->kernel->next = s->newest;
    s->newest = v->kernel;
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

/* Compiled without any lock. 0, or there is none left to try, or it cannot be built. */
static int make_variant(serve_trial *o, rt_compiler *compiler, variant *v) {
  rt_source source = {0};
  int rc = ERR_NOTFOUND;
  pthread_mutex_lock(&o->choosing);
  if (!o->exhausted && next_config(o, &v->config, &v->tried)) {
    rc = write_source(o, v, &source) ? ERR_TEMPLATE : 0;
  } else {
    o->exhausted = true;
  }
  pthread_mutex_unlock(&o->choosing);
  rc = rc ? rc : build(o, compiler, v, &source) ? ERR_COMPILE : 0;
  return rc ? rc : load(o, v) ? ERR_LAUNCH : 0;
}

/* ---- the threads: the end -------------------------------------------------------------------- */

static int put_time(serve_trial *o, db *d, int64_t trial, err *e) {
  const rt_info *info = &device_of(o)->info;
  if (info->modelled) {
    return db_estimate_put(d, trial, "emulator 1", o->served_sec, e);
  }
  return db_sample_put(d, trial,
                       &(db_sample){.stage = DB_SCREEN,
                                    .median = o->served_sec,
                                    .launches = PAIRS,
                                    .driver = info->driver,
                                    .uuid = info->uuid},
                       e);
}

static int put_image(serve_trial *o, db *d, err *e) {
  const bool cubin = device_of(o)->info.format == RT_CUBIN;
  const variant *v = &o->best;
  return db_image_put(d,
                      &(db_image){.key = v->key,
                                  .arch = device_of(o)->info.arch,
                                  .source = str_text(&v->source),
                                  .log = "",
                                  .nvrtc = rt_compiler_version(o->owner->workers[0].compiler),
                                  .regs = v->regs,
                                  .spill = v->spill,
                                  .smem = v->smem,
                                  .cubin = cubin ? v->image.p : NULL,
                                  .n_cubin = cubin ? v->image.n : 0,
                                  .ptx = cubin ? NULL : v->image.p,
                                  .n_ptx = cubin ? 0 : v->image.n},
                      e);
}

static int put_all(serve_trial *o, db *d, err *e) {
  const gen_template *t = o->k->t;
  const rt_info *info = &device_of(o)->info;
  const db_device device = {
      .key = o->k->owner->sources.device_key, .name = info->name, .cc = info->cc, .sms = info->sms};
  const db_template template = {
      .family = t->name, .hash = t->hash, .path = t->path, .version = t->version};
  const db_trial row = {.problem = o->k->info.problem,
                        .config = kernel_now(o)->info.config,
                        .status = DB_OK,
                        .image = o->best.kernel ? o->best.key : NULL,
                        .error = NAN}; /* compared with another kernel, not with the reference */
  int64_t device_id, template_id, trial;
  TRY(db_device_put(d, &device, &device_id, e));
  TRY(db_template_put(d, &template, &template_id, e));
  if (row.image) {
    TRY(put_image(o, d, e));
  }
  TRY(db_trial_put(d, template_id, device_id, &row, &trial, e));
  return put_time(o, d, trial, e);
}

/* A database that can't be written keeps nothing; the program goes on with what it has. */
static void store(serve_trial *o) {
  const char *path = o->k->owner->db_path;
  db *d;
  if (o->served_sec > 0 && path && !db_open(path, DB_WRITE, &d, NULL)) {
    put_all(o, d, NULL);
    db_close(d);
  }
}

static void close_draw(serve_trial *o) {
  serve_draw_clear(&o->draw);
  gen_instance_free(o->own_g);
  gen_close(o->own);
  o->own_g = NULL;
  o->own = NULL;
}

static void settle(serve_trial *o) {
  store(o);
  close_draw(o); /* megabytes */
  serve_turn_take(o->k->owner);
  release_scratch(o);
  serve_turn_end(o->k->owner);
  variant_clear(&o->best); /* its kernel stays */
  atomic_store_explicit(&o->k->detour, NULL, memory_order_release);
  atomic_store(&o->state, SETTLED);
}

/* ---- the threads ---------------------------------------------------------------------------- */

static bool wants_more(const serve_trial *o) {
  const bool by_default = o->k->info.origin == TUNED_DEFAULT;
  const size_t stale_most = by_default ? STALE_DEFAULT : STALE_MOST;
  return !o->exhausted && o->draw.n < VARIANTS_MOST && o->stale < stale_most;
}

static bool wants_variant(const serve_trial *o) {
  return atomic_load(&o->state) < SETTLING && wants_more(o) &&
         o->n_ready + o->n_building < AHEAD_MOST;
}

/* Those that are ready are tried before. */
static bool wants_to_settle(const serve_trial *o) {
  return atomic_load(&o->state) == WAITING && !o->n_building && !o->n_ready && !wants_more(o);
}

/* The threads' lock is given back meanwhile. */
static void add_variant(worker *w, serve_trial *o) {
  serve_online *on = w->on;
  variant v = {0};
  o->n_building++;
  pthread_mutex_unlock(&on->lock);
  const int rc = make_variant(o, w->compiler, &v);
  pthread_mutex_lock(&on->lock);
  o->n_building--;
  if (!rc) {
    o->ready[o->n_ready++] = v;
    next_ready(o);
    return;
  }
  if (rc != ERR_NOTFOUND) {
    serve_draw_tell(&o->draw, v.tried, INFINITY);
    atomic_fetch_add(&o->n_done, 1);
    o->stale++;
  }
  variant_clear(&v);
}

/* The module goes, the struct stays, since workspaces know it. */
static void unload_retired(worker *w, serve_trial *o) {
  serve_online *on = w->on;
  tuned_kernel *k = o->retired[--o->n_retired];
  pthread_mutex_unlock(&on->lock);
  serve_turn_take(on->s);
  serve_kernel_unload(k);
  serve_turn_end(on->s);
  pthread_mutex_lock(&on->lock);
}

static void settle_now(worker *w, serve_trial *o) {
  serve_online *on = w->on;
  atomic_store(&o->state, SETTLING);
  pthread_mutex_unlock(&on->lock);
  settle(o);
  pthread_mutex_lock(&on->lock);
}

/* One thing to do; false: there is nothing. */
static bool work(worker *w) {
  for (serve_trial *o = w->on->first; o; o = o->next) {
    if (o->n_retired) {
      unload_retired(w, o);
      return true;
    }
    if (wants_to_settle(o)) {
      settle_now(w, o);
      return true;
    }
    if (wants_variant(o)) {
      add_variant(w, o);
      return true;
    }
  }
  return false;
}

static void *thread_main(void *arg) {
  worker *w = arg;
  serve_online *on = w->on;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
  pthread_mutex_lock(&on->lock);
  while (!on->stop) {
    if (!work(w)) {
      pthread_cond_wait(&on->wake, &on->lock);
    }
  }
  pthread_mutex_unlock(&on->lock);
  return NULL;
}

/* ---- attaching ------------------------------------------------------------------------------ */

static void add_near(serve_trial *o, serve_choose *choose) {
  serve_pick pick;
  while (o->n_near < NEAR_MOST && !serve_choose_next(choose, &pick, NULL)) {
    o->near[o->n_near++] = pick.config;
  }
  for (size_t i = 0; i < o->n_near / 2; i++) { /* taken from the end: the best guess goes there */
    const gen_config c = o->near[i];
    o->near[i] = o->near[o->n_near - 1 - i];
    o->near[o->n_near - 1 - i] = c;
  }
}

static bool fill_trial(serve *s, serve_trial *o, serve_known *known) {
  tuned_kernel *k = o->k;
  gen_number limits[RT_NUMBERS];
  gen_template *t = (gen_template *)k->t;
  arena a = {0};
  o->family = serve_family_name(s, t);
  rt_numbers(&s->device->info, limits);
  o->scratch = ARENA_ARRAY(&o->memory, rt_ptr, t->n_args + 1);
  o->nbytes = ARENA_ARRAY(&o->memory, size_t, t->n_args + 1);
  if (!o->scratch || !o->nbytes || gen_problem_parse(t, k->info.problem, &o->p, NULL) ||
      gen_instance_new(t, &o->p, limits, RT_NUMBERS, &o->g, NULL) ||
      gen_config_parse(t, k->info.config, &o->found, NULL)) {
    return false;
  }
  serve_choose choose = {.from = &s->sources,
                         .t = t,
                         .p = &o->p,
                         .g = o->g,
                         .problem = k->info.problem,
                         .known = known,
                         .memory = &a};
  add_near(o, &choose);
  arena_clear(&a);
  return true;
}

static void trial_free(serve_trial *o) {
  for (int i = 0; i < 3; i++) {
    if (o->events[i]) {
      device_of(o)->ops->event_free(device_of(o), o->events[i]);
    }
  }
  release_scratch(o);
  close_draw(o);
  gen_instance_free(o->g);
  pthread_mutex_destroy(&o->choosing);
  variant_clear(&o->now);
  variant_clear(&o->best);
  for (size_t i = 0; i < o->n_ready; i++) {
    variant_clear(&o->ready[i]);
  }
  arena_clear(&o->memory);
  free(o);
}

static void attach(serve_hook *h, tuned_kernel *k) {
  serve_online *on = (serve_online *)h;
  if (on->fraction <= 0 || k->is_empty || k->info.origin == TUNED_EXACT ||
      k->info.origin == TUNED_ONLINE || atomic_load(&k->detour) || atomic_load(&k->better)) {
    return;
  }
  serve_trial *o = calloc(1, sizeof *o);
  if (!o) {
    return;
  }
  pthread_mutex_init(&o->choosing, NULL);
  o->owner = on;
  o->k = k;
  o->since = now_sec();
  o->fraction = on->fraction;
  o->detour.launch = launch_trial;
  atomic_init(&o->state, WAITING);
  if (!fill_trial(on->s, o, serve_known_of(on->s, k->t))) {
    trial_free(o);
    return;
  }
  pthread_mutex_lock(&on->lock);
  o->next = on->first;
  on->first = o;
  pthread_cond_broadcast(&on->wake);
  pthread_mutex_unlock(&on->lock);
  atomic_store_explicit(&k->detour, &o->detour, memory_order_release);
}

/* ---- a context ------------------------------------------------------------------------------ */

static void stop(serve_online *on) {
  pthread_mutex_lock(&on->lock);
  on->stop = true;
  pthread_cond_broadcast(&on->wake);
  pthread_mutex_unlock(&on->lock);
  for (size_t i = 0; i < on->n_workers; i++) {
    pthread_join(on->workers[i].thread, NULL);
  }
}

static void discard(serve_online *on) {
  for (size_t i = 0; i < THREADS_MOST; i++) {
    rt_compiler_close(on->workers[i].compiler);
  }
  pthread_cond_destroy(&on->wake);
  pthread_mutex_destroy(&on->lock);
  free(on);
}

static void close_online(serve_hook *h) {
  serve_online *on = (serve_online *)h;
  stop(on);
  for (serve_trial *o = on->first, *next; o; o = next) {
    next = o->next;
    trial_free(o);
  }
  discard(on);
}

/* Half of the processors, at low priority. */
static size_t threads_wanted(void) {
  const long n = sysconf(_SC_NPROCESSORS_ONLN) / 2;
  return n < 1 ? 1 : n > THREADS_MOST ? THREADS_MOST : (size_t)n;
}

static int start_worker(serve_online *on, err *e) {
  worker *w = &on->workers[on->n_workers];
  w->on = on;
  TRY(rt_compiler_open(&w->compiler, e));
  if (pthread_create(&w->thread, NULL, thread_main, w)) {
    return err_set(e, ERR_LIMIT, "no thread could be started for tuning");
  }
  on->n_workers++;
  return 0;
}

/* One will do. */
static int start(serve *s, err *e) {
  serve_online *on = calloc(1, sizeof *on);
  if (!on) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  on->hook = (serve_hook){.found = attach, .close = close_online};
  on->s = s;
  pthread_mutex_init(&on->lock, NULL);
  pthread_cond_init(&on->wake, NULL);
  const int rc = start_worker(on, e);
  if (rc) {
    discard(on);
    return rc;
  }
  while (on->n_workers < threads_wanted() && !start_worker(on, NULL)) {
  }
  serve_hook_add(s, &on->hook);
  return 0;
}

static void set_fraction(serve_online *on, double fraction) {
  on->fraction = fraction;
  for (serve_trial *o = on->first; o; o = o->next) {
    o->fraction = fraction;
  }
  for (tuned_kernel *k = on->s->newest; k; k = k->next) {
    attach(&on->hook, k);
  }
}

int serve_online_set(serve *s, double fraction, err *e) {
  pthread_mutex_lock(&s->lock);
  const bool begins = fraction > 0 && !online_of(s);
  const int rc = begins ? start(s, e) : 0;
  serve_online *on = online_of(s);
  if (on) {
    set_fraction(on, fraction);
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}
