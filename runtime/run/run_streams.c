/* run_streams.c -- launches of plans whose stages are on several streams.
 *
 * Stages of stream 0 are on the caller's stream. The first stage of another stream waits for all that
 * stands before it on stream 0, and the caller's stream waits for the last one. Captures use a set of
 * streams and events of their own, which joins the caller's graph only; a second capture that begins
 * while the first one lasts gets all stages on the caller's stream, one after another, which is always
 * right. */
#include <string.h>

#include "loaded.h"

/* ---- what waits for what --------------------------------------------------------------------- */

typedef struct scan { /* over the stages, in their order */
  uint16_t last[GEN_MAX_STREAMS];
  bool begun[GEN_MAX_STREAMS];
  size_t n;
} scan;

static void await(loaded_order *o, scan *x, size_t n_stages, uint16_t what) {
  o->waits[x->n++] = what;
  o->is_awaited[what == LOADED_START ? n_stages : what] = true;
}

/* What precedes its stream, then the streams that it names. */
static void add_waits(loaded_order *o, scan *x, size_t n_stages, const gen_launch *l) {
  unsigned after = l->after;
  if (l->stream && !x->begun[l->stream]) {
    after |= 1;
    x->begun[l->stream] = true;
  }
  for (unsigned k = 0; k < GEN_MAX_STREAMS; k++) {
    if (after >> k & 1 && k != l->stream && (!k || x->begun[k])) {
      await(o, x, n_stages, x->last[k]);
    }
  }
}

static int new_order(rt_loaded *l, size_t n, loaded_order **out, err *e) {
  loaded_order *o = ARENA_ARRAY(&l->memory, loaded_order, 1);
  *out = o;
  if (!o) {
    return err_nomem(e);
  }
  o->stream = ARENA_ARRAY(&l->memory, uint8_t, n);
  o->from = ARENA_ARRAY(&l->memory, uint16_t, n + 1);
  o->waits = ARENA_ARRAY(&l->memory, uint16_t, n * GEN_MAX_STREAMS);
  o->is_awaited = ARENA_ARRAY(&l->memory, bool, n + 1);
  if (!o->stream || !o->from || !o->waits || !o->is_awaited) {
    return err_nomem(e);
  }
  memset(o->is_awaited, 0, n + 1);
  return 0;
}

static bool has_streams(const gen_plan *plan) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].stream) {
      return true;
    }
  }
  return false;
}

/* The caller's stream waits for each other stream's last stage. */
static void find_order(const gen_plan *plan, loaded_order *o) {
  scan x = {0};
  memset(x.last, 0xff, sizeof x.last);
  for (size_t i = 0; i < plan->n; i++) {
    const gen_launch *l = &plan->launches[i];
    o->from[i] = (uint16_t)x.n;
    o->stream[i] = l->stream;
    add_waits(o, &x, plan->n, l);
    x.last[l->stream] = (uint16_t)i;
  }
  o->from[plan->n] = (uint16_t)x.n;
  memcpy(o->last, x.last, sizeof o->last);
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    if (o->last[k] != LOADED_START) {
      o->is_awaited[o->last[k]] = true;
    }
  }
}

static int open_streams(rt_loaded *l, loaded_streams *x, err *e) {
  const rt_device_ops *ops = l->d->ops;
  x->done = ARENA_ARRAY(&l->memory, rt_event *, l->n_stages + 1);
  if (!x->done) {
    return err_nomem(e);
  }
  memset(x->done, 0, (l->n_stages + 1) * sizeof *x->done);
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    TRY(l->order->last[k] == LOADED_START ? 0 : ops->stream_beside(l->d, &x->list[k], e));
  }
  for (size_t i = 0; i <= l->n_stages; i++) {
    TRY(l->order->is_awaited[i] ? ops->event_new(l->d, &x->done[i], e) : 0);
  }
  return 0;
}

int loaded_order_new(rt_loaded *l, const gen_plan *plan, err *e) {
  const rt_device_ops *ops = l->d->ops;
  if (!has_streams(plan)) {
    return 0;
  }
  if (l->n_loops) {
    return err_set(e, ERR_TEMPLATE, "a plan cannot have loops beside stages of several streams");
  }
  if (!ops->stream_beside || !ops->stream_wait) {
    return 0; /* one after another */
  }
  TRY(new_order(l, plan->n, &l->order, e));
  find_order(plan, l->order);
  for (int i = 0; i < (ops->capturing ? 2 : 1); i++) {
    TRY(open_streams(l, &l->streams[i], e));
  }
  return 0;
}

void loaded_order_free(rt_loaded *l) {
  const rt_device_ops *ops = l->d->ops;
  for (int i = 0; i < 2; i++) {
    loaded_streams *x = &l->streams[i];
    for (size_t k = 0; x->done && k <= l->n_stages; k++) {
      if (x->done[k]) {
        ops->event_free(l->d, x->done[k]);
      }
    }
    for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
      if (x->list[k]) {
        ops->stream_free(l->d, x->list[k]);
      }
    }
  }
  pthread_mutex_destroy(&l->turn);
}

/* ---- launching ------------------------------------------------------------------------------- */

static int launch_one(rt_loaded *l, loaded_streams *x, size_t i, rt_stream caller,
                      const void *const *args, rt_ptr workspace, err *e) {
  const rt_device_ops *ops = l->d->ops;
  const loaded_order *o = l->order;
  const rt_stream s = o->stream[i] ? x->list[o->stream[i]] : caller;
  for (size_t k = o->from[i]; k < o->from[i + 1]; k++) {
    const size_t what = o->waits[k] == LOADED_START ? l->n_stages : o->waits[k];
    TRY(ops->stream_wait(l->d, s, x->done[what], e));
  }
  TRY(loaded_launch_stage(l, &l->stages[i], s, args, workspace, e));
  return x->done[i] ? ops->event_record(l->d, x->done[i], s, e) : 0;
}

static int join(rt_loaded *l, loaded_streams *x, rt_stream caller, err *e) {
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    if (x->list[k]) {
      TRY(l->d->ops->stream_wait(l->d, caller, x->done[l->order->last[k]], e));
    }
  }
  return 0;
}

static int launch_apart(rt_loaded *l, loaded_streams *x, rt_stream s, const void *const *args,
                        rt_ptr workspace, err *e) {
  rt_event *start = x->done[l->n_stages];
  TRY(start ? l->d->ops->event_record(l->d, start, s, e) : 0);
  for (size_t i = 0; i < l->n_stages; i++) {
    TRY(launch_one(l, x, i, s, args, workspace, e));
  }
  return join(l, x, s, e);
}

static int launch_in_order(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                           err *e) {
  for (size_t i = 0; i < l->n_stages; i++) {
    TRY(loaded_launch_stage(l, &l->stages[i], s, args, workspace, e));
  }
  return 0;
}

/* Are our streams still part of another capture? */
static bool is_taken(const rt_loaded *l, const loaded_streams *x, rt_stream s) {
  bool taken = false;
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    taken = taken || (x->list[k] && x->captured != s && l->d->ops->capturing(l->d, x->list[k]));
  }
  return taken;
}

int loaded_launch_streams(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                          err *e) {
  const rt_device_ops *ops = l->d->ops;
  int rc;
  pthread_mutex_lock(&l->turn);
  if (!ops->capturing || !ops->capturing(l->d, s)) {
    rc = launch_apart(l, &l->streams[0], s, args, workspace, e);
  } else if (is_taken(l, &l->streams[1], s)) {
    rc = launch_in_order(l, s, args, workspace, e);
  } else {
    l->streams[1].captured = s;
    rc = launch_apart(l, &l->streams[1], s, args, workspace, e);
  }
  pthread_mutex_unlock(&l->turn);
  return rc;
}
