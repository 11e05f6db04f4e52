#define _GNU_SOURCE
#include "compile_exit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* An NVRTC without nvrtcSetFlowCallback finishes what it compiles: a second or two. */
enum { WAIT_MOST_SEC = 10 };
/* Some 60 registrations are made while a program is compiled. */
enum { REGISTRATIONS_MOST = 256 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t left;
  size_t n_compiling;
  atomic_bool main_ended; /* its own variables are destroyed; the program may go on without it */
  atomic_bool ending;
  atomic_int n_registered;
  pthread_once_t watched, entered;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .left = PTHREAD_COND_INITIALIZER,
             .watched = PTHREAD_ONCE_INIT,
             .entered = PTHREAD_ONCE_INIT};

static _Thread_local size_t n_compiling_here;

static void wait_for_compilations(void) {
  struct timespec until;
  if (n_compiling_here) { /* a signal's handler calls exit: this compilation will not go on */
    return;
  }
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += WAIT_MOST_SEC;
  pthread_mutex_lock(&process.lock);
  int rc = 0;
  while (process.n_compiling && rc != ETIMEDOUT) {
    rc = pthread_cond_timedwait(&process.left, &process.lock, &until);
  }
  pthread_mutex_unlock(&process.lock);
}

static void at_exit(void) {
  atomic_store(&process.ending, true);
  wait_for_compilations();
}

static void at_end_of_main(void *unused) {
  (void)unused;
  atomic_store(&process.main_ended, true);
  wait_for_compilations();
}

/* Of glibc: what C++ registers the destructor of a thread_local variable with. */
extern int __cxa_thread_atexit_impl(void (*f)(void *), void *object, void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void watch_main(void) {
  __cxa_thread_atexit_impl(at_end_of_main, NULL, &__dso_handle);
}

void compile_exit_watch(void) {
  if (gettid() == getpid()) {
    pthread_once(&process.watched, watch_main);
  }
}

static void before_fork(void) {
  pthread_mutex_lock(&process.lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&process.lock);
}

/* The child has none of the other threads. */
static void in_child(void) {
  process.n_compiling = 0;
  pthread_mutex_unlock(&process.lock);
}

static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork, in_child);
}

bool compile_exit_enter(bool behind) {
  pthread_once(&process.entered, watch_forks);
  compile_exit_register();
  pthread_mutex_lock(&process.lock);
  const bool goes_on = !compile_exit_began(behind);
  process.n_compiling += goes_on;
  n_compiling_here += goes_on;
  pthread_mutex_unlock(&process.lock);
  return goes_on;
}

void compile_exit_leave(void) {
  pthread_mutex_lock(&process.lock);
  process.n_compiling--;
  n_compiling_here--;
  pthread_cond_broadcast(&process.left);
  pthread_mutex_unlock(&process.lock);
}

void compile_exit_register(void) {
  if (atomic_fetch_add(&process.n_registered, 1) < REGISTRATIONS_MOST) {
    atexit(at_exit);
  }
}

bool compile_exit_began(bool behind) {
  return atomic_load(&process.ending) || (behind && atomic_load(&process.main_ended));
}
