#include "serve_own_memory.h"

#include "serve_context.h"

enum { MEMORIES_MOST = 1024 }; /* of a context; in others problems keep their first kernels */

typedef struct memory_key {
  tuned_kernel *kernel; /* the problem's first */
  void *at;
} memory_key;

/* The kernel that the background put into k's place; NULL: none yet. */
static tuned_kernel *better_of(const tuned_kernel *k) {
  tuned_kernel *better = atomic_load_explicit(&k->better, memory_order_acquire);
  return better && better->is_from_background ? better : NULL;
}

size_t serve_own_memory_nbytes(const tuned_kernel *k) {
  const tuned_kernel *better = better_of(k);
  const size_t own = (size_t)k->info.workspace_nbytes,
               other = better ? (size_t)better->info.workspace_nbytes : 0;
  return own > other ? own : other;
}

static bool is_captured(const tuned_kernel *k, tuned_stream stream) {
  rt_device *d = k->owner->device;
  return d->ops->capturing && d->ops->capturing(d, stream);
}

static bool suits(const tuned_kernel *better, const void *at, size_t nbytes) {
  return at && nbytes >= (size_t)better->info.workspace_nbytes &&
         (uintptr_t)at % RT_WORKSPACE_ALIGNMENT == 0;
}

static int zero(const tuned_kernel *k, tuned_stream stream, void *at, err *e) {
  serve *s = k->owner;
  serve_turn_take(s);
  const int rc = s->device->ops->set(s->device, (rt_ptr)(uintptr_t)at, 0,
                                     (size_t)k->info.workspace_nbytes, stream, e);
  serve_turn_end(s);
  return rc;
}

static int take_over(const memory_key *key, tuned_kernel *better, tuned_stream stream, err *e) {
  TRY(zero(better, stream, key->at, e));
  return serve_table_put(&better->owner->own_memory, key, sizeof *key, better) ? 0 : err_nomem(e);
}

/* Under the context's lock.
 *   in  better  NULL: k is being captured */
static int settle(const memory_key *key, tuned_kernel *better, tuned_stream stream,
                  tuned_kernel **now, err *e) {
  tuned_kernel *k = key->kernel;
  serve_table *all = &k->owner->own_memory;
  if ((*now = serve_table_get(all, key, sizeof *key))) {
    return 0;
  }
  *now = k;
  if (all->n >= MEMORIES_MOST) {
    return 0;
  }
  if (!better) {
    return serve_table_put(all, key, sizeof *key, k) ? 0 : err_nomem(e);
  }
  *now = better;
  return take_over(key, better, stream, e);
}

/* In memory that no kernel has for good yet. */
static int decide(const memory_key *key, tuned_stream stream, size_t nbytes, tuned_kernel **now,
                  err *e) {
  tuned_kernel *k = key->kernel, *better = better_of(k);
  const bool captured = is_captured(k, stream);
  *now = k;
  if (captured ? !k->has_workspace : !better || !suits(better, key->at, nbytes)) {
    return 0;
  }
  pthread_mutex_lock(&k->owner->lock);
  const int rc = settle(key, captured ? NULL : better, stream, now, e);
  pthread_mutex_unlock(&k->owner->lock);
  return rc;
}

int serve_own_memory_kernel(tuned_kernel *k, tuned_stream stream, void *at, size_t nbytes,
                            tuned_kernel **now, err *e) {
  const memory_key key = {.kernel = k, .at = at};
  *now = serve_newest(k);
  if (*now != k && !(*now)->has_workspace) {
    return 0;
  }
  *now = serve_table_get(&k->owner->own_memory, &key, sizeof key);
  return *now ? 0 : decide(&key, stream, nbytes, now, e);
}
