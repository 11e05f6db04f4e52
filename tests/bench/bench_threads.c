/* bench_threads.c -- one context, 1 to 64 threads: the cost of a typed call while others call too.
 *
 *   bench_threads [--device 0|emu] [--most 64]
 *
 * Every thread calls tuned_saxpy for one of 16 small problems whose kernels are found already and
 * need no workspace. First an empty function takes the place of the driver's launch: only our own
 * look-up remains, which writes nothing that is shared, so calls per second grow with the threads
 * as far as there are cores. Then, on a GPU, with real launches and a stream for each thread.
 *
 * Prints a line of JSON for each number of threads. Exit status 1 when the look-ups of one thread
 * per core (at most 16) are together less than half as many times as fast as those of one
 * thread. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_tools.h"
#include "serve_context.h"
#include "file.h"

enum { PROBLEMS = 16, SIZE = 1024, MOST = 64, BARE = 400000, REAL = 4000 };

typedef struct bench {
  tuned_context *ctx;
  serve *s;
  rt_device_ops empty;
  float *x, *y;
  int calls;
  pthread_barrier_t start;
} bench;

typedef struct caller {
  bench *b;
  int number;
  rt_stream stream;
  double sec;
} caller;

static tuned_error failure;

#define must(rc, what) bench_must(rc, what, failure.message)

static int no_launch(rt_device *d, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                     uint32_t smem, rt_stream s, void **args, err *e) {
  (void)d, (void)f, (void)grid, (void)block, (void)smem, (void)s, (void)args, (void)e;
  return 0;
}

static int call(const bench *b, rt_stream stream, int i) {
  return tuned_saxpy(b->ctx, stream, SIZE - i % PROBLEMS, 1, b->x, b->y, NULL);
}

static void *run(void *arg) {
  caller *c = arg;
  int rc = 0;
  pthread_barrier_wait(&c->b->start);
  const double from = now_sec();
  for (int i = 0; i < c->b->calls; i++) {
    rc |= call(c->b, c->stream, i + c->number);
  }
  c->sec = now_sec() - from;
  must(rc, "tuned_saxpy");
  return NULL;
}

/* Calls per second of n threads together. */
static double rate(bench *b, int n, bool streams) {
  pthread_t threads[MOST];
  caller callers[MOST];
  err e = {0};
  double longest = 0;
  pthread_barrier_init(&b->start, NULL, (unsigned)n);
  for (int i = 0; i < n; i++) {
    callers[i] = (caller){.b = b, .number = i};
    if (streams && b->s->device->ops->stream_new(b->s->device, &callers[i].stream, &e)) {
      exit(1);
    }
    pthread_create(&threads[i], NULL, run, &callers[i]);
  }
  for (int i = 0; i < n; i++) {
    pthread_join(threads[i], NULL);
    longest = callers[i].sec > longest ? callers[i].sec : longest;
  }
  for (int i = 0; streams && i < n; i++) {
    must(tuned_sync(b->ctx, callers[i].stream, &failure), "waiting");
    b->s->device->ops->stream_free(b->s->device, callers[i].stream);
  }
  pthread_barrier_destroy(&b->start);
  return (double)n * b->calls / longest;
}

static double lookup_rate(bench *b, int n) {
  const rt_device_ops *own = b->s->device->ops;
  const bool turns = b->s->one_at_a_time;
  b->empty = *own;
  b->empty.launch = no_launch;
  b->s->device->ops = &b->empty;
  b->s->one_at_a_time =
      false; /* launches of the emulated device are serialised; these need not be */
  b->calls = BARE / (n < 8 ? 1 : 8);
  const double r = rate(b, n, false);
  b->s->device->ops = own;
  b->s->one_at_a_time = turns;
  return r;
}

static void set_up(bench *b, const char *device) {
  must(tuned_open(&b->ctx, &(tuned_options){.device = device, .wait = 1}, &failure), "tuned_open");
  must(serve_of(b->ctx, &b->s, NULL), "the context");
  float **vectors[] = {&b->x, &b->y};
  for (int i = 0; i < 2; i++) {
    void *p;
    static const float zeros[SIZE];
    must(tuned_alloc(b->ctx, sizeof zeros, &p, &failure), "tuned_alloc");
    must(tuned_copy_to_device(b->ctx, p, zeros, sizeof zeros, &failure), "copying");
    *vectors[i] = p;
  }
  for (int i = 0; i < PROBLEMS; i++) {
    must(call(b, NULL, i), "tuned_saxpy");
  }
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
}

int main(int argc, char **argv) {
  static bench b;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const int most = atoi(bench_option(argc, argv, "--most", "64"));
  double one = 0, at_cores = 0;
  int judged = 1;
  set_up(&b, bench_option(argc, argv, "--device", "0"));
  const bool gpu = !b.s->one_at_a_time;
  for (int n = 1; n <= most && n <= MOST; n *= 2) {
    const double lookup = lookup_rate(&b, n);
    b.calls = REAL;
    const double real = gpu ? rate(&b, n, true) : 0;
    one = n == 1 ? lookup : one;
    if (n <= cores && n <= 16) {
      at_cores = lookup;
      judged = n;
    }
    printf("{\"bench\": \"threads\", \"device\": \"%s\", \"threads\": %d, \"lookup_ns\": %.1f, "
           "\"lookups_per_us\": %.1f, \"launch_ns\": %.0f, \"launches_per_us\": %.2f}\n",
           b.s->device->info.name, n, 1e9 * n / lookup, lookup / 1e6, real > 0 ? 1e9 * n / real : 0,
           real / 1e6);
  }
  tuned_close(b.ctx);
  return at_cores >= one * judged / 2 ? 0 : 1;
}
