#define _GNU_SOURCE
#include "serve_workspace.h"

#include <stdlib.h>
#include <string.h>

#include "serve_kernel.h"

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

static void workspace_free(serve *s, serve_workspace *w) {
  s->device->ops->release(s->device, w->at);
  pthread_mutex_destroy(&w->turn);
  free(w);
}

static int workspace_fill(tuned_kernel *k, const workspace_key *key, serve_workspace *w, err *e) {
  serve *s = k->owner;
  const size_t nbytes = rt_loaded_workspace_nbytes(k->loaded);
  TRY(s->device->ops->alloc(s->device, nbytes, &w->at, e));
  TRY(s->device->ops->set(s->device, w->at, 0, nbytes, key->stream, e));
  if (!serve_table_put(&s->workspaces, key, sizeof *key, w)) {
    return err_nomem(e);
  }
  return 0;
}

static int workspace_new(tuned_kernel *k, const workspace_key *key, serve_workspace **out, err *e) {
  serve_workspace *w = calloc(1, sizeof *w);
  if (!w) {
    return err_nomem(e);
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

/* Nothing can be allocated during a capture, and zeroing would become a part of the graph. */
static int refuse_capture(const tuned_kernel *k, tuned_stream stream, err *e) {
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

int serve_workspace_get(tuned_kernel *k, tuned_stream stream, serve_workspace **w, err *e) {
  serve *s = k->owner;
  const workspace_key key = key_of(k, stream);
  if ((*w = serve_table_get(&s->workspaces, &key, sizeof key))) {
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  int rc = 0;
  if (!(*w = serve_table_get(&s->workspaces, &key, sizeof key))) {
    rc = refuse_capture(k, stream, e);
    rc = rc ? rc : workspace_new(k, &key, w, e);
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

bool serve_workspace_exists(tuned_kernel *k, tuned_stream stream) {
  const workspace_key key = key_of(k, stream);
  return serve_table_get(&k->owner->workspaces, &key, sizeof key);
}

static void free_one(void *value, void *ud) {
  workspace_free(ud, value);
}

void serve_workspaces_free(serve *s) {
  serve_table_each(&s->workspaces, free_one, s);
  serve_table_clear(&s->workspaces);
}
