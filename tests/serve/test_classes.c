/* test_classes.c -- fields that say which alpha and beta a kernel is tuned for: what the typed calls
 * make of their arguments, which result serves another class, and products by an alpha of 0. Runs on
 * any device: test_classes [--device NAME]. */
#define _GNU_SOURCE
#include <math.h>

#include "serve_fixture.h"

/* ---- which result serves --------------------------------------------------------------------- */

#define GEMV(m) "gemv m=" #m " n=70 trans=n dtype=f32 unit=1 align=4 scale=none bias=none act=none"
#define CLASS(alpha, beta) " alpha_is=" #alpha " beta_is=" #beta " reproducible=any"

static void put(fixture *f, const char *problem, const char *config, const char *device) {
  store_put(
      f, &(stored){.problem = problem, .config = config, .device_key = device, .no_image = true});
}

static void serves(fixture *f, const char *problem, tuned_origin origin, const char *from,
                   const char *config) {
  const tuned_kernel_info info = info_of(f, problem);
  if (info.origin != origin || !strstr(info.config, config) || !info.tuned_problem ||
      strcmp(info.tuned_problem, from) != 0) {
    fail_msg("%s: origin %d, %s from %s; wanted %d, %s from %s", problem, (int)info.origin,
             info.config, info.tuned_problem, (int)origin, config, from);
  }
  assert_true(info.expected_sec > 0);
}

/* The nearest class counts, and that before other sizes. */
CONTEXT_TEST(a_result_of_another_class_serves) {
  put(f, GEMV(300) CLASS(1, 0), "BLOCK=64", NULL);
  put(f, GEMV(308) CLASS(any, any), "BLOCK=512", NULL);
  reopen(f, NULL);
  serves(f, GEMV(300), TUNED_EXACT, GEMV(300) CLASS(1, 0), "BLOCK=64");
  serves(f, GEMV(300) CLASS(1, any), TUNED_NEAREST, GEMV(300) CLASS(1, 0), "BLOCK=64");
  serves(f, GEMV(300) CLASS(any, any), TUNED_NEAREST, GEMV(300) CLASS(1, 0), "BLOCK=64");
  serves(f, GEMV(304) CLASS(any, any), TUNED_NEAREST, GEMV(308) CLASS(any, any), "BLOCK=512");
  put(f, GEMV(300) CLASS(1, 1), "BLOCK=128", NULL);
  reopen(f, NULL);
  serves(f, GEMV(300) CLASS(any, any), TUNED_NEAREST, GEMV(300) CLASS(1, 1), "BLOCK=128");
  serves(f, GEMV(300) CLASS(any, 0), TUNED_NEAREST, GEMV(300) CLASS(1, 0), "BLOCK=64");
  serves(f, GEMV(300) CLASS(1, 1), TUNED_EXACT, GEMV(300) CLASS(1, 1), "BLOCK=128");
}

/* Of other devices, the same class precedes this device's other ones; another class follows. */
CONTEXT_TEST(other_devices_of_this_size_serve) {
  put(f, GEMV(300) CLASS(1, 1), "BLOCK=256", "another");
  put(f, GEMV(308) CLASS(1, any), "BLOCK=512", NULL);
  reopen(f, NULL);
  serves(f, GEMV(300) CLASS(1, any), TUNED_OTHER_DEVICE, GEMV(300) CLASS(1, 1), "BLOCK=256");
  put(f, GEMV(300) CLASS(1, 0), "BLOCK=64", NULL);
  reopen(f, NULL);
  serves(f, GEMV(300) CLASS(1, any), TUNED_NEAREST, GEMV(300) CLASS(1, 0), "BLOCK=64");
  put(f, GEMV(300) CLASS(1, any), "BLOCK=128", "another");
  reopen(f, NULL);
  serves(f, GEMV(300) CLASS(1, any), TUNED_OTHER_DEVICE, GEMV(300) CLASS(1, any), "BLOCK=128");
}

/* A class is a quarter octave away. */
CONTEXT_TEST(neighbours_of_another_class_serve) {
  put(f, GEMV(400) CLASS(1, 0), "BLOCK=64", NULL);
  put(f, GEMV(500) CLASS(1, 1), "BLOCK=128", NULL);
  reopen(f, NULL);
  serves(f, GEMV(404), TUNED_NEAREST, GEMV(400) CLASS(1, 0), "BLOCK=64");
  serves(f, GEMV(436), TUNED_NEAREST, GEMV(400) CLASS(1, 0), "BLOCK=64");
  serves(f, GEMV(436) CLASS(1, 1), TUNED_NEAREST, GEMV(500) CLASS(1, 1), "BLOCK=128");
  serves(f, GEMV(404) CLASS(1, 1), TUNED_NEAREST, GEMV(400) CLASS(1, 0), "BLOCK=64");
}

/* Values that are like another are served by its results, unless they have results of their own. */
CONTEXT_TEST(results_of_like_values_serve) {
#define TYPED(m, dtype) "gemv m=" #m " n=70 trans=n dtype=" #dtype " unit=1 align=4"
#define ACTED(act) " scale=none bias=none act=" #act CLASS(1, 0)
  put(f, TYPED(300, f16) ACTED(none), "BLOCK=64", NULL);
  put(f, TYPED(308, f32) ACTED(none), "BLOCK=512", NULL);
  reopen(f, NULL);
  serves(f, TYPED(300, bf16) ACTED(none), TUNED_NEAREST, TYPED(300, f16) ACTED(none), "BLOCK=64");
  serves(f, TYPED(304, bf16) ACTED(relu), TUNED_NEAREST, TYPED(300, f16) ACTED(none), "BLOCK=64");
  serves(f, TYPED(300, f32) ACTED(gelu), TUNED_NEAREST, TYPED(308, f32) ACTED(none), "BLOCK=512");
  put(f, TYPED(304, bf16) ACTED(none), "BLOCK=128", NULL);
  reopen(f, NULL);
  serves(f, TYPED(304, bf16) ACTED(relu), TUNED_NEAREST, TYPED(304, bf16) ACTED(none), "BLOCK=128");
  serves(f, TYPED(300, bf16) ACTED(none), TUNED_NEAREST, TYPED(300, f16) ACTED(none), "BLOCK=64");
}

static const char portfolio_of_before[] =
    "portfolio 1\nasked 0.05\nsizes 2\nexpected 0.01 0.1\nrange m 100 1000\nrange n 16 1000\n"
    "range trans n\nrange dtype f32\nrange unit 1 1\nrange align 1 8\nrange scale none\n"
    "range bias none\nrange act none\nconfig BLOCK=128\nleaf 0.125 0.2 0\n";

static void put_portfolio(fixture *f, const char *text) {
  store st;
  db *d;
  int64_t template_id, device_id;
  bool kept;
  put(f, GEMV(3000) CLASS(1, 0), "BLOCK=64", NULL);
  store_open(&st, f, "gemv", "m=300");
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  assert_ok(db_device_find(d, str_text(&st.s->device_key), &device_id, &st.e), &st.e);
  assert_ok(db_template_find(d, st.t->hash, &template_id, &st.e), &st.e);
  assert_ok(db_portfolio_put(d, template_id, device_id, text, NULL, &kept, &st.e), &st.e);
  db_close(d);
  store_close(&st);
  reopen(f, NULL);
}

static void portfolio_serves(fixture *f, const char *problem) {
  const tuned_kernel_info info = info_of(f, problem);
  assert_int_equal(info.origin, TUNED_PORTFOLIO);
  assert_non_null(strstr(info.config, "BLOCK=128"));
  assert_true(info.expected_sec > 0);
}

CONTEXT_TEST(a_portfolio_serves_every_class_and_like_values) {
  auto_str present = {0};
  const char *at = strstr(portfolio_of_before, "config");
  put_portfolio(f, portfolio_of_before);
  portfolio_serves(f, "gemv m=500 n=100");
  portfolio_serves(f, "gemv m=500 n=100 beta_is=1");
  portfolio_serves(f, "gemv m=500 n=100 alpha_is=any beta_is=any");
  portfolio_serves(f, "gemv m=500 n=100 scale=row act=relu");
  str_add_n(&present, portfolio_of_before, (size_t)(at - portfolio_of_before));
  str_addf(&present, "range alpha_is any\nrange beta_is 1 any\n%s", at);
  put_portfolio(f, str_text(&present));
  portfolio_serves(f, "gemv m=500 n=100");
  portfolio_serves(f, "gemv m=500 n=100 alpha_is=any beta_is=1");
  serves(f, "gemv m=3000 n=70 align=4 beta_is=any", TUNED_NEAREST, GEMV(3000) CLASS(1, 0),
         "BLOCK=64");
}

/* ---- typed calls ----------------------------------------------------------------------------- */

static void newest_is(fixture *f, const char *words) {
  const char *problem = inside(f)->newest->info.problem;
  if (!strstr(problem, words)) {
    fail_msg("%s, wanted %s", problem, words);
  }
}

static void gemv_is(fixture *f, float *p, double alpha, double beta, const char *words) {
  OK(f,
     tuned_gemv(f->ctx, NULL, 'n', "f32", 4, 3, alpha, p, 4, p + 12, 1, beta, p + 16, 1, &f->err));
  newest_is(f, words);
}

CONTEXT_TEST(calls_know_their_class) {
  float host[20] = {0};
  float *p = vector_new(f, host, 20);
  gemv_is(f, p, 1, 0,
          "m=4 n=3 trans=n dtype=f32 unit=1 align=4 scale=none bias=none act=none"
          " alpha_is=1 beta_is=0");
  gemv_is(f, p, 1, 1, " alpha_is=1 beta_is=1");
  gemv_is(f, p, 1, -1, " alpha_is=1 beta_is=any");
  gemv_is(f, p, -2, 0.5, " alpha_is=any beta_is=any");
  gemv_is(f, p, 3, -0.0, " alpha_is=any beta_is=0");
  const tuned_kernel *newest = inside(f)->newest; /* these are known */
  OK(f, tuned_gemv(f->ctx, NULL, 'n', "f32", 4, 3, 1, p, 4, p + 12, 1, (double)NAN, p + 16, 1,
                   &f->err));
  OK(f, tuned_gemv(f->ctx, NULL, 'n', "f32", 4, 3, 7, p, 4, p + 12, 1, 7, p + 16, 1, &f->err));
  assert_ptr_equal(inside(f)->newest, newest);
}

/* C = beta C, whatever A and B hold. */
static void check_scaled(fixture *f, const float *c, const float *was, int n, float beta) {
  float now[8];
  OK(f, tuned_copy_to_host(f->ctx, now, c, (size_t)n * sizeof *now, &f->err));
  for (int i = 0; i < n; i++) {
    assert_true(now[i] == beta * was[i]);
  }
}

CONTEXT_TEST(an_alpha_of_zero_reads_nothing) {
  float nan[32], was[6] = {1, 2, 3, 4, 5, 6};
  double wide[6] = {1, 2, 3, 4, 5, 6};
  fill(nan, 32, NAN, 0);
  float *x = vector_new(f, nan, 32), *c = vector_new(f, was, 6);
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 't', 3, 2, 4, 0, x, 3, x, 2, 2, c, 3, &f->err));
  check_scaled(f, c, was, 6, 2);
  OK(f, tuned_gemm_batched(f->ctx, NULL, 't', 'n', "f32", 3, 1, 4, 0, x, 4, 12, x, 4, 4, 2, c, 3, 3,
                           2, &f->err));
  check_scaled(f, c, was, 6, 4);
  OK(f, tuned_gemv(f->ctx, NULL, 'n', "f32", 6, 4, 0, x, 6, x, 1, 2, c, 1, &f->err));
  check_scaled(f, c, was, 6, 8);
  OK(f, tuned_gemv(f->ctx, NULL, 't', "f32", 4, 6, -0.0, x, 4, x, 1, 2, c, 1, &f->err));
  check_scaled(f, c, was, 6, 16);
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 'n', 3, 2, 4, 0, NULL, 3, NULL, 4, 0.5, c, 3, &f->err));
  check_scaled(f, c, was, 6, 8);
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 'n', 3, 2, 4, 0, x, 3, x, 4, 0, c, 3, &f->err));
  check_scaled(f, c, was, 6, 0);
  REFUSED(f, TUNED_E_USAGE, "ldb is less",
          tuned_sgemm(f->ctx, NULL, 'n', 'n', 3, 2, 4, 0, x, 3, x, 3, 2, c, 3, &f->err));
  void *d;
  OK(f, tuned_alloc(f->ctx, sizeof wide, &d, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, d, wide, sizeof wide, &f->err));
  OK(f,
     tuned_gemm(f->ctx, NULL, 'n', 'n', "f64", "f64", 3, 2, 4, 0, x, 3, x, 4, 0.5, d, 3, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, wide, d, sizeof wide, &f->err));
  assert_true(wide[0] == 0.5 && wide[5] == 3);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
