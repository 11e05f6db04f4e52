/* tuned_api.c -- the public calls: open and close a context, find, launch and describe a kernel;
 * memory helpers. Each returns an internal error as a tuned_error. */
#define _GNU_SOURCE
#include "tuned.h"

#include <string.h>

#include "background.h"
#include "serve_capture.h"
#include "serve_find.h"
#include "serve_handle.h"
#include "serve_kernel.h"
#include "serve_launch.h"
#include "serve_workspace.h"
#include "serve_own_memory.h"
#include "serve_online.h"
#include "serve_open.h"

/* ---- open and close ------------------------------------------------------------------------- */

/* A later field leaves no padding before it, since programs may leave anything there. */
_Static_assert(sizeof(tuned_options) - TUNED_OPTIONS_NBYTES < _Alignof(tuned_options) &&
                   sizeof(tuned_kernel_info) - TUNED_KERNEL_INFO_NBYTES <
                       _Alignof(tuned_kernel_info),
               "tuned.h names the last field of each");

/* Options that the program does not have stay 0; those that this library does not have must be. */
static int copy_options(const tuned_options *from, size_t nbytes, tuned_options *to, err *e) {
  const unsigned char *bytes = (const unsigned char *)from;
  *to = (tuned_options){0};
  for (size_t i = TUNED_OPTIONS_NBYTES; from && i < nbytes; i++) {
    if (bytes[i]) {
      return err_set(e, ERR_USAGE,
                     "tuned_open: the program sets an option that libtuned %s does not have; it "
                     "needs a later one",
                     TUNED_VERSION);
    }
  }
  if (from) {
    memcpy(to, from, nbytes < TUNED_OPTIONS_NBYTES ? nbytes : TUNED_OPTIONS_NBYTES);
  }
  return 0;
}

static int open_context(tuned_context **ctx, const tuned_options *options, size_t nbytes, err *e) {
  tuned_options o;
  serve *s;
  int rc;
  if (!ctx) {
    return err_set(e, ERR_USAGE, "tuned_open: ctx is NULL; give the address of a tuned_context *");
  }
  *ctx = NULL;
  TRY(copy_options(options, nbytes, &o, e));
  TRY(serve_open(&o, &s, e));
  rc = serve_capture_begin(s, e);
  if (!rc && !(*ctx = serve_handle_take(s))) {
    rc = err_set(e, ERR_LIMIT, "tuned_open: %d contexts are open already; close some",
                 SERVE_MAX_CONTEXTS);
  }
  if (rc) {
    serve_close(s);
  }
  return rc;
}

int tuned_open_sized(tuned_context **ctx, const tuned_options *options, size_t nbytes,
                     tuned_error *error) {
  err e;
  err_clear(&e);
  open_context(ctx, options, nbytes, &e);
  return serve_report(error, &e);
}

void tuned_close(tuned_context *ctx) {
  serve *s;
  if (!serve_of(ctx, &s, NULL) && atomic_compare_exchange_strong(&ctx->open, &s, NULL)) {
    serve_close(s);
  }
}

/* ---- kernels -------------------------------------------------------------------------------- */

static int find(tuned_context *ctx, const char *text, tuned_kernel **k, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  if (!text || !k) {
    return err_set(e, ERR_USAGE, "tuned_find: %s is NULL", text ? "kernel" : "problem");
  }
  if ((*k = serve_table_get(&s->front.kernels, text, strlen(text)))) {
    return 0;
  }
  pthread_mutex_lock(&s->lock);
  const int rc = serve_find_text(s, text, k, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int tuned_find(tuned_context *ctx, const char *problem, tuned_kernel **kernel, tuned_error *error) {
  err e;
  err_clear(&e);
  if (find(ctx, problem, kernel, &e) && kernel) {
    *kernel = NULL;
  }
  return serve_report(error, &e);
}

static int find_waiting(serve *s, const char *text, err *e) {
  tuned_kernel *k;
  pthread_mutex_lock(&s->lock);
  const int rc = serve_find_text(s, text, &k, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

static int prepare(serve *s, const char *text, err *e) {
  pthread_mutex_lock(&s->lock);
  const int rc = serve_prepare_text(s, text, e);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

static void wait_for_compilations(serve *s) {
  if (s->background) {
    background_wait(s->background);
  }
}

/* The error of the first that fails stays. */
static int each(serve *s, const char *const *problems, size_t n,
                int (*f)(serve *s, const char *text, err *e), err *e) {
  int first = 0;
  for (size_t i = 0; i < n; i++) {
    err why = {0};
    const int rc = f(s, problems[i], &why);
    if (rc && !first) {
      first = err_copy(e, rc, &why);
    }
  }
  return first;
}

/* After what is missing was compiled, all that find_waiting needs is at hand, but for forms that can't
 * be compiled. */
static int preload(tuned_context *ctx, const char *const *problems, size_t n, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  if (!problems && n) {
    return err_set(e, ERR_USAGE, "tuned_preload: problems is NULL");
  }
  for (size_t i = 0; i < n; i++) {
    if (!problems[i]) {
      return err_set(e, ERR_USAGE, "tuned_preload: problem %zu is NULL", i);
    }
  }
  each(s, problems, n, prepare, NULL);
  wait_for_compilations(s);
  TRY(each(s, problems, n, find_waiting, e));
  wait_for_compilations(s);
  return 0;
}

int tuned_preload(tuned_context *ctx, const char *const *problems, size_t n, tuned_error *error) {
  err e;
  err_clear(&e);
  preload(ctx, problems, n, &e);
  return serve_report(error, &e);
}

static int trim(tuned_context *ctx, tuned_stream stream, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  return serve_workspaces_trim(s, stream, e);
}

int tuned_trim(tuned_context *ctx, tuned_stream stream, tuned_error *error) {
  err e;
  err_clear(&e);
  trim(ctx, stream, &e);
  return serve_report(error, &e);
}

int tuned_launch(tuned_kernel *kernel, tuned_stream stream, const void *const *args,
                 tuned_error *error) {
  err e;
  err_clear(&e);
  if (!kernel) {
    err_set(&e, ERR_USAGE, "tuned_launch: the kernel is NULL; tuned_find finds one");
  } else if (!serve_check_launch(kernel, args, &e)) {
    serve_launch(kernel, stream, args, &e);
  }
  return serve_report(error, &e);
}

int tuned_launch_with(tuned_kernel *kernel, tuned_stream stream, const void *const *args,
                      void *workspace, size_t nbytes, tuned_error *error) {
  err e;
  err_clear(&e);
  if (!kernel) {
    err_set(&e, ERR_USAGE, "tuned_launch_with: the kernel is NULL; tuned_find finds one");
  } else if (!serve_check_launch(kernel, args, &e)) {
    serve_launch_with(kernel, stream, args, workspace, nbytes, &e);
  }
  return serve_report(error, &e);
}

int tuned_workspace_bytes(const tuned_kernel *kernel, size_t *nbytes, tuned_error *error) {
  err e;
  err_clear(&e);
  if (kernel && nbytes) {
    *nbytes = serve_own_memory_nbytes(kernel);
  } else {
    err_set(&e, ERR_USAGE, "tuned_workspace_bytes: %s is NULL", kernel ? "nbytes" : "the kernel");
  }
  return serve_report(error, &e);
}

/* Fields that this library does not have become 0. */
static void copy_info(const tuned_kernel_info *from, tuned_kernel_info *to, size_t nbytes) {
  const size_t n = nbytes < TUNED_KERNEL_INFO_NBYTES ? nbytes : TUNED_KERNEL_INFO_NBYTES;
  memcpy(to, from, n);
  memset((char *)to + n, 0, nbytes - n);
}

int tuned_info_sized(const tuned_kernel *kernel, tuned_kernel_info *info, size_t nbytes,
                     tuned_error *error) {
  err e;
  err_clear(&e);
  if (kernel && info) {
    const tuned_kernel *now = serve_newest(kernel);
    tuned_kernel_info full = now->info;
    full.better_pending = background_is_pending(now);
    copy_info(&full, info, nbytes);
  } else {
    err_set(&e, ERR_USAGE, "tuned_info: %s is NULL", kernel ? "info" : "the kernel");
  }
  return serve_report(error, &e);
}

const char *tuned_origin_name(tuned_origin origin) {
  static const char *const names[] = {
      [TUNED_EXACT] = "exact",     [TUNED_PORTFOLIO] = "portfolio",
      [TUNED_NEAREST] = "nearest", [TUNED_OTHER_DEVICE] = "other device",
      [TUNED_PRESET] = "preset",   [TUNED_DEFAULT] = "default",
      [TUNED_ONLINE] = "online"};
  return origin >= TUNED_EXACT && origin <= TUNED_ONLINE ? names[origin] : "unknown";
}

const char *tuned_version(void) {
  return TUNED_VERSION;
}

static int set_online(tuned_context *ctx, double fraction, err *e) {
  serve *s;
  TRY(serve_of(ctx, &s, e));
  if (!(fraction >= 0 && fraction <= 1)) {
    return err_set(e, ERR_USAGE,
                   "tuned_online: the share of the time is %g; it must lie between 0, off, and 1",
                   fraction);
  }
  return serve_online_set(s, fraction, e);
}

int tuned_online(tuned_context *ctx, double budget_fraction, tuned_error *error) {
  err e;
  err_clear(&e);
  set_online(ctx, budget_fraction, &e);
  return serve_report(error, &e);
}

/* ---- memory --------------------------------------------------------------------------------- */

static rt_ptr address_of(const void *p) {
  return (rt_ptr)(uintptr_t)p;
}

/* What the helpers have in common: an open context, else false, and the device's turn. */
static bool begin(tuned_context *ctx, serve **s, err *e) {
  err_clear(e);
  if (serve_of(ctx, s, e)) {
    *s = NULL;
    return false;
  }
  serve_turn_take(*s);
  return true;
}

static int end(serve *s, const err *e, tuned_error *error) {
  if (s) {
    serve_turn_end(s);
  }
  return serve_report(error, e);
}

int tuned_alloc(tuned_context *ctx, size_t nbytes, void **address, tuned_error *error) {
  err e;
  serve *s;
  rt_ptr p = 0;
  if (begin(ctx, &s, &e) && address) {
    s->device->ops->alloc(s->device, nbytes, &p, &e);
    *address = (void *)(uintptr_t)p;
  } else if (s) {
    err_set(&e, ERR_USAGE, "tuned_alloc: address is NULL");
  }
  return end(s, &e, error);
}

int tuned_free(tuned_context *ctx, void *address, tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    s->device->ops->give_back(s->device, address_of(address), &e);
  }
  return end(s, &e, error);
}

/* A copy of nothing needs no addresses. */
static int copyable(const void *to, const void *from, size_t nbytes, const char *function, err *e) {
  if (nbytes && (!to || !from)) {
    return err_set(e, ERR_USAGE, "%s: %s is NULL", function, to ? "from" : "to");
  }
  return 0;
}

int tuned_copy_to_device(tuned_context *ctx, void *to, const void *from, size_t nbytes,
                         tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e) && !copyable(to, from, nbytes, "tuned_copy_to_device", &e) && nbytes) {
    s->device->ops->copy_in(s->device, address_of(to), from, nbytes, NULL, &e);
  }
  return end(s, &e, error);
}

int tuned_copy_to_host(tuned_context *ctx, void *to, const void *from, size_t nbytes,
                       tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e) && !copyable(to, from, nbytes, "tuned_copy_to_host", &e) && nbytes) {
    s->device->ops->copy_out(s->device, to, address_of(from), nbytes, NULL, &e);
  }
  return end(s, &e, error);
}

int tuned_zero(tuned_context *ctx, tuned_stream stream, void *address, size_t nbytes,
               tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e) && nbytes && !address) {
    err_set(&e, ERR_USAGE, "tuned_zero: address is NULL");
  } else if (s && nbytes) {
    s->device->ops->set(s->device, address_of(address), 0, nbytes, stream, &e);
  }
  return end(s, &e, error);
}

int tuned_sync(tuned_context *ctx, tuned_stream stream, tuned_error *error) {
  err e;
  serve *s;
  if (begin(ctx, &s, &e)) {
    s->device->ops->stream_sync(s->device, stream, &e);
  }
  return end(s, &e, error);
}
