#include "serve_launch.h"

#include "serve_handle.h"
#include "serve_kernel.h"
#include "serve_own_memory.h"
#include "serve_workspace.h"

int serve_check_launch(const tuned_kernel *k, const void *const *args, err *e) {
  TRY(serve_check_fork(&k->owner->front, e));
  if (k->prepares && !k->is_empty) {
    return err_set(e, ERR_USAGE,
                   "%s: this kernel reads what a plan has prepared; tuned_plan_new, tuned_plan_run",
                   k->t->name);
  }
  return k->is_empty ? 0 : serve_args_missing(k->t, k->needs, args, e);
}

/* Out of line: the template is in another cache line than what a launch reads. */
static __attribute__((cold, noinline)) int refuse_addresses(const tuned_kernel *k,
                                                            const void *const *args, err *e) {
  return serve_addresses_refuse(k->t, &k->addresses, args, e);
}

static inline int check_addresses(const tuned_kernel *k, const void *const *args, err *e) {
  return serve_addresses_valid(&k->addresses, args) ? 0 : refuse_addresses(k, args, e);
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
  serve_workspace *w;
  TRY(serve_workspace_get(k, stream, &w, e));
  pthread_mutex_lock(&w->turn);
  int rc = w->at ? 0 : serve_workspace_renew(w, e);
  rc = rc ? rc : launch(k, stream, args, w->at, e);
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

static void tell_hook(tuned_kernel *k, tuned_stream stream, const void *const *args) {
  serve_hook *h = k->owner->sees_launches;
  if (h) {
    h->launch(h, k, stream, args);
  }
}

/* In a capture no scratch memory can be made: what was launched on the stream before serves. */
static bool lacks_workspace(tuned_kernel *k, tuned_stream stream) {
  rt_device *d = k->owner->device;
  return k->has_workspace && !serve_workspace_exists(k, stream) && d->ops->capturing &&
         d->ops->capturing(d, stream);
}

static __attribute__((noinline)) int launch_better(tuned_kernel *k, tuned_kernel *better,
                                                   tuned_stream stream, const void *const *args,
                                                   err *e) {
  serve_detour *detour = atomic_load_explicit(&better->detour, memory_order_acquire);
  tuned_kernel *now = serve_newest(better);
  int rc;
  if (lacks_workspace(now, stream)) {
    return launch_plain(k, stream, args, e);
  }
  return detour && detour->launch(detour, stream, args, &rc, e)
             ? rc
             : launch_plain(now, stream, args, e);
}

static inline __attribute__((always_inline)) int
launch_checked(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e) {
  if (k->is_empty) {
    return 0;
  }
  TRY(check_addresses(k, args, e));
  tell_hook(k, stream, args);
  serve_detour *detour = atomic_load_explicit(&k->detour, memory_order_acquire);
  int rc;
  if (detour && detour->launch(detour, stream, args, &rc, e)) {
    return rc;
  }
  tuned_kernel *better = atomic_load_explicit(&k->better, memory_order_acquire);
  return better ? launch_better(k, better, stream, args, e) : launch_plain(k, stream, args, e);
}

int serve_launch(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e) {
  return launch_checked(k, stream, args, e);
}

int serve_launch_known(tuned_kernel *k, tuned_stream stream, const void *const *args,
                       tuned_error *error) {
  err e;
  e.code = 0; /* err_set writes the rest when there is an error */
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

static bool may_be_replaced(const tuned_kernel *k) {
  return atomic_load_explicit(&k->detour, memory_order_acquire) ||
         atomic_load_explicit(&k->better, memory_order_acquire);
}

int serve_launch_with(tuned_kernel *k, tuned_stream stream, const void *const *args, void *at,
                      size_t nbytes, err *e) {
  if (k->is_empty) {
    return 0;
  }
  TRY(check_addresses(k, args, e));
  TRY(check_workspace(k, at, nbytes, e));
  tell_hook(k, stream, args);
  tuned_kernel *now = k;
  if (may_be_replaced(k)) {
    TRY(serve_own_memory_kernel(k, stream, at, nbytes, &now, e));
  }
  return launch(now, stream, args, (rt_ptr)(uintptr_t)at, e);
}
