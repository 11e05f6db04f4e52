#define _GNU_SOURCE
#include "serve_workspace.h"

#include <stdlib.h>
#include <string.h>

#include "serve_kernel.h"

/* CU_STREAM_PER_THREAD is one handle for a different stream in every thread. */
static bool per_thread(tuned_stream stream) {
  return (uintptr_t)stream == 2;
}

static serve_workspace_key key_of(tuned_kernel *k, tuned_stream stream) {
  return (serve_workspace_key){
      .kernel = k, .stream = stream, .thread = per_thread(stream) ? pthread_self() : 0};
}

static void workspace_free(serve *s, serve_workspace *w) {
  s->device->ops->release(s->device, w->at);
  pthread_mutex_destroy(&w->turn);
  free(w);
}

/* Memory that is zeroed before what the stream runs next. */
static int allocate(tuned_kernel *k, tuned_stream stream, rt_ptr *at, err *e) {
  rt_device *d = k->owner->device;
  const size_t nbytes = rt_loaded_workspace_nbytes(k->loaded);
  serve_turn_take(k->owner);
  int rc = d->ops->alloc(d, nbytes, at, e);
  if (!rc && (rc = d->ops->set(d, *at, 0, nbytes, stream, e))) {
    d->ops->release(d, *at);
  }
  serve_turn_end(k->owner);
  return rc;
}

static int workspace_new(tuned_kernel *k, const serve_workspace_key *key, serve_workspace **out,
                         err *e) {
  rt_ptr at;
  serve_workspace *w = calloc(1, sizeof *w);
  int rc = w ? allocate(k, key->stream, &at, e) : err_nomem(e);
  if (rc) {
    free(w);
    return rc;
  }
  w->key = *key;
  w->at = at;
  pthread_mutex_init(&w->turn, NULL);
  if (!serve_table_put(&k->owner->workspaces, key, sizeof *key, w)) {
    workspace_free(k->owner, w);
    return err_nomem(e);
  }
  *out = w;
  return 0;
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
  const serve_workspace_key key = key_of(k, stream);
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

int serve_workspace_renew(serve_workspace *w, err *e) {
  rt_ptr at = 0;
  TRY(refuse_capture(w->key.kernel, w->key.stream, e));
  TRY(allocate(w->key.kernel, w->key.stream, &at, e));
  w->at = at;
  return 0;
}

bool serve_workspace_exists(tuned_kernel *k, tuned_stream stream) {
  const serve_workspace_key key = key_of(k, stream);
  const serve_workspace *w = serve_table_get(&k->owner->workspaces, &key, sizeof key);
  return w && w->at;
}

typedef struct trim {
  serve *s;
  tuned_stream stream;
} trim;

static void trim_one(void *value, void *ud) {
  serve_workspace *w = value;
  const trim *t = ud;
  if (t->stream != TUNED_EVERY_STREAM &&
      (w->key.stream != t->stream ||
       (per_thread(t->stream) && !pthread_equal(w->key.thread, pthread_self())))) {
    return;
  }
  pthread_mutex_lock(&w->turn);
  serve_turn_take(t->s);
  t->s->device->ops->release(t->s->device, w->at);
  w->at = 0;
  serve_turn_end(t->s);
  pthread_mutex_unlock(&w->turn);
}

int serve_workspaces_trim(serve *s, tuned_stream stream, err *e) {
  rt_device *d = s->device;
  trim t = {s, stream};
  if (stream != TUNED_EVERY_STREAM && d->ops->capturing && d->ops->capturing(d, stream)) {
    return err_set(e, ERR_USAGE,
                   "tuned_trim: the stream is being captured into a graph, which "
                   "uses its scratch memory");
  }
  pthread_mutex_lock(&s->lock);
  serve_table_each(&s->workspaces, trim_one, &t);
  pthread_mutex_unlock(&s->lock);
  return 0;
}

static void free_one(void *value, void *ud) {
  workspace_free(ud, value);
}

void serve_workspaces_free(serve *s) {
  serve_table_each(&s->workspaces, free_one, s);
  serve_table_clear(&s->workspaces);
}
