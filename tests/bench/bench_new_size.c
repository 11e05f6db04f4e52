/* bench_new_size.c -- what a problem costs the host that neither this process nor its database has
 * seen, where the shipped portfolio serves it.
 *
 *   bench_new_size [--device 0|emu] [--sizes 400] [--most 2048] [--step 1]
 *                  [--sec 60]
 *
 * $TUNED_DB names a file that is absent. Problems of sgemm, their m, n and k drawn evenly over the
 * octaves from 16 to MOST, multiples of STEP, are asked for by the typed call's own look-up: from
 * the fields to a kernel that could be launched. Some need a module that is not loaded yet, and
 * compile it: these are told apart, by what the context holds afterwards, and the others counted.
 *
 * Prints one line of JSON: microseconds a new size, the median, the 90th percentile and the most,
 * how many sizes and how many needed a module. Exit status 1 when the median is 100 us or over. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "file.h"

enum { SIZES_MOST = 20000 };

typedef struct bench {
  tuned_context *ctx;
  serve *s;
  gen_template *t;
  double most;
  int64_t step;
  uint64_t seed;
  double us[SIZES_MOST];
  size_t n, n_loaded; /* timed; those that needed a module */
  size_t by_origin[TUNED_DEFAULT + 1];
} bench;

static tuned_error failure;

static void must(int rc, const char *what) {
  if (rc) {
    fprintf(stderr, "bench_new_size: %s: %s\n", what, failure.message);
    exit(1);
  }
}

/* Of Knuth's MMIX, the upper half. */
static double even(bench *b) {
  b->seed = b->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(b->seed >> 32) / 4294967296.0;
}

static int64_t side(bench *b) {
  const double v = 16 * exp2(even(b) * log2(b->most / 16));
  return b->step * (int64_t)ceil(v / (double)b->step);
}

static void ask(bench *b) {
  char problem[100];
  tuned_kernel *k;
  tuned_kernel_info info;
  const long long m = side(b), n = side(b), depth = side(b);
  snprintf(problem, sizeof problem, "sgemm m=%lld n=%lld k=%lld", m, n, depth);
  const size_t before = b->s->images.n;
  const double from = now_sec();
  must(tuned_find(b->ctx, problem, &k, &failure), problem);
  const double us = 1e6 * (now_sec() - from);
  must(tuned_info(k, &info, &failure), "tuned_info");
  b->by_origin[info.origin]++;
  if (b->s->images.n != before) {
    b->n_loaded++;
  } else {
    b->us[b->n++] = us;
  }
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
  for (int i = 1; i + 1 < argc; i++) {
    if (!strcmp(argv[i], name)) {
      return argv[i + 1];
    }
  }
  return otherwise;
}

int main(int argc, char **argv) {
  static bench b;
  const size_t sizes = (size_t)atoi(option(argc, argv, "--sizes", "400"));
  const double until = now_sec() + atof(option(argc, argv, "--sec", "60"));
  b.most = atof(option(argc, argv, "--most", "2048"));
  b.step = atoi(option(argc, argv, "--step", "1"));
  must(
      tuned_open(&b.ctx, &(tuned_options){.device = option(argc, argv, "--device", "0")}, &failure),
      "tuned_open");
  must(serve_of(b.ctx, &b.s, NULL), "the context");
  for (size_t i = 0; i < sizes && i < SIZES_MOST && now_sec() < until; i++) {
    ask(&b);
  }
  qsort(b.us, b.n, sizeof *b.us, by_value);
  printf("{\"bench\": \"new_size\", \"device\": \"%s\", \"sizes\": %zu, \"needed_a_module\": %zu, "
         "\"portfolio\": %zu, \"median_us\": %.1f, \"p90_us\": %.1f, \"most_us\": %.1f}\n",
         b.s->device->info.name, b.n, b.n_loaded, b.by_origin[TUNED_PORTFOLIO], b.us[b.n / 2],
         b.us[b.n * 9 / 10], b.n ? b.us[b.n - 1] : 0);
  tuned_close(b.ctx);
  return b.n && b.us[b.n / 2] < 100 ? 0 : 1;
}
