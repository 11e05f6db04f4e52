/* bench_launch.c -- the host's time for tuned_sgemm beyond that of a bare launch.
 *
 *   bench_launch [--device 0|emu]
 *
 * The same kernel with the same arguments through the same driver function: short batches of typed
 * calls and of bare launches (cuLaunchKernel of libcuda itself) alternate, either first in turn.
 * The program waits for the device after each batch, so that it times the host and not a full
 * queue; the first launches after a wait, which find other things in the caches, do not count. The
 * result is the median of the differences within a round, and their quartiles: what slows the host
 * for longer than a round slows both. Part of the difference is the driver's question for the
 * current context: context_ns is that question alone; unasked_ns is the difference without it.
 *
 * An emulated device runs the kernel within the launch, so a stand-in takes the place of the
 * driver's function and only our own cost remains: first an empty stand-in, then (cold_ns) one that
 * evicts code, data and branch targets from the first-level caches, as a driver does.
 *
 * Prints one line of JSON; exit status 1 when the typed call costs 1 microsecond or more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "serve_context.h"
#include "file.h"

enum { FIRST = 4, BATCH = 20, ROUNDS = 2001, SIZE = 16 };

typedef int launch_function(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned smem, void *stream, void **args,
                            void **extra);

typedef struct bench {
  tuned_context *ctx;
  serve *s;
  rt_device_ops typed, straight, bare; /* the functions of the device with another launch */
  launch_function *driver;
  bool unasked;         /* which context is current */
  bool cold;            /* the stand-in is one that empties the caches */
  double left, between; /* when the stand-in returned; seconds from there to its next call */
  float *a, *b, *c;
  double bare_sec; /* of the batch just measured */
} bench;

static tuned_error failure;

#define must(rc, what) bench_must(rc, what, failure.message)

/* ---- launches ------------------------------------------------------------------------------- */

static bench *measured; /* a launch function gets only the device */

/* Takes the place of the device's launch: makes a batch of bare launches with the arguments of the
 * typed call. */
static int launch_bare(rt_device *d, rt_function *f, const uint32_t g[3], const uint32_t b[3],
                       uint32_t smem, rt_stream s, void **args, err *e) {
  double from = 0;
  int rc = 0;
  for (int i = -FIRST; i < BATCH; i++) {
    from = i ? from : now_sec();
    rc |= measured->driver(f, g[0], g[1], g[2], b[0], b[1], b[2], smem, s, args, NULL);
  }
  measured->bare_sec = now_sec() - from;
  (void)d;
  return rc ? err_set(e, ERR_LAUNCH, "the driver refused a bare launch") : 0;
}

typedef int current_function(void **context);

/* The cost of asking for the context of the thread, as every launch does. */
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

#if defined __x86_64__
/* 40 KB of code, every 16 bytes a jump. */
static void walk_code(void) {
  __asm__ volatile(".rept 2560\n\tjmp 1f\n\t.p2align 4\n1:\n\t.endr");
}
#else
static void walk_code(void) {}
#endif

static void empty_caches(void) {
  enum { LINE = 64 };
  static volatile char data[48 << 10];
  for (size_t i = 0; i < sizeof data; i += LINE) {
    data[i]++;
  }
  walk_code();
}

static int no_driver(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned smem, void *stream, void **args, void **extra) {
  (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)smem;
  (void)stream, (void)args, (void)extra;
  if (measured->cold) {
    measured->between += measured->left ? now_sec() - measured->left : 0;
    empty_caches();
    measured->left = now_sec();
  }
  return 0;
}

static int no_launch(rt_device *d, rt_function *f, const uint32_t g[3], const uint32_t b[3],
                     uint32_t smem, rt_stream s, void **args, err *e) {
  (void)d, (void)e;
  return no_driver(f, g[0], g[1], g[2], b[0], b[1], b[2], smem, s, args, NULL);
}

/* The device's launch without the question for the current context. */
static int launch_straight(rt_device *d, rt_function *f, const uint32_t g[3], const uint32_t b[3],
                           uint32_t smem, rt_stream s, void **args, err *e) {
  (void)d;
  return measured->driver(f, g[0], g[1], g[2], b[0], b[1], b[2], smem, s, args, NULL)
             ? err_set(e, ERR_LAUNCH, "the driver refused a launch")
             : 0;
}

static int call(const bench *b) {
  return tuned_sgemm(b->ctx, NULL, 'n', 'n', SIZE, SIZE, SIZE, 1, b->a, SIZE, b->b, SIZE, 0, b->c,
                     SIZE, &failure);
}

/* ---- timing --------------------------------------------------------------------------------- */

/* The time of a launch; without that of emptying the caches. */
static double per_launch(const bench *b, double sec) {
  return 1e9 * (b->cold ? b->between / (FIRST + BATCH - 1) : sec / BATCH);
}

static double time_typed(bench *b) {
  b->s->device->ops = b->unasked ? &b->straight : &b->typed;
  b->between = b->left = 0;
  double from = 0;
  int rc = 0;
  for (int i = -FIRST; i < BATCH; i++) {
    from = i ? from : now_sec();
    rc |= call(b);
  }
  const double sec = now_sec() - from;
  must(rc, "tuned_sgemm");
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
  return per_launch(b, sec);
}

static double time_bare(bench *b) {
  b->s->device->ops = &b->bare;
  b->between = b->left = 0;
  must(call(b), "tuned_sgemm");
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
  return per_launch(b, b->bare_sec);
}

typedef struct result { /* ns a launch */
  double bare, typed, difference, low, high;
} result;

static result compare(bench *b) {
  static double bare[ROUNDS], typed[ROUNDS], more[ROUNDS];
  double *lists[] = {bare, typed, more};
  for (int i = 0; i < ROUNDS; i++) {
    typed[i] = i % 2 ? time_typed(b) : 0;
    bare[i] = time_bare(b);
    typed[i] = i % 2 ? typed[i] : time_typed(b);
    more[i] = typed[i] - bare[i];
  }
  for (int i = 0; i < 3; i++) {
    qsort(lists[i], ROUNDS, sizeof *lists[i], bench_by_value);
  }
  return (result){bare[ROUNDS / 2], typed[ROUNDS / 2], more[ROUNDS / 2], more[ROUNDS / 4],
                  more[ROUNDS * 3 / 4]};
}

/* ---- setting up ----------------------------------------------------------------------------- */

static void set_launches(bench *b) {
  void *driver = b->s->one_at_a_time ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
  measured = b;
  b->typed = b->straight = b->bare = *b->s->device->ops;
  b->straight.launch = launch_straight;
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
  must(tuned_open(&b->ctx, &(tuned_options){.device = device, .wait = 1}, &failure), "tuned_open");
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
  set_up(&b, argc > 2 && !strcmp(argv[1], "--device") ? argv[2] : "0");
  const rt_device_ops *own = b.s->device->ops;
  const bool turns = b.s->one_at_a_time;
  b.s->one_at_a_time =
      false; /* launches of the emulated device are serialised; these need not be */
  const result warm = compare(&b);
  b.unasked = true;
  const double unasked = compare(&b).difference;
  b.unasked = false;
  b.cold = turns;
  const double cold = turns ? compare(&b).difference : 0;
  b.s->one_at_a_time = turns;
  b.s->device->ops = own;
  printf("{\"bench\": \"launch\", \"device\": \"%s\", \"bare_ns\": %.1f, \"tuned_sgemm_ns\": %.1f, "
         "\"difference_ns\": %.1f, \"quartiles_ns\": [%.1f, %.1f], \"context_ns\": %.1f, "
         "\"unasked_ns\": %.1f, "
         "\"cold_ns\": %.1f}\n",
         b.s->device->info.name, warm.bare, warm.typed, warm.difference, warm.low, warm.high,
         time_context(), unasked, cold);
  tuned_close(b.ctx);
  return warm.difference < 1000 ? 0 : 1;
}
