#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MOST = 256, STACK_LEAST = 8 << 20 };

int threads_start(pthread_t *t, void *(*work)(void *), void *arg) {
  pthread_attr_t attr;
  size_t stack = 0;
  if (pthread_attr_init(&attr)) {
    return -1;
  }
  pthread_attr_getstacksize(&attr, &stack);
  if (stack < STACK_LEAST) {
    pthread_attr_setstacksize(&attr, STACK_LEAST);
  }
  const int rc = pthread_create(t, &attr, work, arg);
  pthread_attr_destroy(&attr);
  return rc;
}

typedef struct parallel_loop {
  size_t n;
  void (*one)(void *, size_t);
  void *self;
  atomic_size_t next;
} parallel_loop;

static void *work(void *arg) {
  parallel_loop *loop = arg;
  size_t i;
  while ((i = atomic_fetch_add(&loop->next, 1)) < loop->n) {
    loop->one(loop->self, i);
  }
  return NULL;
}

void threads_each(size_t n, size_t threads, void (*one)(void *self, size_t i), void *self) {
  parallel_loop loop = {.n = n, .one = one, .self = self};
  pthread_t started[THREADS_MOST];
  size_t n_started = 0;
  const size_t wanted = threads < n ? threads : n;
  while (n_started + 1 < wanted && n_started < THREADS_MOST &&
         !threads_start(&started[n_started], work, &loop)) {
    n_started++;
  }
  work(&loop);
  for (size_t i = 0; i < n_started; i++) {
    pthread_join(started[i], NULL);
  }
}

size_t threads_cores(void) {
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (size_t)n : 1;
}
