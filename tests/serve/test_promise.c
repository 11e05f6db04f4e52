/* test_promise.c -- the field reproducible in what libtuned serves: what a context gives for problems that leave it
 * open, and which results serve which promise. Runs on any device: test_promise [--device NAME]. */
#define _GNU_SOURCE
#include "serve_fixture.h"

static void assert_promises(const tuned_kernel_info *info, const char *value) {
  char word[32];
  snprintf(word, sizeof word, " reproducible=%s", value);
  if (!strstr(info->problem, word)) {
    fail_msg("%s: wanted %s", info->problem, word);
  }
}

static void finds(fixture *f, const char *problem, const char *value) {
  const tuned_kernel_info info = info_of(f, problem);
  assert_promises(&info, value);
}

static int open_promising(tuned_context **ctx, const char *value, tuned_error *e) {
  return tuned_open(ctx, &(tuned_options){.device = device_name, .reproducible = value}, e);
}

static void reopen_promising(fixture *f, const char *value) {
  setenv("TUNED_REPRODUCIBLE", value, 1);
  reopen(f, NULL);
  unsetenv("TUNED_REPRODUCIBLE");
}

/* ---- what a context gives ---------------------------------------------------------------------- */

CONTEXT_TEST(problems_promise_what_the_context_does) {
  static const char *const values[] = {"any", "run", "shape"};
  finds(f, "reduce n=9000", "any");
  for (size_t i = 0; i < 3; i++) {
    reopen_promising(f, values[i]);
    finds(f, "reduce n=9000", values[i]);
    finds(f, "scan n=9000 dtype=f32", values[i]);
    finds(f, "reduce n=9000 reproducible=any", "any");
    finds(f, "reduce n=9000 reproducible=shape", "shape");
    finds(f, "reduce n=9000 order=fixed", "run"); /* what it was called before */
    info_of(f, "saxpy n=1000");
  }
}

static float sum_of(fixture *f, const float *x, size_t n) {
  float sum = 0, *y = vector_new(f, &sum, 1);
  OK(f, tuned_reduce(f->ctx, NULL, "sum", "f32", (int64_t)n, x, y, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, &sum, y, sizeof sum, &f->err));
  return sum;
}

CONTEXT_TEST(typed_calls_promise_what_the_context_does) {
  enum { N = 5000 };
  float x[N];
  fill(x, N, 1, 0.25f);
  reopen_promising(f, "shape");
  float *from = vector_new(f, x, N);
  const float sum = sum_of(f, from, N);
  assert_promises(&inside(f)->newest->info, "shape");
  float *moved = vector_new(f, x, N); /* another alignment has another key */
  OK(f, tuned_copy_to_device(f->ctx, moved + 1, x, (N - 1) * sizeof *x, &f->err));
  assert_true(sum_of(f, moved + 1, N - 1) != sum);
  assert_promises(&inside(f)->newest->info, "shape");
}

/* An option precedes the environment. */
CONTEXT_TEST(an_option_promises) {
  static const char *const values[] = {"run", "shape", "any"};
  for (size_t i = 0; i < 3; i++) {
    tuned_close(f->ctx);
    setenv("TUNED_REPRODUCIBLE", i ? "run" : "shape", 1);
    const int rc = open_promising(&f->ctx, values[i], &f->err);
    unsetenv("TUNED_REPRODUCIBLE");
    OK(f, rc);
    finds(f, "reduce n=9000", values[i]);
  }
}

CONTEXT_TEST(other_promises_are_refused) {
  tuned_context *ctx;
  REFUSED(f, TUNED_E_USAGE, "'shapes'; it must be any, run or shape",
          open_promising(&ctx, "shapes", &f->err));
  setenv("TUNED_REPRODUCIBLE", "often", 1);
  REFUSED(f, TUNED_E_USAGE, "'often'; it must be any, run or shape",
          tuned_open(&ctx, &(tuned_options){.device = device_name}, &f->err));
  unsetenv("TUNED_REPRODUCIBLE");
}

/* ---- which results serve ----------------------------------------------------------------------- */

static void serves(fixture *f, const char *problem, const char *from, const char *config) {
  const tuned_kernel_info info = info_of(f, problem);
  const bool other =
      !from != !info.tuned_problem || (from && strcmp(from, info.tuned_problem) != 0);
  if (other || (config && !strstr(info.config, config))) {
    fail_msg("%s: %s of %s; wanted %s of %s", problem, info.config, info.tuned_problem, config,
             from);
  }
}

#define SUM "reduce n=9000 op=sum dtype=f32 align=4 reproducible="

static void put(fixture *f, const char *problem, const char *config) {
  store_put(f, &(stored){.problem = problem, .config = config});
}

CONTEXT_TEST(valid_results_serve_what_promises_more) {
  put(f, SUM "any", "FINISH=last_block,BLOCK=512,BLOCKS=2,VEC=2,COARSE=4");
  reopen(f, NULL);
  serves(f, SUM "any", SUM "any", "BLOCK=512");
  serves(f, SUM "run", SUM "any", "BLOCK=512");
  assert_null(strstr(info_of(f, SUM "shape").config, "BLOCK=512"));
}

CONTEXT_TEST(atomics_serve_no_promise) {
  put(f, SUM "any", "FINISH=atomic,BLOCK=512,BLOCKS=2,VEC=2,COARSE=4");
  reopen(f, NULL);
  serves(f, SUM "any", SUM "any", "FINISH=atomic");
  assert_null(strstr(info_of(f, SUM "run").config, "FINISH=atomic"));
  assert_null(strstr(info_of(f, SUM "shape").config, "FINISH=atomic"));
}

/* It may be slower than what is served otherwise. */
CONTEXT_TEST(results_of_a_promise_serve_no_less) {
  put(f, SUM "shape", "FINISH=last_block,BLOCK=256,LOAD=streaming");
  reopen(f, NULL);
  serves(f, SUM "shape", SUM "shape", "LOAD=streaming");
  serves(f, SUM "run", NULL, NULL);
  serves(f, SUM "any", NULL, NULL);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
