#include "online_comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve_kernel.h"
#include "serve_launch.h"

enum { PAIRS = ONLINE_PAIRS, CHECKS = 3 };

/* A variant is accepted below BETTER of the served time, and rejected above HOPELESS[n] of it after
 * n pairs that count; in the warm-up pair, n = 0, its code may still have to be loaded. */
static const double BETTER = 0.98, HOPELESS[PAIRS] = {4, 1.5, 1.15, 1.05, 1.02};

static rt_device *device_of(const online_comparison *c) {
  return c->scratch.device;
}

int online_comparison_init(online_comparison *c, const tuned_kernel *k, gen_instance *g, arena *a,
                           err *e) {
  c->k = k;
  c->g = g;
  return online_scratch_init(&c->scratch, k->owner->device, k->t, a, e);
}

void online_comparison_clear(online_comparison *c) {
  for (int i = 0; i < 3; i++) {
    if (c->events[i]) {
      device_of(c)->ops->event_free(device_of(c), c->events[i]);
    }
  }
  online_scratch_release(&c->scratch);
}

void online_comparison_begin(online_comparison *c) {
  c->n_pairs = c->n_checks = 0;
}

/* ---- times ---------------------------------------------------------------------------------- */

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

/* The warm-up pair counts only while there is no other. */
double online_comparison_sec(const online_comparison *c, bool of_variant) {
  const double *list = of_variant ? c->tried : c->served;
  return c->n_pairs > 1    ? median_of(list + 1, c->n_pairs - 1)
         : c->n_pairs == 1 ? list[0]
                           : INFINITY;
}

bool online_comparison_is_timed(const online_comparison *c) {
  return c->n_pairs == PAIRS + 1;
}

static online_verdict compare_times(const online_comparison *c) {
  const double tried = online_comparison_sec(c, true), served = online_comparison_sec(c, false);
  const bool good = online_comparison_is_timed(c) ? tried < BETTER * served
                                                  : tried <= HOPELESS[c->n_pairs - 1] * served;
  return good ? ONLINE_GO_ON : ONLINE_REJECT;
}

static int read_times(online_comparison *c, bool variant_first) {
  double first = 0, second = 0;
  rt_device *d = device_of(c);
  int rc = d->ops->elapsed(d, c->events[0], c->events[1], &first, NULL);
  rc = rc ? rc : d->ops->elapsed(d, c->events[1], c->events[2], &second, NULL);
  c->tried[c->n_pairs] = variant_first ? first : second;
  c->served[c->n_pairs] = variant_first ? second : first;
  c->n_pairs++;
  return rc;
}

/* ---- one pair ------------------------------------------------------------------------------- */

typedef struct pair {
  online_comparison *c;
  tuned_kernel *served, *variant;
  online_launch *l;
  const void *const *own; /* arguments with scratch in place of outputs */
  bool tried;             /* the variant could be launched */
} pair;

/* How large the buffers are may depend on this call's leading dimensions. */
static int call_data(const online_comparison *c, const void *const *args, arena *a,
                     const gen_data **data) {
  serve *s = c->k->owner;
  pthread_mutex_lock(&s->lock);
  const int rc = serve_args_data(c->k->t, c->k->needs, c->g, args, a, data, NULL);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

static int make_events(online_comparison *c) {
  rt_device *d = device_of(c);
  for (int i = 0; i < 3; i++) {
    if (!c->events[i]) {
      TRY(d->ops->event_new(d, &c->events[i], NULL));
    }
  }
  return 0;
}

static int prepare(online_comparison *c, const online_launch *l, arena *a, const gen_data **data) {
  serve *s = c->k->owner;
  rt_device *d = device_of(c);
  TRY(call_data(c, l->args, a, data));
  serve_turn_take(s);
  int rc = make_events(c);
  rc = rc ? rc : online_scratch_take(&c->scratch, *data, NULL);
  rc = rc ? rc : d->ops->stream_sync(d, l->stream, NULL);
  rc = rc ? rc : online_scratch_fill(&c->scratch, l->stream, l->args, NULL);
  serve_turn_end(s);
  return rc;
}

static int mark(const pair *p, int i) {
  rt_device *d = device_of(p->c);
  serve_turn_take(p->c->k->owner);
  const int rc = d->ops->event_record(d, p->c->events[i], p->l->stream, NULL);
  serve_turn_end(p->c->k->owner);
  return rc;
}

static void launch_served(pair *p) {
  p->l->rc = serve_launch_plain(p->served, p->l->stream, p->l->args, p->l->e);
  p->l->launched = true;
}

static void launch_variant(pair *p) {
  p->tried = !serve_launch_plain(p->variant, p->l->stream, p->own, NULL);
}

/* The second one finds inputs in the cache, so the order alternates. */
static int launch_both(pair *p, bool variant_first) {
  int rc = mark(p, 0);
  variant_first ? launch_variant(p) : launch_served(p);
  rc |= mark(p, 1);
  variant_first ? launch_served(p) : launch_variant(p);
  return rc | mark(p, 2);
}

static int compare_results(online_comparison *c, const gen_data *data, const void *const *args,
                           online_verdict *v) {
  bool same = false;
  const int rc = online_scratch_compare(&c->scratch, data, args, &same, NULL);
  *v = !same ? ONLINE_REJECT : ++c->n_checks == CHECKS ? ONLINE_ACCEPT : ONLINE_GO_ON;
  return rc;
}

static int wait_and_judge(pair *p, const gen_data *data, bool variant_first, online_verdict *v) {
  online_comparison *c = p->c;
  TRY(device_of(c)->ops->stream_sync(device_of(c), p->l->stream, NULL));
  if (online_comparison_is_timed(c)) {
    return compare_results(c, data, p->l->args, v);
  }
  const int rc = read_times(c, variant_first);
  *v = compare_times(c);
  return rc;
}

static online_verdict run(pair *p, const gen_data *data) {
  serve *s = p->c->k->owner;
  const bool variant_first = p->c->n_pairs % 2 == 0;
  online_verdict v = ONLINE_REJECT;
  if (launch_both(p, variant_first) || p->l->rc || !p->tried) {
    return p->l->rc ? ONLINE_GIVE_UP : ONLINE_REJECT;
  }
  serve_turn_take(s);
  const int rc = wait_and_judge(p, data, variant_first, &v);
  serve_turn_end(s);
  return rc ? ONLINE_GIVE_UP : v;
}

online_verdict online_comparison_run(online_comparison *c, tuned_kernel *served,
                                     tuned_kernel *variant, online_launch *l) {
  auto_arena a = {0};
  const gen_data *data;
  pair p = {.c = c, .served = served, .variant = variant, .l = l};
  online_verdict v = ONLINE_GIVE_UP;
  if (!prepare(c, l, &a, &data) && (p.own = online_scratch_args(&c->scratch, l->args, &a))) {
    v = run(&p, data);
  }
  return v;
}
