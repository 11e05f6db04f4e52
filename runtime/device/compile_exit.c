#define _GNU_SOURCE
#include "compile_exit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* An NVRTC without nvrtcSetFlowCallback finishes what it compiles: a second or two. */
enum { WAIT_MOST_SEC = 10 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t left;
  size_t n_compiling;
  atomic_bool ending;
  pthread_once_t once;
} process = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void wait_for_compilations(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += WAIT_MOST_SEC;
  pthread_mutex_lock(&process.lock);
  atomic_store(&process.ending, true);
  int rc = 0;
  while (process.n_compiling && rc != ETIMEDOUT) {
    rc = pthread_cond_timedwait(&process.left, &process.lock, &until);
  }
  pthread_mutex_unlock(&process.lock);
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

static void watch(void) {
  pthread_atfork(before_fork, after_fork, in_child);
  atexit(wait_for_compilations);
}

void compile_exit_watch(void) {
  pthread_once(&process.once, watch);
}

bool compile_exit_enter(void) {
  pthread_mutex_lock(&process.lock);
  const bool goes_on = !atomic_load(&process.ending);
  process.n_compiling += goes_on;
  pthread_mutex_unlock(&process.lock);
  return goes_on;
}

void compile_exit_leave(void) {
  pthread_mutex_lock(&process.lock);
  process.n_compiling--;
  pthread_cond_broadcast(&process.left);
  pthread_mutex_unlock(&process.lock);
}

bool compile_exit_began(void) {
  return atomic_load(&process.ending);
}
