/* bench_launch.c -- what tuned_sgemm costs the host beyond a bare launch.
 *
 *   bench_launch [--device 0|emu]
 *
 * The same kernel with the same arguments through the same driver function, in turns: a batch of
 * typed calls, a batch of bare launches (cuLaunchKernel, from libcuda itself); the medians over the
 * rounds are compared. The problem is tiny and the device is waited for between batches, so that it
 * is the host that is timed and not a full queue. An emulated device runs the kernel within the
 * launch, so there an empty function stands in for the driver's, and what remains is our own cost.
 * Of that difference the question which context is current is the driver's part: context_ns.
 *
 * Prints one line of JSON; exit status 1 when the typed call costs 1 microsecond more or over. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "file.h"

enum { BATCH = 200, ROUNDS = 301, SIZE = 16 };

typedef int launch_function(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned smem, void *stream, void **args,
                            void **extra);

typedef struct bench {
  tuned_context *ctx;
  serve *s;
  rt_device_ops typed, bare; /* the device's own functions, but for the launch */
  launch_function *driver;
  float *a, *b, *c;
  double bare_ns; /* of the batch just measured, all stages */
} bench;

static tuned_error failure;

static void must(int rc, const char *what) {
  if (rc) {
    fprintf(stderr, "bench_launch: %s: %s\n", what, failure.message);
    exit(1);
  }
}

/* ---- launches ------------------------------------------------------------------------------- */

static bench *measured; /* a launch function gets no more than the device */

/* In place of the device's launch: a batch of bare ones with what the typed call hands over. */
static int launch_bare(rt_device *d, rt_function *f, const uint32_t g[3], const uint32_t b[3],
                       uint32_t smem, rt_stream s, void **args, err *e) {
  const double from = now_sec();
  int rc = 0;
  for (int i = 0; i < BATCH; i++) {
    rc |= measured->driver(f, g[0], g[1], g[2], b[0], b[1], b[2], smem, s, args, NULL);
  }
  measured->bare_ns += 1e9 * (now_sec() - from) / BATCH;
  (void)d;
  return rc ? err_set(e, ERR_LAUNCH, "the driver refused a bare launch") : 0;
}

typedef int current_function(void **context);

/* What asking for the thread's context costs, as every launch does. */
static double time_context(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *context;
  current_function *current = NULL;
  *(void **)&current = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
  const double from = now_sec();
  for (int i = 0; current && i < BATCH * ROUNDS; i++) {
    current(&context);
  }
  return current ? 1e9 * (now_sec() - from) / (BATCH * ROUNDS) : 0;
}

static int no_launch(rt_device *d, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                     uint32_t smem, rt_stream s, void **args, err *e) {
  (void)d, (void)f, (void)grid, (void)block, (void)smem, (void)s, (void)args, (void)e;
  return 0;
}

static int no_driver(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned smem, void *stream, void **args, void **extra) {
  (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)smem;
  (void)stream, (void)args, (void)extra;
  return 0;
}

static int call(const bench *b) {
  return tuned_sgemm(b->ctx, NULL, 'n', 'n', SIZE, SIZE, SIZE, 1, b->a, SIZE, b->b, SIZE, 0, b->c,
                     SIZE, &failure);
}

/* ---- timing --------------------------------------------------------------------------------- */

static double time_typed(bench *b) {
  b->s->device->ops = &b->typed;
  const double from = now_sec();
  int rc = 0;
  for (int i = 0; i < BATCH; i++) {
    rc |= call(b);
  }
  const double sec = now_sec() - from;
  must(rc, "tuned_sgemm");
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
  return 1e9 * sec / BATCH;
}

static double time_bare(bench *b) {
  b->s->device->ops = &b->bare;
  b->bare_ns = 0;
  must(call(b), "tuned_sgemm");
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
  return b->bare_ns;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *list) {
  qsort(list, ROUNDS, sizeof *list, by_value);
  return list[ROUNDS / 2];
}

/* ---- setting up ----------------------------------------------------------------------------- */

static void set_launches(bench *b) {
  void *driver = b->s->one_at_a_time ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
  measured = b;
  b->typed = b->bare = *b->s->device->ops;
  b->bare.launch = launch_bare;
  b->driver = no_driver;
  if (driver) {
    *(void **)&b->driver = dlsym(driver, "cuLaunchKernel");
  } else {
    b->typed.launch = no_launch;
  }
}

static float *zeros(bench *b) {
  static const float host[SIZE * SIZE];
  void *p;
  must(tuned_alloc(b->ctx, sizeof host, &p, &failure), "tuned_alloc");
  must(tuned_copy_to_device(b->ctx, p, host, sizeof host, &failure), "tuned_copy_to_device");
  return p;
}

static void set_up(bench *b, const char *device) {
  must(tuned_open(&b->ctx, &(tuned_options){.device = device}, &failure), "tuned_open");
  must(serve_of(b->ctx, &b->s, NULL), "the context");
  b->a = zeros(b);
  b->b = zeros(b);
  b->c = zeros(b);
  must(call(b), "tuned_sgemm"); /* found, and run once for real */
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
  set_launches(b);
}

int main(int argc, char **argv) {
  static bench b;
  static double bare[ROUNDS], typed[ROUNDS];
  set_up(&b, argc > 2 && !strcmp(argv[1], "--device") ? argv[2] : "0");
  const rt_device_ops *own = b.s->device->ops;
  for (int i = 0; i < ROUNDS; i++) {
    bare[i] = time_bare(&b);
    typed[i] = time_typed(&b);
  }
  b.s->device->ops = own;
  const double x = median(bare), y = median(typed);
  printf("{\"bench\": \"launch\", \"device\": \"%s\", \"bare_ns\": %.1f, \"tuned_sgemm_ns\": %.1f, "
         "\"difference_ns\": %.1f, \"context_ns\": %.1f}\n",
         b.s->device->info.name, x, y, y - x, time_context());
  tuned_close(b.ctx);
  return y - x < 1000 ? 0 : 1;
}
