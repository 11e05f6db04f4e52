/* run_steps.c -- launches of plans that need more than one launch after another: variables of the
 * module that are filled before, and loops.
 *
 * A loop whose iterations are launched as a graph is recorded for the arguments of the launch; the
 * graph is launched again where the same arguments come again, as in a program that keeps its
 * buffers. In a caller's capture, and where a device has no graphs, the host launches each iteration. */
#include <stdlib.h>
#include <string.h>

#include "loaded.h"

enum { GRAPHS = 1024, GRAPH_NODES = 1 << 17 }; /* most that are kept, and their launches */

/* ---- loops ----------------------------------------------------------------------------------- */

static int launch_iteration(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, bool odd,
                            rt_stream s, const void *const *args, rt_ptr workspace, err *e) {
  const size_t first = loop->first + (odd ? loop->n : 0);
  TRY(loaded_mark(l, x, loaded_start_of(l, loop), s, e));
  for (size_t k = 0; k < loop->n; k++) {
    TRY(loaded_launch_one(l, x, first + k, s, args, workspace, e));
  }
  return loaded_join(l, x, loop->last[odd], s, e);
}

static int launch_iterations(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, rt_stream s,
                             const void *const *args, rt_ptr workspace, err *e) {
  for (uint64_t i = 0; i < loop->times; i++) {
    TRY(launch_iteration(l, x, loop, loop->n_odd && i % 2, s, args, workspace, e));
  }
  return 0;
}

static int record(void *graph, rt_stream s, err *e) {
  const loaded_graph *g = graph;
  if (g->loop->is_while) {
    return loaded_while_record(g->l, g->loop, s, g->args, g->key[g->l->n_args], e);
  }
  return launch_iterations(g->l, loaded_streams_for(g->l, s), g->loop, s, g->args,
                           g->key[g->l->n_args], e);
}

static void free_graph(rt_device *d, loaded_graph *g) {
  if (g) {
    d->ops->graph_free(d, g->made);
    free(g->key);
    free(g->args);
    free(g);
  }
}

static void read_key(const rt_loaded *l, const void *const *args, rt_ptr workspace, uint64_t *key) {
  for (size_t i = 0; i < l->n_args; i++) {
    key[i] = 0;
    if (l->arg_nbytes[i]) {
      memcpy(&key[i], args[i], l->arg_nbytes[i]);
    }
  }
  key[l->n_args] = workspace;
}

static loaded_graph *find_graph(const loaded_graphs *all, const loaded_loop *loop,
                                const uint64_t *key, size_t n) {
  for (size_t i = 0; i < all->n; i++) {
    loaded_graph *g = all->list[i];
    if (g->loop == loop && !memcmp(g->key, key, n * sizeof *key)) {
      return g;
    }
  }
  return NULL;
}

static size_t graphs_most(const loaded_loop *loop) {
  const uint64_t times = loop->is_while ? 1 : loop->times,
                 fit = GRAPH_NODES / (times * loop->n + 1);
  return fit < 2 ? 2 : fit > GRAPHS ? GRAPHS : (size_t)fit;
}

/* It takes a free place, or that of the oldest graph. */
static int keep_graph(loaded_graphs *all, loaded_graph *g, rt_device *d, err *e) {
  if (!all->list) {
    all->most = graphs_most(g->loop);
    all->list = calloc(all->most, sizeof *all->list);
  }
  if (!all->list) {
    return err_nomem(e);
  }
  if (all->n < all->most) {
    all->list[all->n++] = g;
    return 0;
  }
  free_graph(d, all->list[all->next]);
  all->list[all->next] = g;
  all->next = (all->next + 1) % all->most;
  return 0;
}

static int record_graph(loaded_graph *g, const uint64_t *key, err *e) {
  rt_loaded *l = g->l;
  const size_t n = l->n_args + 1;
  g->key = malloc(n * sizeof *key);
  g->args = calloc(n, sizeof *g->args);
  if (!g->key || !g->args) {
    return err_nomem(e);
  }
  memcpy(g->key, key, n * sizeof *key);
  for (size_t i = 0; i < l->n_args; i++) {
    g->args[i] = &g->key[i]; /* little-endian, as constants are */
  }
  TRY(l->d->ops->graph_new(l->d, record, g, &g->made, e));
  return keep_graph(&l->graphs, g, l->d, e);
}

static int new_graph(rt_loaded *l, const loaded_loop *loop, const uint64_t *key, loaded_graph **out,
                     err *e) {
  loaded_graph *g = calloc(1, sizeof *g);
  if (!g) {
    return err_nomem(e);
  }
  g->l = l;
  g->loop = loop;
  const int rc = record_graph(g, key, e);
  if (rc) {
    free_graph(l->d, g);
    return rc;
  }
  *out = g;
  return 0;
}

static int launch_graph(rt_loaded *l, const loaded_loop *loop, rt_stream s, const uint64_t *key,
                        err *e) {
  loaded_graph *g = find_graph(&l->graphs, loop, key, l->n_args + 1);
  TRY(g ? 0 : new_graph(l, loop, key, &g, e));
  return l->d->ops->graph_launch(l->d, g->made, s, e);
}

static int launch_as_graph(rt_loaded *l, const loaded_loop *loop, rt_stream s,
                           const void *const *args, rt_ptr workspace, err *e) {
  uint64_t key[LOADED_OPERANDS + 1];
  read_key(l, args, workspace, key);
  pthread_mutex_lock(&l->graphs.turn);
  const int rc = launch_graph(l, loop, s, key, e);
  pthread_mutex_unlock(&l->graphs.turn);
  return rc;
}

/* Iterations until a word is 0, as a node of the caller's graph, or of a graph of their own. */
static int launch_while(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, rt_stream s,
                        const void *const *args, rt_ptr workspace, err *e) {
  const rt_device_ops *ops = l->d->ops;
  if (!loop->graph) {
    return loaded_while_drive(l, x, loop, s, args, workspace, e);
  }
  if (ops->graph_new && !(ops->capturing && ops->capturing(l->d, s))) {
    return launch_as_graph(l, loop, s, args, workspace, e);
  }
  pthread_mutex_lock(&l->graphs.turn);
  const int rc = loaded_while_record(l, loop, s, args, workspace, e);
  pthread_mutex_unlock(&l->graphs.turn);
  return rc;
}

static int launch_loop(rt_loaded *l, loaded_streams *x, const loaded_loop *loop, rt_stream s,
                       const void *const *args, rt_ptr workspace, err *e) {
  const rt_device_ops *ops = l->d->ops;
  const bool graph = loop->graph && loop->times > 1 && ops->graph_new &&
                     !(ops->capturing && ops->capturing(l->d, s));
  TRY(loaded_join(l, x, loop->before, s, e));
  TRY((loop->is_while ? launch_while(l, x, loop, s, args, workspace, e)
       : graph        ? launch_as_graph(l, loop, s, args, workspace, e)
                      : launch_iterations(l, x, loop, s, args, workspace, e)));
  return loaded_mark(l, x, loaded_start_of(l, loop) + 1, s, e);
}

static int launch_all(rt_loaded *l, loaded_streams *x, rt_stream s, const void *const *args,
                      rt_ptr workspace, err *e) {
  const loaded_loop *loop = l->loops, *end = loop + l->n_loops;
  TRY(loaded_mark(l, x, l->n_stages, s, e));
  for (size_t i = 0; i < l->n_stages;) {
    if (loop < end && loop->first == i) {
      TRY(launch_loop(l, x, loop, s, args, workspace, e));
      i += loop->n + loop->n_odd;
      loop++;
    } else {
      TRY(loaded_launch_one(l, x, i++, s, args, workspace, e));
    }
  }
  return x ? loaded_join(l, x, l->order->last, s, e) : 0;
}

static int launch_streams(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                          err *e) {
  if (!l->order) {
    return launch_all(l, NULL, s, args, workspace, e);
  }
  pthread_mutex_lock(&l->turn);
  const int rc = launch_all(l, loaded_streams_for(l, s), s, args, workspace, e);
  pthread_mutex_unlock(&l->turn);
  return rc;
}

static int check_graph(const stage *s, const gen_launch *from, err *e) {
  for (size_t k = 0; k < s->n_textures; k++) {
    if (!s->textures[k].of_array) {
      return err_set(e, ERR_USAGE,
                     "kernel %s reads a texture of a buffer in a loop that is launched as a "
                     "graph: read it from an array, or let the host launch each iteration",
                     from->kernel);
    }
  }
  for (size_t k = 0; k < s->n_operands; k++) {
    if (s->operands[k].from == CONTENTS) {
      return err_set(
          e, ERR_USAGE,
          "kernel %s takes %s by value in a loop that is launched as a graph, which would "
          "keep its contents: let the host launch each iteration",
          from->kernel, from->operands[k].text);
    }
  }
  return 0;
}

int loaded_graphs_check(const rt_loaded *l, const gen_plan *plan, err *e) {
  for (size_t i = 0; i < plan->n; i++) {
    const gen_launch *from = &plan->launches[i];
    TRY(from->loop && from->loop->graph ? check_graph(&l->stages[i], from, e) : 0);
  }
  return 0;
}

void loaded_graphs_free(rt_loaded *l) {
  for (size_t i = 0; i < l->graphs.n; i++) {
    free_graph(l->d, l->graphs.list[i]);
  }
  free(l->graphs.list);
  pthread_mutex_destroy(&l->graphs.turn);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* In a capture no launch waits for others: the caller orders the launches of its graph. */
static int launch_in_turn(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                          err *e) {
  const rt_device_ops *ops = l->d->ops;
  loaded_image *m = l->image;
  const bool ordered = m->done && !(ops->capturing && ops->capturing(l->d, s));
  pthread_mutex_lock(&m->turn);
  int rc = ordered && m->launched && m->last != s ? ops->stream_wait(l->d, s, m->done, e) : 0;
  rc = rc ? rc : launch_streams(l, s, args, workspace, e);
  if (!rc && ordered) {
    rc = ops->event_record(l->d, m->done, s, e);
    m->last = s;
    m->launched = true;
  }
  pthread_mutex_unlock(&m->turn);
  return rc;
}

int loaded_launch_steps(rt_loaded *l, rt_stream s, const void *const *args, rt_ptr workspace,
                        err *e) {
  TRY(l->whiles.flag ? rt_loaded_finished(l, e) : 0);
  return (l->fills ? launch_in_turn : launch_streams)(l, s, args, workspace, e);
}
