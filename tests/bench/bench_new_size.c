/* bench_new_size.c -- the host's time for a problem that neither the process nor its database has
 * seen, where the shipped portfolio serves it.
 *
 *   bench_new_size [--device 0|emu] [--decisions 2000] [--sizes 400] [--most 2048] [--sec 60]
 *
 * $TUNED_DB names a file that does not exist. Problems of sgemm, with m, n and k drawn evenly over
 * the octaves from 16 to MOST. First it times decisions alone, as when every module is loaded: from
 * the fields to the configuration (the models compare the leaf's short list), its launches, its
 * arguments and the digest of its source. The feasibility cache learns from each decision, so the
 * line has the first time, the median of the first hundred, and the median and the 10th and 90th
 * percentiles of the later half, in microseconds of the thread's own time.
 *
 * host_nbytes is the largest memory of the context after any of these decisions: what the process
 * has allocated (mallinfo2: uordblks and hblkhd, with the headers of the allocator) less what it
 * had before tuned_open. No module is loaded yet, so neither cubins nor a compiler count, nor do
 * kernels, which keep some 2 KB for every size served.
 *
 * Then it times whole calls of tuned_find for SEC seconds. Calls that compile a module are counted,
 * and the others timed.
 *
 * Prints one line of JSON. Exit status 1 when the median of the later decisions is 100 us or more,
 * or the memory 2 MB (2^21 bytes) or more. */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"
#include "bench_tools.h"
#include "run.h"
#include "serve_find.h"
#include "file.h"
#include "serve_choose.h"

enum { SIZES_MOST = 20000, FIRST = 100, MOST_NBYTES = 2 << 20 };

typedef struct bench {
  tuned_context *ctx;
  serve *s;
  serve_family *f;
  double most;
  uint64_t seed;
  double decision[SIZES_MOST], call[SIZES_MOST];
  size_t n_decisions, n_calls, n_loaded, n_portfolio; /* calls that were timed; that compiled */
} bench;

static tuned_error failure;

/* What the allocator has handed out, with its own headers. */
static size_t heap_nbytes(void) {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

#define must(rc, what) bench_must(rc, what, failure.message)

static void must_inside(int rc, const err *e) {
  bench_must(rc, "inside", e->message);
}

static double thread_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static double even(bench *b) {
  return random_unit(&b->seed);
}

static int64_t side(bench *b) {
  return (int64_t)floor(16 * exp2(even(b) * log2(b->most / 16)));
}

/* ---- decisions ------------------------------------------------------------------------------ */

typedef struct decision {
  gen_problem p;
  gen_instance *g;
  arena memory;
  str text;
} decision;

static void decide(bench *b, decision *d, err *e) {
  bool given[GEN_MAX_FIELDS] = {true, true, true};
  gen_number limits[RT_NUMBERS];
  const gen_plan *plan;
  const gen_data *data;
  char hash[HASH_TEXT];
  serve_pick pick;
  must_inside(gen_problem_complete(b->f->t, &d->p, given, e), e);
  gen_problem_text(b->f->t, &d->p, &d->text);
  rt_numbers(&b->s->device->info, limits);
  must_inside(gen_instance_new(b->f->t, &d->p, limits, RT_NUMBERS, &d->g, e), e);
  serve_choose c = {.from = &b->s->sources,
                    .t = b->f->t,
                    .p = &d->p,
                    .g = d->g,
                    .problem = str_text(&d->text),
                    .known = &b->f->known,
                    .memory = &d->memory};
  do {
    must_inside(serve_choose_next(&c, &pick, e), e);
  } while (gen_plan_make(d->g, &pick.config, &d->memory, &plan, NULL));
  gen_source_hash(d->g, &pick.config, hash);
  must_inside(gen_data_make(d->g, 0, &d->memory, &data, e), e);
}

static void time_decision(bench *b) {
  decision d = {.p = {.values = {{.i = side(b)}, {.i = side(b)}, {.i = side(b)}}}};
  err e = {0};
  const double from = thread_us();
  decide(b, &d, &e);
  b->decision[b->n_decisions++] = thread_us() - from;
  gen_instance_free(d.g);
  arena_clear(&d.memory);
  str_clear(&d.text);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void time_call(bench *b) {
  char problem[100];
  tuned_kernel *k;
  tuned_kernel_info info;
  snprintf(problem, sizeof problem, "sgemm m=%lld n=%lld k=%lld", (long long)side(b),
           (long long)side(b), (long long)side(b));
  const size_t before = b->s->images.n;
  const double from = thread_us();
  must(tuned_find(b->ctx, problem, &k, &failure), problem);
  const double us = thread_us() - from;
  must(tuned_info(k, &info, &failure), "tuned_info");
  b->n_portfolio += info.origin == TUNED_PORTFOLIO;
  if (b->s->images.n != before) {
    b->n_loaded++;
  } else {
    b->call[b->n_calls++] = us;
  }
}

/* ---- main ----------------------------------------------------------------------------------- */

static size_t count(int argc, char **argv, const char *name, const char *otherwise) {
  const size_t n = (size_t)atoi(bench_option(argc, argv, name, otherwise));
  return n < SIZES_MOST ? n : SIZES_MOST;
}

int main(int argc, char **argv) {
  static bench b;
  const char *device = bench_option(argc, argv, "--device", "0");
  const size_t decisions = count(argc, argv, "--decisions", "2000");
  const size_t calls = count(argc, argv, "--sizes", "400");
  err e = {0};
  b.most = atof(bench_option(argc, argv, "--most", "2048"));
  size_t most_nbytes = 0;
  const size_t before = heap_nbytes();
  must(tuned_open(&b.ctx, &(tuned_options){.device = device, .wait = 1}, &failure), "tuned_open");
  must_inside(serve_of(b.ctx, &b.s, &e), &e);
  must_inside(serve_family_get(b.s, "sgemm", &b.f, &e), &e);
  while (b.n_decisions < decisions) {
    time_decision(&b);
    const size_t now = heap_nbytes() - before;
    most_nbytes = now > most_nbytes ? now : most_nbytes;
  }
  const double until = now_sec() + atof(bench_option(argc, argv, "--sec", "60"));
  for (size_t i = 0; i < calls && now_sec() < until; i++) {
    time_call(&b);
  }
  const size_t half = b.n_decisions / 2, first = half < FIRST ? half : FIRST;
  const double one = b.decision[0], early = bench_percentile(b.decision, first, 50);
  double *later = b.decision + half;
  const size_t n = b.n_decisions - half;
  const double median = bench_percentile(later, n, 50);
  printf("{\"bench\": \"new_size\", \"device\": \"%s\", \"decisions\": %zu, \"first_us\": %.1f, "
         "\"early_us\": %.1f, \"later_us\": %.1f, \"later_p10_us\": %.1f, \"later_p90_us\": %.1f, "
         "\"host_nbytes\": %zu, \"calls\": %zu, \"compiled\": %zu, \"portfolio\": %zu, "
         "\"call_us\": %.1f, \"call_p90_us\": %.1f}\n",
         b.s->device->info.name, b.n_decisions, one, early, median, bench_percentile(later, n, 10),
         bench_percentile(later, n, 90), most_nbytes, b.n_calls + b.n_loaded, b.n_loaded,
         b.n_portfolio, bench_percentile(b.call, b.n_calls, 50),
         bench_percentile(b.call, b.n_calls, 90));
  tuned_close(b.ctx);
  return median < 100 && most_nbytes < MOST_NBYTES ? 0 : 1;
}
