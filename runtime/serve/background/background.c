#define _GNU_SOURCE
#include "background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cached_compiler.h"
#include "compile_exit.h"
#include "serve_kernel.h"
#include "serve_launch.h"
#include "serve_make.h"
#include "threads.h"

enum { NICENESS = 10, CLOSE_MS = 50, TRIES_MOST = 6 };

/* A problem that waits for a better kernel. Launches read it without a lock, so it stays until the
 * context is closed. */
typedef struct pending {
  serve_detour detour;   /* first: the kernel points at it */
  struct pending *older; /* of the context */
  struct pending *next;  /* of the form */
  tuned_kernel *k;
  atomic_uint launches;
  background_want want; /* without the source */
  size_t tried;         /* candidates that could not be compiled or loaded */
} pending;

typedef struct form { /* to be compiled, or being compiled */
  struct form *next;
  str source;
  size_t body;
  char text[HASH_TEXT];
  bool is_running;
  pending *first;
} form;

struct background {
  serve *s;       /* gone once it is closing and n_in_context is 0 */
  int n_threads;  /* at most */
  rt_source like; /* of every form; its text is not */
  char arch[64];
  rt_format format;
  atomic_bool closing;

  pthread_mutex_t lock;                /* inside the context's */
  pthread_cond_t wake;                 /* the threads: there may be work */
  pthread_cond_t ended;                /* others: a form is done, or a thread has ended */
  int n_running, n_idle, n_in_context; /* threads: that there are, without work, in the context */
  bool is_closed;                      /* the last thread frees the struct */
  bool has_no_compiler;
  form *forms;
  pending *newest;
};

/* ---- what is wanted ------------------------------------------------------------------------- */

static const char *keep(background_want *want, const char *text, bool *ok) {
  const char *kept = text ? arena_text(&want->memory, text) : NULL;
  *ok = *ok && !kept == !text;
  return kept;
}

int background_want_of(background_want *want, serve_build *b, err *e) {
  bool ok = true;
  want->source = b->source;
  want->body = b->body;
  b->source = (str){0};
  memcpy(want->text, b->text, sizeof want->text);
  want->pick = b->pick;
  want->pick.problem = keep(want, b->pick.problem, &ok);
  want->pick.device_key = keep(want, b->pick.device_key, &ok);
  want->pick.image = NULL;
  return ok ? 0 : err_nomem(e);
}

void background_want_clear(background_want *want) {
  str_clear(&want->source);
  arena_clear(&want->memory);
}

/* ---- launches of a problem that waits ------------------------------------------------------- */

static bool is_captured(const tuned_kernel *k, tuned_stream stream) {
  rt_device *d = k->owner->device;
  return d->ops->capturing && d->ops->capturing(d, stream);
}

/* src  serve_detour.launch */
static bool launch(serve_detour *d, tuned_stream stream, const void *const *args, int *rc, err *e) {
  pending *p = (pending *)d;
  if (!atomic_load_explicit(&p->k->better, memory_order_acquire)) {
    atomic_fetch_add_explicit(&p->launches, 1, memory_order_relaxed);
    return false;
  }
  if (is_captured(p->k, stream)) {
    *rc = serve_launch_plain(p->k, stream, args, e);
    return true;
  }
  atomic_store_explicit(&p->k->detour, NULL, memory_order_release);
  return false;
}

bool background_is_pending(const tuned_kernel *k) {
  const serve_detour *d = atomic_load_explicit(&k->detour, memory_order_acquire);
  return d && d->launch == launch && !atomic_load_explicit(&k->better, memory_order_acquire);
}

/* ---- forms; under b->lock ------------------------------------------------------------------- */

static form *find_form(background *b, const char text[HASH_TEXT]) {
  form *f = b->forms;
  while (f && strcmp(f->text, text) != 0) {
    f = f->next;
  }
  return f;
}

static form *add_form(background *b, background_want *want) {
  form *f = calloc(1, sizeof *f);
  if (f) {
    f->source = want->source;
    f->body = want->body;
    want->source = (str){0};
    memcpy(f->text, want->text, sizeof f->text);
    f->next = b->forms;
    b->forms = f;
  }
  return f;
}

static void free_form(form *f) {
  str_clear(&f->source);
  free(f);
}

static void remove_form(background *b, form *f) {
  form **at = &b->forms;
  while (*at != f) {
    at = &(*at)->next;
  }
  *at = f->next;
  free_form(f);
}

static unsigned launches_of(const form *f) {
  unsigned n = 0;
  for (const pending *p = f->first; p; p = p->next) {
    n += 1 + atomic_load_explicit(&p->launches, memory_order_relaxed);
  }
  return n;
}

/* The oldest of those that are wanted most. */
static form *next_form(background *b) {
  form *best = NULL;
  unsigned most = 0;
  for (form *f = b->forms; f; f = f->next) {
    const unsigned n = f->is_running ? 0 : launches_of(f);
    if (!f->is_running && (!best || n >= most)) {
      best = f;
      most = n;
    }
  }
  return best;
}

/* ---- the better kernel; under the context's lock -------------------------------------------- */

static void give_up(pending *p) {
  atomic_store_explicit(&p->k->detour, NULL, memory_order_release);
}

static void replace(pending *p, tuned_kernel *better) {
  serve *s = p->k->owner;
  better->is_from_background = true;
  atomic_store_explicit(&p->k->better, better, memory_order_release);
  for (serve_hook *h = s->hooks; h; h = h->next) {
    if (h->replaced) {
      h->replaced(h, better);
    }
  }
}

/* After those that were tried: the next candidate. */
static int skip_tried(serve_make *m, const pending *p) {
  for (size_t i = 0; i < p->tried; i++) {
    TRY(serve_make_next(m, NULL));
  }
  return serve_make_next(m, NULL);
}

static int load_better(pending *p, serve_make *m) {
  const int rc = serve_make_load(m, SERVE_AT_HAND, NULL);
  if (rc == ERR_NOTFOUND) {
    background_want next = {0};
    next.is_wanted = !background_want_of(&next, &m->b, NULL);
    background_want_clear(&p->want);
    p->want = next;
  }
  return rc;
}

/* Of the form wanted, or after a failure of the next candidate: which may be at hand, else p->want says
 * what it needs. NULL: no kernel yet. */
static tuned_kernel *make_better(pending *p, const serve_given *given) {
  serve *s = p->k->owner;
  serve_make m;
  gen_problem problem;
  tuned_kernel *better = NULL;
  p->want.is_wanted = false;
  if (gen_problem_parse((gen_template *)p->k->t, p->k->info.problem, &problem, NULL)) {
    return NULL;
  }
  serve_turn_take(s);
  int rc = serve_make_begin(&m, s, p->k->family, &problem, p->k->info.problem, NULL);
  m.b.given = given;
  m.b.pick = p->want.pick;
  rc = rc || !p->tried ? rc : skip_tried(&m, p);
  rc = rc ? rc : load_better(p, &m);
  rc = rc ? rc : serve_make_kernel(&m, &better, NULL);
  serve_make_end(&m);
  serve_turn_end(s);
  return better;
}

static bool add_pending(background *b, pending *p);

/* The problem may go on waiting, for the next candidate's form. */
static void finish(background *b, pending *p, const form *f, const serve_given *given) {
  tuned_kernel *better = NULL;
  p->tried += !given;
  while (!better && p->tried < TRIES_MOST) {
    better = make_better(p, given);
    if (!better && p->want.is_wanted && strcmp(p->want.text, f->text) && add_pending(b, p)) {
      return;
    }
    p->tried++;
  }
  if (better) {
    replace(p, better);
  } else {
    give_up(p);
  }
}

/* given  NULL: it could not be compiled */
static void finish_form(background *b, form *f, const serve_given *given, serve_news *news) {
  serve *s = b->s;
  pthread_mutex_lock(&s->lock);
  for (pending *p = f->first, *next; p; p = next) {
    next = p->next;
    finish(b, p, f, given);
  }
  f->first = NULL;
  serve_make_news(s, news);
  pthread_mutex_unlock(&s->lock);
}

/* ---- the threads ---------------------------------------------------------------------------- */

static int compile(const background *b, rt_compiler *compiler, const form *f, arena *a,
                   rt_image *image) {
  rt_source source = b->like;
  source.text = str_text(&f->source);
  source.body = f->body;
  return rt_compile(compiler, &source, a, image, NULL);
}

static serve_given given_of(const background *b, const form *f, const rt_image *image) {
  const str *bytes = b->format == RT_CUBIN ? &image->cubin : &image->ptx;
  serve_given given = {
      .bytes = str_text(bytes), .nbytes = bytes->n, .spill = rt_log_spill(str_text(&image->log))};
  memcpy(given.text, f->text, sizeof given.text);
  return given;
}

/* Under b->lock, which is released meanwhile. */
static void enter_context(background *b, form *f, const serve_given *given, serve_news *news) {
  b->n_in_context++;
  pthread_mutex_unlock(&b->lock);
  finish_form(b, f, given, news);
  pthread_mutex_lock(&b->lock);
  b->n_in_context--;
}

/* Likewise. */
static void make_form(background *b, rt_compiler *compiler, form *f) {
  auto_arena a = {0};
  auto_image image;
  serve_news news = {0};
  rt_image_init(&image);
  f->is_running = true;
  pthread_mutex_unlock(&b->lock);
  const int rc = compile(b, compiler, f, &a, &image);
  pthread_mutex_lock(&b->lock);
  if (!atomic_load(&b->closing) && rc != ERR_INTERRUPTED) {
    const serve_given given = given_of(b, f, &image);
    enter_context(b, f, rc ? NULL : &given, &news);
  }
  remove_form(b, f);
  pthread_cond_broadcast(&b->ended);
  pthread_mutex_unlock(&b->lock);
  serve_news_write(&news);
  pthread_mutex_lock(&b->lock);
}

static void work(background *b, rt_compiler *compiler) {
  while (!atomic_load(&b->closing) && compile_exit_enter(true)) {
    form *f = next_form(b);
    if (f) {
      make_form(b, compiler, f);
    }
    compile_exit_leave();
    if (!f && !atomic_load(&b->closing)) {
      b->n_idle++;
      pthread_cond_wait(&b->wake, &b->lock);
      b->n_idle--;
    }
  }
}

/* Without a compiler the kernels at hand go on serving. */
static void drop_forms(background *b) {
  b->has_no_compiler = true;
  for (form *f; !atomic_load(&b->closing) && (f = next_form(b));) {
    for (pending *p = f->first; p; p = p->next) {
      give_up(p);
    }
    remove_form(b, f);
  }
  pthread_cond_broadcast(&b->ended);
}

static void free_background(background *b) {
  while (b->forms) {
    remove_form(b, b->forms);
  }
  pthread_cond_destroy(&b->wake);
  pthread_cond_destroy(&b->ended);
  pthread_mutex_destroy(&b->lock);
  free(b);
}

static void leave(background *b) {
  b->n_running--;
  const bool last = b->is_closed && !b->n_running;
  pthread_cond_broadcast(&b->ended);
  pthread_mutex_unlock(&b->lock);
  if (last) {
    free_background(b);
  }
}

static void *thread_main(void *arg) {
  background *b = arg;
  rt_compiler *compiler;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
  const int rc = cached_compiler_open(&compiler, NULL);
  pthread_mutex_lock(&b->lock);
  if (rc && rc != ERR_INTERRUPTED) {
    drop_forms(b);
  }
  if (!rc) {
    rt_compiler_stop_on(compiler, &b->closing);
    work(b, compiler);
    pthread_mutex_unlock(&b->lock);
    rt_compiler_close(compiler);
    pthread_mutex_lock(&b->lock);
  }
  leave(b);
  return NULL;
}

/* The program's signal handlers run in its own threads. */
static bool start_thread(background *b) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool ok = !threads_start(&thread, thread_main, b);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (ok) {
    pthread_detach(thread);
    b->n_running++;
  }
  return ok;
}

/* ---- adding and waiting --------------------------------------------------------------------- */

static bool may_add(background *b) {
  const bool wants_thread = !b->n_idle && b->n_running < b->n_threads;
  return !b->has_no_compiler && !atomic_load(&b->closing) &&
         (!wants_thread || start_thread(b) || b->n_running);
}

/* Under b->lock. */
static form *form_of(background *b, background_want *want) {
  form *f = find_form(b, want->text);
  return f ? f : add_form(b, want);
}

static bool add_pending(background *b, pending *p) {
  pthread_mutex_lock(&b->lock);
  form *f = b->has_no_compiler ? NULL : form_of(b, &p->want);
  if (f) {
    p->next = f->first;
    f->first = p;
    pthread_cond_signal(&b->wake);
  }
  pthread_mutex_unlock(&b->lock);
  return f;
}

static pending *new_pending(background *b, tuned_kernel *k, background_want *want) {
  pending *p = calloc(1, sizeof *p);
  if (p) {
    *p = (pending){.detour.launch = launch, .older = b->newest, .k = k, .want = *want};
    p->want.source = (str){0};
    want->memory = (arena){0};
    b->newest = p;
  }
  return p;
}

static void add(background *b, tuned_kernel *k, background_want *want) {
  form *f = form_of(b, want);
  pending *p = f && k ? new_pending(b, k, want) : NULL;
  if (p) {
    p->next = f->first;
    f->first = p;
    atomic_store_explicit(&k->detour, &p->detour, memory_order_release);
  }
}

void background_add(background *b, tuned_kernel *k, background_want *want) {
  pthread_mutex_lock(&b->lock);
  if (may_add(b)) {
    add(b, k, want);
    pthread_cond_signal(&b->wake);
  }
  pthread_mutex_unlock(&b->lock);
}

void background_wait(background *b) {
  pthread_mutex_lock(&b->lock);
  while (b->forms && b->n_running) {
    pthread_cond_wait(&b->ended, &b->lock);
  }
  pthread_mutex_unlock(&b->lock);
}

/* ---- its life ------------------------------------------------------------------------------- */

background *background_new(serve *s, int n_threads) {
  pthread_condattr_t clock;
  background *b = calloc(1, sizeof *b);
  if (!b) {
    return NULL;
  }
  compile_exit_watch();
  b->s = s;
  b->n_threads = n_threads;
  b->format = s->device->info.format;
  b->like = serve_build_source(s, NULL, 0);
  snprintf(b->arch, sizeof b->arch, "%s", b->like.arch);
  b->like.arch = b->arch;
  pthread_mutex_init(&b->lock, NULL);
  pthread_cond_init(&b->wake, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&b->ended, &clock);
  pthread_condattr_destroy(&clock);
  return b;
}

static struct timespec ms_from_now(long ms) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void wait_for_threads(background *b) {
  const struct timespec until = ms_from_now(CLOSE_MS);
  int rc = 0;
  while (b->n_running && rc != ETIMEDOUT) {
    rc = pthread_cond_timedwait(&b->ended, &b->lock, &until);
  }
  while (b->n_in_context) {
    pthread_cond_wait(&b->ended, &b->lock);
  }
}

static void free_pending(background *b) {
  for (pending *p = b->newest, *older; p; p = older) {
    older = p->older;
    background_want_clear(&p->want);
    free(p);
  }
  b->newest = NULL;
}

void background_close(background *b) {
  if (!b) {
    return;
  }
  pthread_mutex_lock(&b->lock);
  atomic_store(&b->closing, true);
  pthread_cond_broadcast(&b->wake);
  wait_for_threads(b);
  free_pending(b);
  b->is_closed = true;
  const bool last = !b->n_running;
  pthread_mutex_unlock(&b->lock);
  if (last) {
    free_background(b);
  }
}
