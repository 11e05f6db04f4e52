/* bench_online.c -- tuning while a program runs: what it gains, and what it costs meanwhile.
 *
 *   bench_online [--device 0|emu] [--share 0.1] [--sec 10] [--size 1000] [--presets no]
 *
 * A program multiplies SIZE x SIZE matrices again and again, with nothing tuned ($TUNED_DB names a
 * file that does not exist); without presets it begins with the template's default. It runs for a
 * tenth of the seconds without tuning; then with tuned_online and this share of the time, until the
 * problem settles or eight tenths are over; then a tenth again. Every hundredth result is compared
 * with the first.
 *
 * Reports progress on standard error. Prints one line of JSON: microseconds of a call before,
 * during (trials included) and after tuning; the share of the time that trials took; the number of
 * variants tried, how many of them replaced the served one, and when the last did; calls and
 * seconds until it settled; calls slower than twice the first median; and the largest difference of
 * a result. Exit status 1 when a result is wrong, or when trials took more than twice their share
 * of the time. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "serve_handle.h"
#include "serve_kernel.h"
#include "serve_online.h"
#include "file.h"

typedef struct bench {
  tuned_context *ctx;
  serve *s;
  int size;
  float *a, *b, *c;
  float *first, *now; /* on the host */
  double worst;
  size_t better;      /* variants that replaced the served one */
  double last_better; /* seconds after tuning began */
} bench;

static tuned_error failure;

#define must(rc, what) bench_must(rc, what, failure.message)

static float *matrix(bench *b, bool random) {
  const size_t n = (size_t)b->size * (size_t)b->size;
  float *host = calloc(n, sizeof *host);
  void *p;
  for (size_t i = 0; random && i < n; i++) {
    host[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
  }
  must(tuned_alloc(b->ctx, n * sizeof *host, &p, &failure), "tuned_alloc");
  must(tuned_copy_to_device(b->ctx, p, host, n * sizeof *host, &failure), "copying");
  free(host);
  return p;
}

/* Microseconds until the result is there. */
static double call(bench *b) {
  const double from = now_sec();
  must(tuned_sgemm(b->ctx, NULL, 'n', 'n', b->size, b->size, b->size, 1, b->a, b->size, b->b,
                   b->size, 0, b->c, b->size, &failure),
       "tuned_sgemm");
  must(tuned_sync(b->ctx, NULL, &failure), "waiting");
  return 1e6 * (now_sec() - from);
}

static void check(bench *b) {
  const size_t n = (size_t)b->size * (size_t)b->size;
  must(tuned_copy_to_host(b->ctx, b->now, b->c, n * sizeof *b->now, &failure), "copying");
  for (size_t i = 0; i < n; i++) {
    b->worst = fmax(b->worst, fabs((double)b->now[i] - b->first[i]));
  }
}

enum { CALLS_MOST = 4000000 };
static double us[CALLS_MOST];

static void tell(const bench *b, const tuned_kernel *k, double sec, size_t calls) {
  serve_online_tally t;
  if (serve_online_tell(b->s, k, &t)) {
    fprintf(
        stderr,
        "%5.1f s: %zu calls, %zu variants tried, the last %zu no better, %.1f %% of the time, a "
        "call %.1f us\n",
        sec, calls, t.tried, t.stale, 100 * t.spent_sec / sec, us[calls - 1]);
  }
}

static void note_better(bench *b, const tuned_kernel *k, double sec) {
  serve_online_tally t;
  if (serve_online_tell(b->s, k, &t) && t.better != b->better) {
    b->better = t.better;
    b->last_better = sec;
  }
}

/* Runs for `sec` seconds, or until the problem has settled; checks every hundredth result. */
static size_t run(bench *b, double sec, tuned_kernel *until, double *mean) {
  const double from = now_sec();
  size_t n = 0;
  double sum = 0, told = 0, now = 0;
  while (n < CALLS_MOST && now < sec && (!until || atomic_load(&until->detour))) {
    us[n] = call(b);
    sum += us[n++];
    if (n % 100 == 0) {
      check(b);
    }
    now = now_sec() - from;
    if (until && n % 20 == 0) {
      note_better(b, until, now);
    }
    if (until && now > told + 1) {
      told = now;
      tell(b, until, now, n);
    }
  }
  *mean = n ? sum / (double)n : 0;
  return n;
}

static void set_up(bench *b, const char *device, bool presets) {
  static const gen_file none[] = {{NULL, NULL, 0}};
  const size_t n = (size_t)b->size * (size_t)b->size;
  const tuned_options o = {.device = device, .wait = 1};
  must(tuned_open(&b->ctx, &o, &failure), "tuned_open");
  must(serve_of(b->ctx, &b->s, NULL), "the context");
  b->s->sources.presets = presets ? b->s->sources.presets : none;
  b->a = matrix(b, true);
  b->b = matrix(b, true);
  b->c = matrix(b, false);
  b->first = calloc(n, sizeof *b->first);
  b->now = calloc(n, sizeof *b->now);
  call(b);
  must(tuned_copy_to_host(b->ctx, b->first, b->c, n * sizeof *b->first, &failure), "copying");
}

int main(int argc, char **argv) {
  static bench b;
  const double share = atof(bench_option(argc, argv, "--share", "0.1"));
  const double sec = atof(bench_option(argc, argv, "--sec", "10"));
  char problem[100];
  tuned_kernel *kernel;
  tuned_kernel_info first, last;
  serve_online_tally tally = {0};
  double mean[3];
  b.size = atoi(bench_option(argc, argv, "--size", "1000"));
  set_up(&b, bench_option(argc, argv, "--device", "0"),
         strcmp(bench_option(argc, argv, "--presets", "yes"), "no") != 0);
  snprintf(problem, sizeof problem, "sgemm m=%d n=%d k=%d", b.size, b.size, b.size);
  must(tuned_find(b.ctx, problem, &kernel, &failure), "tuned_find");
  must(tuned_info(kernel, &first, &failure), "tuned_info");
  size_t calls = run(&b, sec / 10, NULL, &mean[0]);
  const double before = bench_median(us, calls), from = now_sec();
  must(tuned_online(b.ctx, share, &failure), "tuned_online");
  calls = run(&b, 0.8 * sec, kernel, &mean[1]);
  const double settled = now_sec() - from;
  serve_online_tell(b.s, kernel, &tally);
  size_t slow = 0;
  for (size_t i = 0; i < calls; i++) {
    slow += us[i] > 2 * before;
  }
  must(tuned_info(kernel, &last, &failure), "tuned_info");
  const size_t after_calls = run(&b, sec / 10, NULL, &mean[2]);
  const double after = bench_median(us, after_calls), bound = 1e-6 * (b.size + 16);
  const double used = tally.spent_sec / settled;
  printf(
      "{\"bench\": \"online\", \"device\": \"%s\", \"problem\": \"%s\", \"share\": %g, "
      "\"share_used\": %.4f, \"before_us\": %.1f, \"before\": \"%s\", "
      "\"meanwhile_mean_us\": %.1f, \"variants\": %zu, \"better\": %zu, \"last_better_sec\": %.1f, "
      "\"stale\": %zu, \"calls\": %zu, \"slow_calls\": %zu, \"sec\": %.1f, \"settled\": %s, "
      "\"after_us\": %.1f, \"after\": \"%s\", "
      "\"times_before\": %.2f, \"config\": \"%s\", \"worst_difference\": %.2g}\n",
      b.s->device->info.name, problem, share, used, before, tuned_origin_name(first.origin),
      mean[1], tally.tried, tally.better, b.last_better, tally.stale, calls, slow, settled,
      atomic_load(&kernel->detour) ? "false" : "true", after, tuned_origin_name(last.origin),
      before / after, last.config, b.worst);
  tuned_close(b.ctx);
  return b.worst <= bound && used <= 2 * share ? 0 : 1;
}
