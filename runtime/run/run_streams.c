/* run_streams.c -- the order of plans whose stages are on several streams.
 *
 * Stages of stream 0 are on the caller's stream. The first stage of another stream waits for all that
 * stands before it on stream 0, and the caller's stream waits for the last one. A loop begins after all
 * that stands before it; each of its iterations is ordered like a plan. Captures use a set of streams
 * and events of their own, which joins the caller's graph only; a second capture that begins while the
 * first one lasts gets all stages on the caller's stream, one after another, which is always right. */
#include <string.h>

#include "loaded.h"

/* ---- what waits for what --------------------------------------------------------------------- */

typedef struct scan { /* over the stages, in their order */
  loaded_order *o;
  size_t n_waits;
  uint16_t last[GEN_MAX_STREAMS]; /* events; LOADED_NONE: nothing is on this stream yet */
} scan;

/* At a point where only the caller's stream runs, at this event. */
static void scan_start(scan *x, size_t event) {
  memset(x->last, 0xff, sizeof x->last);
  x->last[0] = (uint16_t)event;
}

static void await(loaded_order *o, uint16_t event) {
  if (event != LOADED_NONE) {
    o->is_awaited[event] = true;
  }
}

/* What precedes its stream, then the streams that it names. */
static void scan_stage(scan *x, const gen_launch *l, size_t i) {
  loaded_order *o = x->o;
  const bool first = l->stream && x->last[l->stream] == LOADED_NONE;
  const unsigned after = l->after | (first ? 1u : 0u);
  o->from[i] = (uint32_t)x->n_waits;
  o->stream[i] = l->stream;
  for (unsigned k = 0; k < GEN_MAX_STREAMS; k++) {
    if (after >> k & 1 && k != l->stream && x->last[k] != LOADED_NONE) {
      await(o, x->last[k]);
      o->waits[x->n_waits++] = x->last[k];
    }
  }
  x->last[l->stream] = (uint16_t)i;
}

/* What the caller's stream waits for in the end. */
static void scan_end(scan *x, uint16_t last[GEN_MAX_STREAMS]) {
  memcpy(last, x->last, sizeof x->last);
  last[0] = LOADED_NONE;
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    await(x->o, last[k]);
  }
}

static void scan_loop(scan *x, const gen_plan *plan, loaded_loop *loop, size_t i_loop) {
  const size_t start = plan->n + 1 + 2 * i_loop;
  const size_t ends[] = {loop->first + loop->n, loop->first + loop->n + loop->n_odd};
  size_t i = loop->first;
  scan_end(x, loop->before);
  for (int odd = 0; odd < 2; odd++) {
    scan_start(x, start);
    for (; i < ends[odd]; i++) {
      scan_stage(x, &plan->launches[i], i);
    }
    scan_end(x, loop->last[odd]);
  }
  scan_start(x, start + 1);
}

static void find_order(rt_loaded *l, const gen_plan *plan) {
  scan x = {.o = l->order};
  size_t loop = 0;
  scan_start(&x, plan->n);
  for (size_t i = 0; i < plan->n;) {
    if (loop < l->n_loops && l->loops[loop].first == i) {
      scan_loop(&x, plan, &l->loops[loop], loop);
      i += l->loops[loop].n + l->loops[loop].n_odd;
      loop++;
    } else {
      scan_stage(&x, &plan->launches[i], i);
      i++;
    }
  }
  l->order->from[plan->n] = (uint32_t)x.n_waits;
  scan_end(&x, l->order->last);
}

static int new_order(rt_loaded *l, size_t n, loaded_order **out, err *e) {
  loaded_order *o = ARENA_ARRAY(&l->memory, loaded_order, 1);
  *out = o;
  if (!o) {
    return err_nomem(e);
  }
  o->stream = ARENA_ARRAY(&l->memory, uint8_t, n);
  o->from = ARENA_ARRAY(&l->memory, uint32_t, n + 1);
  o->waits = ARENA_ARRAY(&l->memory, uint16_t, n * GEN_MAX_STREAMS);
  o->n_events = n + 1 + 2 * l->n_loops;
  o->is_awaited = ARENA_ARRAY(&l->memory, bool, o->n_events);
  if (!o->stream || !o->from || !o->waits || !o->is_awaited) {
    return err_nomem(e);
  }
  memset(o->is_awaited, 0, o->n_events);
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

static bool has_stream(const gen_plan *plan, size_t k) {
  for (size_t i = 0; i < plan->n; i++) {
    if (plan->launches[i].stream == k) {
      return true;
    }
  }
  return false;
}

static int open_streams(rt_loaded *l, const gen_plan *plan, loaded_streams *x, err *e) {
  const rt_device_ops *ops = l->d->ops;
  const loaded_order *o = l->order;
  x->done = ARENA_ARRAY(&l->memory, rt_event *, o->n_events);
  if (!x->done) {
    return err_nomem(e);
  }
  memset(x->done, 0, o->n_events * sizeof *x->done);
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    TRY(has_stream(plan, k) ? ops->stream_beside(l->d, &x->list[k], e) : 0);
  }
  for (size_t i = 0; i < o->n_events; i++) {
    TRY(o->is_awaited[i] ? ops->event_new(l->d, &x->done[i], e) : 0);
  }
  return 0;
}

int loaded_order_new(rt_loaded *l, const gen_plan *plan, err *e) {
  const rt_device_ops *ops = l->d->ops;
  if (!has_streams(plan)) {
    return 0;
  }
  if (!ops->stream_beside || !ops->stream_wait) {
    return 0; /* one after another */
  }
  TRY(new_order(l, plan->n, &l->order, e));
  find_order(l, plan);
  for (int i = 0; i < (ops->capturing ? 2 : 1); i++) {
    TRY(open_streams(l, plan, &l->streams[i], e));
  }
  return 0;
}

void loaded_order_free(rt_loaded *l) {
  const rt_device_ops *ops = l->d->ops;
  for (int i = 0; i < 2; i++) {
    loaded_streams *x = &l->streams[i];
    for (size_t k = 0; x->done && k < l->order->n_events; k++) {
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

/* Are our streams still part of another capture? */
static bool is_taken(const rt_loaded *l, const loaded_streams *x, rt_stream s) {
  bool taken = false;
  for (size_t k = 1; k < GEN_MAX_STREAMS; k++) {
    taken = taken || (x->list[k] && x->captured != s && l->d->ops->capturing(l->d, x->list[k]));
  }
  return taken;
}

loaded_streams *loaded_streams_for(rt_loaded *l, rt_stream s) {
  const rt_device_ops *ops = l->d->ops;
  if (!l->order || !ops->capturing || !ops->capturing(l->d, s)) {
    return l->order ? &l->streams[0] : NULL;
  }
  if (is_taken(l, &l->streams[1], s)) {
    return NULL;
  }
  l->streams[1].captured = s;
  return &l->streams[1];
}

int loaded_mark(rt_loaded *l, loaded_streams *x, size_t event, rt_stream caller, err *e) {
  return x && x->done[event] ? l->d->ops->event_record(l->d, x->done[event], caller, e) : 0;
}

int loaded_launch_one(rt_loaded *l, loaded_streams *x, size_t i, rt_stream caller,
                      const void *const *args, rt_ptr workspace, err *e) {
  const loaded_order *o = l->order;
  const rt_stream s = x && o->stream[i] ? x->list[o->stream[i]] : caller;
  for (size_t k = x ? o->from[i] : 0; x && k < o->from[i + 1]; k++) {
    TRY(l->d->ops->stream_wait(l->d, s, x->done[o->waits[k]], e));
  }
  TRY(loaded_launch_stage(l, &l->stages[i], s, args, workspace, e));
  return loaded_mark(l, x, i, s, e);
}

int loaded_join(rt_loaded *l, loaded_streams *x, const uint16_t last[GEN_MAX_STREAMS],
                rt_stream caller, err *e) {
  for (size_t k = 1; x && k < GEN_MAX_STREAMS; k++) {
    if (last[k] != LOADED_NONE) {
      TRY(l->d->ops->stream_wait(l->d, caller, x->done[last[k]], e));
    }
  }
  return 0;
}
