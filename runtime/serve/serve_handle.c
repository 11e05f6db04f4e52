#include "serve_handle.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

struct serve_process serve_process;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;

static void count_fork(void) {
  atomic_fetch_add_explicit(&serve_process.forks, 1, memory_order_relaxed);
}

static void start_watching(void) {
  pthread_atfork(NULL, NULL, count_fork);
}

unsigned serve_count_forks(void) {
  pthread_once(&watch_forks, start_watching);
  return atomic_load(&serve_process.forks);
}

int serve_check_fork(const serve_front *s, err *e) {
  if (s->forks == atomic_load_explicit(&serve_process.forks, memory_order_relaxed)) {
    return 0;
  }
  return err_set(
      e, ERR_USAGE,
      "the context was opened before a fork and can't be used in the child; open another "
      "there (with a GPU: fork before the first CUDA call)");
}

int serve_refuse_context(tuned_context *ctx, err *e) {
  const uintptr_t at = (uintptr_t)ctx - (uintptr_t)serve_process.handles;
  if (!ctx) {
    return err_set(e, ERR_USAGE, "the context is NULL; tuned_open makes one");
  }
  if (at >= sizeof serve_process.handles) {
    return err_set(e, ERR_USAGE, "this is no context; tuned_open makes one");
  }
  const serve *s = atomic_load_explicit(&ctx->open, memory_order_acquire);
  /* if the place is in use and not of a fork, another thread got it in the meantime */
  TRY(s ? serve_check_fork((const serve_front *)s, e) : 0);
  return err_set(e, ERR_USAGE, "the context is closed; open another with tuned_open");
}

tuned_context *serve_handle_take(serve *s) {
  for (unsigned i = 0; i < SERVE_MAX_CONTEXTS; i++) {
    const unsigned at = atomic_fetch_add(&serve_process.next_handle, 1) % SERVE_MAX_CONTEXTS;
    serve *none = NULL;
    if (atomic_compare_exchange_strong(&serve_process.handles[at].open, &none, s)) {
      return &serve_process.handles[at];
    }
  }
  return NULL;
}

/* ---- errors --------------------------------------------------------------------------------- */

static_assert(sizeof((tuned_error *)0)->message == sizeof((err *)0)->message, "same messages");
static_assert(sizeof((tuned_error *)0)->place == sizeof((err *)0)->place, "same places");
#define SAME_CODE(ours, theirs) static_assert((int)(ours) == (int)(theirs), "same codes")
SAME_CODE(ERR_USAGE, TUNED_E_USAGE);
SAME_CODE(ERR_DB, TUNED_E_DATABASE);
SAME_CODE(ERR_LAUNCH, TUNED_E_LAUNCH);
SAME_CODE(ERR_NOTFOUND, TUNED_E_NOTFOUND);
SAME_CODE(ERR_INTERRUPTED, TUNED_E_INTERRUPTED);

void serve_report_failure(tuned_error *to, const err *e) {
  strcpy(to->message, e->message);
  strcpy(to->place, e->place);
}
