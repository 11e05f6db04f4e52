/* serve_launch.c -- the launch path of a found kernel, and the scratch memory it may need.
 *
 * Kernels without a workspace take no lock and share nothing that is written. A workspace belongs
 * to one kernel on one stream, where launches follow each other; two threads that launch the same
 * kernel on the same stream take turns, so that the stages of one launch are not split by
 * another's. Workspaces are zeroed once and kept: kernels leave the counters in them as they found
 * them. In a workspace of the caller's own the order is the caller's business. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "context.h"

/* ---- workspaces ----------------------------------------------------------------------------- */

typedef struct workspace {
  pthread_mutex_t turn;
  rt_ptr at;
} workspace;

typedef struct workspace_key {
  tuned_kernel *kernel;
  tuned_stream stream;
  pthread_t thread; /* of the per-thread default stream; else 0 */
} workspace_key;

/* CU_STREAM_PER_THREAD is one handle for a different stream in every thread. */
static bool per_thread(tuned_stream stream) {
  return (uintptr_t)stream == 2;
}

static workspace_key key_of(tuned_kernel *k, tuned_stream stream) {
  return (workspace_key){
      .kernel = k, .stream = stream, .thread = per_thread(stream) ? pthread_self() : 0};
}

static void workspace_free(serve *s, workspace *w) {
  s->device->ops->release(s->device, w->at);
  pthread_mutex_destroy(&w->turn);
  free(w);
}

static int workspace_fill(tuned_kernel *k, const workspace_key *key, workspace *w, err *e) {
  serve *s = k->owner;
  const size_t nbytes = rt_loaded_workspace_nbytes(k->loaded);
  TRY(s->device->ops->alloc(s->device, nbytes, &w->at, e));
  TRY(s->device->ops->set(s->device, w->at, 0, nbytes, key->stream, e));
  if (!serve_table_put(&s->workspaces, key, sizeof *key, w)) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  return 0;
}

static int workspace_new(tuned_kernel *k, const workspace_key *key, workspace **out, err *e) {
  workspace *w = calloc(1, sizeof *w);
  if (!w) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  pthread_mutex_init(&w->turn, NULL);
  serve_turn_take(k->owner);
  const int rc = workspace_fill(k, key, w, e);
  if (rc) {
    workspace_free(k->owner, w);
  }
  serve_turn_end(k->owner);
  *out = w;
  return rc;
}

/* Nothing can be allocated then, and its zeros would become a part of the graph. */
static int check_capture(const tuned_kernel *k, tuned_stream stream, err *e) {
  rt_device *d = k->owner->device;
  if (d->ops->capturing && d->ops->capturing(d, stream)) {
    return err_set(
        e, ERR_USAGE,
        "%s: the stream is being captured and the kernel has no scratch memory there yet; "
        "launch it once on this stream before, or give it some: tuned_launch_with",
        k->t->name);
  }
  return 0;
}

static int workspace_get(tuned_kernel *k, tuned_stream stream, workspace **w, err *e) {
  serve *s = k->owner;
  const workspace_key key = key_of(k, stream);
  if ((*w = serve_table_get(&s->workspaces, &key, sizeof key))) {
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  int rc = 0;
  if (!(*w = serve_table_get(&s->workspaces, &key, sizeof key))) {
    rc = check_capture(k, stream, e);
    rc = rc ? rc : workspace_new(k, &key, w, e);
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

static void free_one(void *value, void *ud) {
  workspace_free(ud, value);
}

void serve_workspaces_free(serve *s) {
  serve_table_each(&s->workspaces, free_one, s);
  serve_table_clear(&s->workspaces);
}

/* ---- arguments ------------------------------------------------------------------------------ */

int serve_call_data(const tuned_kernel *k, gen_instance *g, const void *const *args, arena *a,
                    const gen_data **data, err *e) {
  const gen_template *t = k->t;
  dtype type;
  uint64_t *bits = ARENA_ARRAY(a, uint64_t, t->n_args + 1);
  if (!bits) {
    return err_set(e, ERR_NOMEM, "out of host memory");
  }
  for (size_t i = 0; i < t->n_args; i++) {
    if (k->needs[i] == SERVE_GIVEN && t->args[i].dir == GEN_SCALAR && args[i] &&
        dtype_parse(t->args[i].type, &type)) {
      memcpy(&bits[i], args[i], dtype_nbytes(type));
    }
  }
  return gen_data_given(g, bits, a, data, e);
}

/* ---- launching ------------------------------------------------------------------------------ */

static __attribute__((cold)) int refuse(const tuned_kernel *k, size_t i, const char *what, err *e) {
  return err_set(e, ERR_USAGE, "%s: argument %s %s", k->t->name, k->t->args[i].name, what);
}

int serve_check_launch(const tuned_kernel *k, const void *const *args, err *e) {
  TRY(serve_check_fork(k->owner, e));
  if (k->is_empty) {
    return 0; /* it takes none */
  }
  if (!args) {
    return err_set(e, ERR_USAGE, "%s: args is NULL; give a pointer per argument", k->t->name);
  }
  for (size_t i = 0; i < k->t->n_args; i++) {
    if (k->needs[i] != SERVE_FIXED && !args[i]) {
      return refuse(k, i, "is missing", e);
    }
  }
  return 0;
}

static rt_ptr address_of(const serve_address *a, const void *const *args) {
  return *(const rt_ptr *)args[a->index];
}

static __attribute__((cold, noinline)) int refuse_addresses(const tuned_kernel *k,
                                                            const void *const *args, err *e) {
  for (size_t i = 0; i < k->n_addresses; i++) {
    const serve_address *a = &k->addresses[i];
    const rt_ptr at = address_of(a, args);
    if (!at || at & a->stray) {
      return refuse(k, a->index, at ? "is not aligned to its elements" : "is a NULL address", e);
    }
  }
  return 0;
}

/* Is any of them bad? Only then, which. Zero less one has the highest bit, which no address has. */
static inline int check_addresses(const tuned_kernel *k, const void *const *args, err *e) {
  rt_ptr stray = 0, less = 0;
  for (const serve_address *a = k->addresses, *end = a + k->n_addresses; a < end; a++) {
    const rt_ptr at = address_of(a, args);
    stray |= at & a->stray;
    less |= at - 1;
  }
  return stray | less >> 63 ? refuse_addresses(k, args, e) : 0;
}

static inline int launch(const tuned_kernel *k, tuned_stream stream, const void *const *args,
                         rt_ptr workspace_at, err *e) {
  serve_turn_take(k->owner);
  const int rc = rt_loaded_launch_in(k->loaded, stream, args, workspace_at, e);
  serve_turn_end(k->owner);
  return rc;
}

static __attribute__((noinline)) int launch_in_turn(tuned_kernel *k, tuned_stream stream,
                                                    const void *const *args, err *e) {
  workspace *w;
  TRY(workspace_get(k, stream, &w, e));
  pthread_mutex_lock(&w->turn);
  const int rc = launch(k, stream, args, w->at, e);
  pthread_mutex_unlock(&w->turn);
  return rc;
}

static inline int launch_plain(tuned_kernel *k, tuned_stream stream, const void *const *args,
                               err *e) {
  return k->has_workspace ? launch_in_turn(k, stream, args, e) : launch(k, stream, args, 0, e);
}

int serve_launch_plain(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e) {
  return launch_plain(k, stream, args, e);
}

static void count(tuned_kernel *k, tuned_stream stream, const void *const *args) {
  if (k->owner->capture) {
    atomic_fetch_add_explicit(&k->calls, 1, memory_order_relaxed);
    serve_capture_data(k, stream, args);
  }
}

static inline __attribute__((always_inline)) int
launch_checked(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e) {
  if (k->is_empty) {
    return 0;
  }
  TRY(check_addresses(k, args, e));
  count(k, stream, args);
  serve_trial *trial = atomic_load_explicit(&k->online, memory_order_acquire);
  int rc;
  if (trial && serve_online_try(trial, stream, args, &rc, e)) {
    return rc;
  }
  tuned_kernel *better = atomic_load_explicit(&k->better, memory_order_acquire);
  return launch_plain(better ? better : k, stream, args, e);
}

int serve_launch(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e) {
  return launch_checked(k, stream, args, e);
}

int serve_call_known(tuned_kernel *k, tuned_stream stream, const void *const *args,
                     tuned_error *error) {
  err e;
  e.code = 0; /* what reports a failure writes the rest */
  launch_checked(k, stream, args, &e);
  return serve_report(error, &e);
}

static int check_workspace(const tuned_kernel *k, const void *at, size_t nbytes, err *e) {
  const size_t needed = (size_t)k->info.workspace_nbytes;
  if (!needed) {
    return 0;
  }
  if (!at) {
    return err_set(e, ERR_USAGE, "%s: workspace is NULL; this kernel needs %zu bytes", k->t->name,
                   needed);
  }
  if (nbytes < needed) {
    return err_set(e, ERR_USAGE, "%s: the workspace has %zu bytes; this kernel needs %zu",
                   k->t->name, nbytes, needed);
  }
  if ((uintptr_t)at % RT_WORKSPACE_ALIGNMENT) {
    return err_set(e, ERR_USAGE, "%s: the workspace at %p is not aligned to %d bytes", k->t->name,
                   at, RT_WORKSPACE_ALIGNMENT);
  }
  return 0;
}

int serve_launch_with(tuned_kernel *k, tuned_stream stream, const void *const *args, void *at,
                      size_t nbytes, err *e) {
  if (k->is_empty) {
    return 0;
  }
  TRY(check_addresses(k, args, e));
  TRY(check_workspace(k, at, nbytes, e));
  count(k, stream, args);
  return launch(k, stream, args, (rt_ptr)(uintptr_t)at, e);
}
