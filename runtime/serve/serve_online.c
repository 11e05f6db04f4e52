#define _GNU_SOURCE
#include "serve_online.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "file.h"
#include "serve_adapt.h"
#include "serve_choose.h"

/* So many variants of a problem; so many in a row that were no better, then it settles. */
enum { VARIANTS_MOST = 40, STALE_MOST = 14, NEAR_MOST = 6 };
enum { PAIRS = 5, GUARD = 4096, OUTPUTS_MOST = 64 << 20 };

/* Faster by less than this is noise; slower by that much at the first look is hopeless. */
static const double BETTER = 0.98, HOPELESS = 1.5;

enum { WAITING, READY, SETTLED }; /* for a variant from the thread; for callers; for nobody */

struct serve_online {
  struct serve *s;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool stop;
  rt_compiler *compiler; /* the thread's own */
  serve_trial *first;    /* newest first; only added to, under the context's lock and this one */
};

typedef struct variant {
  gen_config config;
  tuned_kernel *kernel;
  str source, image; /* to be stored */
  char key[HASH_TEXT];
  int regs;
  int64_t spill, smem;
} variant;

struct serve_trial {
  serve_trial *next;
  serve_online *owner;
  tuned_kernel *k; /* as it was found */
  gen_problem p;
  gen_instance *g; /* under the context's lock */
  atomic_int state;
  atomic_flag busy; /* a caller is trying */
  _Atomic double fraction;

  /* the thread's */
  gen_config near[NEAR_MOST];
  size_t n_near;
  gen_config tried[VARIANTS_MOST + 1];
  size_t n_tried;
  uint64_t random;

  /* handed over by state */
  variant now, best; /* best.kernel NULL: the one that was found */
  gen_config best_config;
  double served_sec; /* of the best, by the last comparison; 0: none yet */
  bool accepted;     /* the last one was */
  size_t stale;

  /* the caller's who tries */
  double since, spent, last_cost;
  double served[PAIRS + 1], tried_sec[PAIRS + 1];
  int n_pairs;
  rt_event *events[3];
  rt_ptr *scratch; /* per argument: a buffer with guards; 0: no output */
  size_t *nbytes;  /* of it, without guards */
  arena memory;
};

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
  const gen_template *t = o->k->t;
  serve *s = o->k->owner;
  dtype type;
  uint64_t *bits = ARENA_ARRAY(a, uint64_t, t->n_args + 1);
  if (!bits) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  for (size_t i = 0; i < t->n_args; i++) {
    if (o->k->needs[i] == SERVE_GIVEN && t->args[i].dir == GEN_SCALAR && args[i] &&
        dtype_parse(t->args[i].type, &type)) {
      memcpy(&bits[i], args[i], dtype_nbytes(type));
    }
  }
  pthread_mutex_lock(&s->lock);
  const int rc = gen_data_given(o->g, bits, a, data, e);
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
  const int n = o->n_pairs - 1;
  if (n < 1) {
    return GO_ON;
  }
  const double a = median_of(o->tried_sec + 1, n), b = median_of(o->served + 1, n);
  if (a > HOPELESS * b) {
    return REJECT;
  }
  o->served_sec = n == PAIRS ? b : o->served_sec;
  return n < PAIRS ? GO_ON : a < BETTER * b ? ACCEPT : REJECT;
}

/* The caller's work is done whatever becomes of the variant. */
static verdict run_pair(attempt *a, const gen_data *data) {
  serve_trial *o = a->o;
  serve *s = o->k->owner;
  bool same = false;
  const bool variant_first = o->n_pairs % 2 == 0;
  if (launch_both(a) || a->rc || !a->tried) {
    return a->rc ? GIVE_UP : REJECT;
  }
  serve_turn_take(s);
  int rc = device_of(o)->ops->stream_sync(device_of(o), a->stream, NULL);
  rc = rc ? rc : read_times(o, variant_first);
  rc = rc ? rc : compare(o, data, a->args, &same, NULL);
  serve_turn_end(s);
  o->n_pairs++;
  return rc ? GIVE_UP : same ? judge(o) : REJECT;
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

/* The thread's turn, with what the callers found out. */
static void hand_over(serve_trial *o, verdict v) {
  serve_online *on = o->owner;
  o->accepted = v == ACCEPT;
  if (v == GIVE_UP) {
    release_scratch(o);
  }
  pthread_mutex_lock(&on->lock);
  atomic_store(&o->state, v == GIVE_UP ? SETTLED : WAITING);
  pthread_cond_signal(&on->wake);
  pthread_mutex_unlock(&on->lock);
}

static void accept(serve_trial *o) {
  variant_clear(&o->best);
  o->best = o->now;
  o->now = (variant){0};
  o->best_config = o->best.config;
  o->served_sec = median_of(o->tried_sec + 1, PAIRS);
  tuned_kernel_info *info = &o->best.kernel->info;
  info->expected_sec = o->served_sec;
  info->measured = strcmp(device_of(o)->info.kind, "emu") != 0;
  atomic_store_explicit(&o->k->better, o->best.kernel, memory_order_release);
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

bool serve_online_tell(struct serve *s, const tuned_kernel *k, serve_online_tally *out) {
  for (const serve_trial *o = s->online ? s->online->first : NULL; o; o = o->next) {
    if (o->k == k) {
      *out = (serve_online_tally){.tried = o->n_tried - 1, .spent_sec = o->spent};
      return true;
    }
  }
  return false;
}

bool serve_online_try(serve_trial *o, tuned_stream stream, const void *const *args, int *rc,
                      err *e) {
  bool launched = false;
  if (atomic_load(&o->state) != READY || atomic_flag_test_and_set(&o->busy)) {
    return false;
  }
  if (atomic_load(&o->state) == READY && within_budget(o)) {
    const double from = now_sec();
    const verdict v = try_now(o, stream, args, rc, &launched, e);
    o->last_cost = now_sec() - from;
    o->spent += o->last_cost;
    if (v == ACCEPT) {
      accept(o);
    }
    if (v != GO_ON) {
      hand_over(o, v);
    }
  }
  atomic_flag_clear(&o->busy);
  return launched;
}

/* ---- the thread: the next variant ----------------------------------------------------------- */

/* src: Vigna, xorshift64* */
static uint64_t draw(serve_trial *o) {
  o->random ^= o->random >> 12;
  o->random ^= o->random << 25;
  o->random ^= o->random >> 27;
  return o->random * UINT64_C(2685821657736338717);
}

static bool was_tried(const serve_trial *o, const gen_config *c) {
  for (size_t i = 0; i < o->n_tried; i++) {
    if (!memcmp(o->tried[i].index, c->index, o->k->t->n_params * sizeof *c->index)) {
      return true;
    }
  }
  return false;
}

/* One to three parameters a step or so away from the best. */
static void mutate(serve_trial *o, gen_config *c) {
  const gen_template *t = o->k->t;
  *c = o->best_config;
  for (uint64_t n = 1 + draw(o) % 3; n > 0 && t->n_params; n--) {
    const size_t i = draw(o) % t->n_params;
    const int64_t at = c->index[i] + (int64_t)(draw(o) % 5) - 2;
    if (at >= 0 && at < (int64_t)t->params[i].n) {
      c->index[i] = (uint16_t)at;
    }
  }
}

/* Any point of the space, changed until it is valid. */
static bool explore(serve_trial *o, gen_config *c) {
  enum { ATTEMPTS = 8 };
  const gen_template *t = o->k->t;
  for (int i = 0; i < ATTEMPTS; i++) {
    int changed;
    *c = o->best_config;
    for (size_t k = 0; k < t->n_params; k++) {
      c->index[k] = (uint16_t)(draw(o) % t->params[k].n);
    }
    if (serve_adapt(t, o->g, c, &changed) && !was_tried(o, c)) {
      return true;
    }
  }
  return false;
}

/* Under the context's lock. False: there is none left to try. Beside a default, which is nobody's
 * choice, every other variant is from anywhere. */
static bool next_config(serve_trial *o, gen_config *c) {
  enum { ATTEMPTS = 400 };
  while (o->n_near) {
    *c = o->near[--o->n_near];
    if (!was_tried(o, c)) {
      return true;
    }
  }
  if (o->k->info.origin == TUNED_DEFAULT && o->n_tried % 2 && explore(o, c)) {
    return true;
  }
  for (int i = 0; i < ATTEMPTS; i++) {
    mutate(o, c);
    if (!was_tried(o, c) && !gen_config_check(o->g, c, NULL)) {
      return true;
    }
  }
  return false;
}

static int write_source(serve_trial *o, const gen_config *c, rt_source *source) {
  o->now = (variant){.config = *c};
  TRY(gen_source_make(o->g, c, &o->now.source, &source->body, NULL));
  source->text = str_text(&o->now.source);
  source->arch = device_of(o)->info.arch;
  source->lineinfo = device_of(o)->info.format == RT_PTX;
  return 0;
}

static void keep_image(serve_trial *o, const rt_image *image) {
  const bool cubin = device_of(o)->info.format == RT_CUBIN;
  const str *bytes = cubin ? &image->cubin : &image->ptx;
  str_add_n(&o->now.image, bytes->p, bytes->n);
  memcpy(o->now.key, image->key, sizeof o->now.key);
  for (size_t i = 0; i < image->n_kernels; i++) {
    const rt_kernel_info *k = &image->kernels[i];
    const int64_t spill = k->spill_stores + k->spill_loads;
    o->now.regs = k->regs > o->now.regs ? k->regs : o->now.regs;
    o->now.spill = spill > o->now.spill ? spill : o->now.spill;
    o->now.smem = k->smem_static > o->now.smem ? k->smem_static : o->now.smem;
  }
}

static int build(serve_trial *o, const rt_source *source) {
  arena a = {0};
  rt_image image;
  rt_image_init(&image);
  const int rc = rt_compile(o->owner->compiler, source, &a, &image, NULL);
  if (!rc) {
    keep_image(o, &image);
  }
  rt_image_clear(&image);
  arena_clear(&a);
  return rc;
}

static int load(serve_trial *o) {
  serve *s = o->k->owner;
  pthread_mutex_lock(&s->lock);
  serve_turn_take(s);
  const int rc = serve_kernel_variant(o->k, o->g, &o->now.config, str_text(&o->now.image),
                                      o->now.image.n, o->now.spill, &o->now.kernel, NULL);
  serve_turn_end(s);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

/* Compiled without any lock. */
static bool make_variant(serve_trial *o, const gen_config *c) {
  rt_source source = {0};
  serve *s = o->k->owner;
  pthread_mutex_lock(&s->lock);
  int rc = write_source(o, c, &source);
  pthread_mutex_unlock(&s->lock);
  rc = rc ? rc : build(o, &source);
  return !(rc ? rc : load(o));
}

/* ---- the thread: the end -------------------------------------------------------------------- */

static int put_time(serve_trial *o, db *d, int64_t trial, err *e) {
  const rt_info *info = &device_of(o)->info;
  if (!strcmp(info->kind, "emu")) {
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
                                  .nvrtc = rt_compiler_version(o->owner->compiler),
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
  const db_device device = {.key = str_text(&o->k->owner->device_key),
                            .name = info->name,
                            .cc = info->cc,
                            .sms = info->sms};
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

static void settle(serve_trial *o) {
  store(o);
  serve_turn_take(o->k->owner);
  release_scratch(o);
  serve_turn_end(o->k->owner);
  variant_clear(&o->best); /* its kernel stays */
  atomic_store_explicit(&o->k->online, NULL, memory_order_release);
  atomic_store(&o->state, SETTLED);
}

/* ---- the thread ----------------------------------------------------------------------------- */

/* Called where the variant was accepted, rejected, or there was none. */
static void advance(serve_trial *o) {
  gen_config c;
  serve *s = o->k->owner;
  bool any;
  if (o->now.kernel) { /* rejected: its module goes, the struct stays, since workspaces know it */
    serve_turn_take(s);
    serve_kernel_unload(o->now.kernel);
    serve_turn_end(s);
  }
  o->stale = o->accepted ? 0 : o->stale + (o->n_tried > 1);
  o->accepted = false;
  variant_clear(&o->now);
  o->n_pairs = 0;
  pthread_mutex_lock(&s->lock);
  any = o->n_tried < VARIANTS_MOST && o->stale < STALE_MOST && next_config(o, &c);
  pthread_mutex_unlock(&s->lock);
  if (!any) {
    settle(o);
    return;
  }
  o->tried[o->n_tried++] = c;
  if (make_variant(o, &c)) {
    atomic_store(&o->state, READY);
  } else {
    variant_clear(&o->now); /* next round: another */
  }
}

static serve_trial *next_waiting(serve_online *on) {
  for (serve_trial *o = on->first; o; o = o->next) {
    if (atomic_load(&o->state) == WAITING) {
      return o;
    }
  }
  return NULL;
}

static void *thread_main(void *arg) {
  serve_online *on = arg;
  pthread_mutex_lock(&on->lock);
  while (!on->stop) {
    serve_trial *o = next_waiting(on);
    if (o) {
      pthread_mutex_unlock(&on->lock);
      advance(o);
      pthread_mutex_lock(&on->lock);
    } else {
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
  rt_numbers(&s->device->info, limits);
  o->scratch = ARENA_ARRAY(&o->memory, rt_ptr, t->n_args + 1);
  o->nbytes = ARENA_ARRAY(&o->memory, size_t, t->n_args + 1);
  if (!o->scratch || !o->nbytes || gen_problem_parse(t, k->info.problem, &o->p, NULL) ||
      gen_instance_new(t, &o->p, limits, RT_NUMBERS, &o->g, NULL) ||
      gen_config_parse(t, k->info.config, &o->best_config, NULL)) {
    return false;
  }
  serve_choose choose = {.s = s,
                         .t = t,
                         .p = &o->p,
                         .g = o->g,
                         .problem = k->info.problem,
                         .known = known,
                         .memory = &a};
  add_near(o, &choose);
  arena_clear(&a);
  o->tried[o->n_tried++] = o->best_config;
  return true;
}

static void trial_free(serve_trial *o) {
  for (int i = 0; i < 3; i++) {
    if (o->events[i]) {
      device_of(o)->ops->event_free(device_of(o), o->events[i]);
    }
  }
  release_scratch(o);
  gen_instance_free(o->g);
  variant_clear(&o->now);
  variant_clear(&o->best);
  arena_clear(&o->memory);
  free(o);
}

void serve_online_attach(serve *s, tuned_kernel *k) {
  serve_online *on = s->online;
  if (!on || s->online_fraction <= 0 || !k->n_launches || k->info.origin == TUNED_EXACT ||
      k->info.origin == TUNED_ONLINE || atomic_load(&k->online) || atomic_load(&k->better)) {
    return;
  }
  serve_trial *o = calloc(1, sizeof *o);
  if (!o) {
    return;
  }
  o->owner = on;
  o->k = k;
  o->random = 88172645463325252u;
  o->since = now_sec();
  o->fraction = s->online_fraction;
  atomic_init(&o->state, WAITING);
  if (!fill_trial(s, o, serve_known_of(s, k->t))) {
    trial_free(o);
    return;
  }
  pthread_mutex_lock(&on->lock);
  o->next = on->first;
  on->first = o;
  pthread_cond_signal(&on->wake);
  pthread_mutex_unlock(&on->lock);
  atomic_store_explicit(&k->online, o, memory_order_release);
}

/* ---- a context ------------------------------------------------------------------------------ */

static int start(serve *s, err *e) {
  serve_online *on = calloc(1, sizeof *on);
  if (!on) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  on->s = s;
  pthread_mutex_init(&on->lock, NULL);
  pthread_cond_init(&on->wake, NULL);
  int rc = rt_compiler_open(&on->compiler, e);
  if (!rc && pthread_create(&on->thread, NULL, thread_main, on)) {
    rc = err_set(e, ERR_LIMIT, "no thread could be started for tuning");
  }
  if (rc) {
    rt_compiler_close(on->compiler);
    free(on);
    return rc;
  }
  s->online = on;
  return 0;
}

static void set_fraction(serve *s, double fraction) {
  s->online_fraction = fraction;
  for (serve_trial *o = s->online->first; o; o = o->next) {
    o->fraction = fraction;
  }
  for (tuned_kernel *k = s->newest; k; k = k->next) {
    serve_online_attach(s, k);
  }
}

int serve_online_set(serve *s, double fraction, err *e) {
  if (!(fraction > 0)) {
    pthread_mutex_lock(&s->lock);
    if (s->online) {
      set_fraction(s, 0);
    }
    pthread_mutex_unlock(&s->lock);
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  const int rc = s->online ? 0 : start(s, e);
  if (!rc) {
    set_fraction(s, fraction);
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

void serve_online_stop(serve *s) {
  serve_online *on = s->online;
  if (on) {
    pthread_mutex_lock(&on->lock);
    on->stop = true;
    pthread_cond_signal(&on->wake);
    pthread_mutex_unlock(&on->lock);
    pthread_join(on->thread, NULL);
  }
}

void serve_online_free(serve *s) {
  serve_online *on = s->online;
  if (!on) {
    return;
  }
  for (serve_trial *o = on->first, *next; o; o = next) {
    next = o->next;
    trial_free(o);
  }
  rt_compiler_close(on->compiler);
  pthread_cond_destroy(&on->wake);
  pthread_mutex_destroy(&on->lock);
  free(on);
  s->online = NULL;
}
