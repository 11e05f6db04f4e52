#define _GNU_SOURCE
#include "warm_cache.h"

#include <stdio.h>
#include <string.h>

#include "cached_compiler.h"
#include "file.h"
#include "image_cache.h"
#include "worker_pool.h"

enum { LARGEST = 256 << 10 };

typedef struct warming {
  const wanted_images *w;
  const warm_options *o;
  warm_state *s;
  rt_compiler *compiler;
  worker_pool pool;
  size_t next;
  int64_t held;    /* bytes in the cache */
  int64_t largest; /* image so far; at first a guess */
  double from;
} warming;

/* The handle is closed again, since none crosses a fork; which leaves one complete file, that others
 * can read where they cannot write. */
static int measure_cache(int64_t *nbytes, err *e) {
  auto_arena a = {0};
  const char *path;
  image_cache *cache;
  image_cache_totals totals;
  TRY(image_cache_path(&a, &path, e));
  TRY(image_cache_open(path, 0, &cache, e));
  const int rc = image_cache_stat(cache, &totals, e);
  image_cache_close(cache);
  *nbytes = totals.nbytes;
  return rc;
}

static int start_workers(warming *x, err *e) {
  const rt_info *device = x->o->device;
  compile_setting how = {.compiler = x->compiler, .lineinfo = device->format == RT_PTX};
  snprintf(how.arch, sizeof how.arch, "%s", device->arch);
  return worker_pool_open(&x->pool, &how, x->o->jobs, e);
}

/* Would the images under way, and one more, exceed the limit? */
static bool is_full(const warming *x) {
  const int64_t under_way = (int64_t)worker_pool_busy(&x->pool) + 1;
  return x->held + under_way * x->largest > x->o->limit;
}

static int start_idle(warming *x, err *e) {
  for (size_t i = 0; i < x->pool.n && x->next < x->w->n && !x->s->is_full; i++) {
    if (x->pool.jobs[i]) {
      continue;
    }
    if (is_full(x)) {
      x->s->is_full = true;
      break;
    }
    wanted_image *image = &x->w->items[x->next++];
    auto_str text = {0};
    str_add(&text, image->text);
    TRY(text.failed ? err_nomem(e) : 0);
    TRY(worker_pool_start(&x->pool, i, &text, image->body, image, e));
  }
  return 0;
}

static void tell(warming *x) {
  x->s->done++;
  x->s->sec = now_sec() - x->from;
  if (x->o->report) {
    x->o->report(x->o->self, x->s);
  }
}

static void fail(warming *x, const wanted_image *image, const err *why) {
  if (!x->s->failed++) {
    err_at(&x->s->why, ERR_COMPILE, why->place, "%s: %s", image->problem, why->message);
  }
  tell(x);
}

static void count(warming *x, const compiled *c) {
  const int64_t nbytes = (int64_t)(c->n_cubin + c->n_ptx + strlen(c->log));
  x->largest = nbytes > x->largest ? nbytes : x->largest;
  if (c->sec > 0) {
    x->s->made++;
    x->s->nbytes += nbytes;
    x->held += nbytes;
  } else {
    x->s->there++;
  }
  tell(x);
}

static int take(warming *x, size_t i, err *e) {
  const wanted_image *image = x->pool.jobs[i];
  auto_str frame = {0};
  compiled c;
  TRY(worker_pool_take(&x->pool, i, &frame, &c, e));
  c.why.code ? fail(x, image, &c.why) : count(x, &c);
  return 0;
}

static void kill_overdue(warming *x) {
  const double now = now_sec();
  err why = {0};
  err_set(&why, ERR_LIMIT, "compiling took longer than %.0f s", x->o->timeout_sec);
  for (size_t i = 0; i < x->pool.n; i++) {
    if (x->pool.jobs[i] && now - x->pool.workers[i].since > x->o->timeout_sec) {
      fail(x, worker_pool_kill(&x->pool, i), &why);
    }
  }
}

static int wait_for_some(warming *x, err *e) {
  enum { POLL_MS = 1000 };
  struct pollfd fds[WORKER_POOL_MOST];
  size_t which[WORKER_POOL_MOST];
  const size_t n = worker_pool_poll(&x->pool, fds, which, 0);
  if (poll(fds, n, POLL_MS) > 0) {
    for (size_t k = 0; k < n; k++) {
      if (fds[k].revents) {
        TRY(take(x, which[k], e));
      }
    }
  }
  kill_overdue(x);
  return 0;
}

static int compile_all(warming *x, err *e) {
  do {
    if (*x->o->stop) {
      return err_set(e, ERR_INTERRUPTED, "interrupted; the same command continues");
    }
    TRY(start_idle(x, e));
    TRY(worker_pool_busy(&x->pool) ? wait_for_some(x, e) : 0);
  } while (worker_pool_busy(&x->pool) || (x->next < x->w->n && !x->s->is_full));
  return 0;
}

static int run(warming *x, err *e) {
  TRY(measure_cache(&x->held, e));
  TRY(cached_compiler_open(&x->compiler, e));
  TRY(start_workers(x, e));
  return compile_all(x, e);
}

int warm_cache(const wanted_images *w, const warm_options *o, warm_state *s, err *e) {
  warming x = {.w = w, .o = o, .s = s, .largest = LARGEST, .from = now_sec()};
  *s = (warm_state){.n = w->n};
  const int rc = run(&x, e);
  worker_pool_close(&x.pool);
  rt_compiler_close(x.compiler);
  measure_cache(&x.held, NULL);
  s->sec = now_sec() - x.from;
  return rc;
}
