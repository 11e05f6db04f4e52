/* cublas_calls.c -- the peer calls cuBLAS as the template's arguments say. The library is
 * tests/fixtures/fakes/fake_cublas.c; "device" buffers are on the host and small enough to be multiplied
 * here. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "peer.h"

enum { ARGS = 24 };

typedef struct bed {
  gen_template *t;
  gen_problem p;
  gen_instance *g;
  const gen_data *data;
  arena a;
  uint64_t values[ARGS];
  const void *args[ARGS];
  void *before[ARGS]; /* what the buffers hold */
} bed;

static void fill(const gen_datum *m, void *to) {
  for (uint64_t i = 0; i < m->count; i++) {
    const double v = (double)(rand() % 9 - 4);
    if (m->type == DTYPE_f64) {
      ((double *)to)[i] = v;
    } else if (m->type == DTYPE_f32) {
      ((float *)to)[i] = (float)v;
    }
  }
}

static void lay(bed *b, const char *problem) {
  static const gen_number numbers[] = {
#define LIMIT(name, text) {#name, 65536},
      GEN_DEVICE_LIST(LIMIT)
#undef LIMIT
  };
  gen_options o = {0};
  err e = {0};
  char family[40];
  *b = (bed){0};
  snprintf(family, sizeof family, "%.*s", (int)strcspn(problem, " "), problem);
  assert_ok(gen_open(&o, family, &b->t, &e), &e);
  assert_ok(gen_problem_parse(b->t, problem, &b->p, &e), &e);
  assert_ok(gen_instance_new(b->t, &b->p, numbers, sizeof numbers / sizeof *numbers, &b->g, &e),
            &e);
  assert_ok(gen_data_make(b->g, 0, &b->a, &b->data, &e), &e);
  for (size_t i = 0; i < b->t->n_args; i++) {
    const gen_datum *m = &b->data->args[i];
    b->values[i] = m->bits;
    b->args[i] = &b->values[i];
    if (b->t->args[i].dir != GEN_SCALAR) {
      void *buffer = arena_new(&b->a, m->count * 8 + 8);
      fill(m, buffer);
      b->before[i] = arena_new(&b->a, m->count * 8 + 8);
      memcpy(b->before[i], buffer, m->count * 8);
      b->values[i] = (uintptr_t)buffer;
    }
  }
}

static void clear(bed *b) {
  gen_instance_free(b->g);
  arena_clear(&b->a);
  gen_close(b->t);
}

static void call(bed *b, const peer_kind *k) {
  rt_device d = {.dead = false};
  peer it;
  err e = {0};
  assert_ok(peer_open(k, b->t, &b->p, &d, &it, &e), &e);
  assert_memory_equal(it.version, "cuBLAS 13.1.0", 13);
  assert_ok(it.contender.launch(it.contender.self, NULL, b->args, &e), &e);
  peer_close(&it);
}

static size_t arg(const bed *b, const char *name) {
  size_t at;
  err e = {0};
  assert_ok(peer_argument(b->t, name, &at, &e), &e);
  return at;
}

static int64_t whole(const bed *b, const char *name) {
  return peer_number(b->t, &b->p, name, 1);
}

static int64_t scalar(const bed *b, const char *name) {
  return (int64_t)b->values[arg(b, name)];
}

static double element_of(const bed *b, size_t at, const void *buffer, int64_t i) {
  assert_true(i >= 0 && (uint64_t)i < b->data->args[at].count);
  return b->data->args[at].type == DTYPE_f64 ? ((const double *)buffer)[i]
                                             : ((const float *)buffer)[i];
}

static double element(const bed *b, const char *name, int64_t i) {
  const size_t at = arg(b, name);
  return element_of(b, at, (const void *)(uintptr_t)b->values[at], i);
}

static bool is_t(const bed *b, const char *field) {
  return !strcmp(peer_word(b->t, &b->p, field), "t");
}

static double factor(const bed *b, const char *name) {
  const size_t at = arg(b, name);
  return dtype_decode(b->data->args[at].type, b->values[at]);
}

/* alpha sum + beta C, exact for the small whole numbers here. */
static double scaled(const bed *b, double sum, const char *name, int64_t i) {
  const size_t at = arg(b, name);
  const double beta = factor(b, "beta");
  return factor(b, "alpha") * sum + (beta != 0 ? beta * element_of(b, at, b->before[at], i) : 0);
}

static void check_gemm(const bed *b, int64_t a0, int64_t b0, int64_t c0) {
  const int64_t m = whole(b, "m"), n = whole(b, "n"), k = whole(b, "k");
  const int64_t lda = scalar(b, "lda"), ldb = scalar(b, "ldb"), ldc = scalar(b, "ldc");
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t l = 0; l < k; l++) {
        sum += element(b, "A", a0 + (is_t(b, "ta") ? i * lda + l : l * lda + i)) *
               element(b, "B", b0 + (is_t(b, "tb") ? l * ldb + j : j * ldb + l));
      }
      assert_true(element(b, "C", c0 + j * ldc + i) == scaled(b, sum, "C", c0 + j * ldc + i));
    }
  }
}

TEST(sgemm) {
  static const char *const problems[] = {
      "sgemm m=5 n=7 k=3",           "sgemm m=5 n=7 k=3 ta=t",
      "sgemm m=4 n=2 k=9 tb=t",      "sgemm m=1 n=8 k=2 ta=t tb=t",
      "sgemm m=5 n=7 k=3 beta_is=1", "sgemm m=5 n=7 k=3 alpha_is=any beta_is=any"};
  for (size_t i = 0; i < 12; i++) {
    bed b;
    lay(&b, problems[i / 2]);
    call(&b, i % 2 ? &peer_cublas_tf32 : &peer_cublas);
    check_gemm(&b, 0, 0, 0);
    clear(&b);
  }
}

TEST(gemm_batched) {
  static const char *const problems[] = {"gemm_batched m=3 n=5 k=2 batch=4 ta=t",
                                         "gemm_batched m=3 n=5 k=2 batch=4 tb=t layout=strided",
                                         "gemm_batched m=4 batch=3 dtype=f64",
                                         "gemm_batched m=4 batch=3 alpha_is=any beta_is=any"};
  for (size_t i = 0; i < 4; i++) {
    bed b;
    lay(&b, problems[i]);
    call(&b, &peer_cublas);
    for (int64_t k = 0; k < whole(&b, "batch"); k++) {
      check_gemm(&b, k * scalar(&b, "stride_a"), k * scalar(&b, "stride_b"),
                 k * scalar(&b, "stride_c"));
    }
    clear(&b);
  }
}

TEST(gemv) {
  static const char *const problems[] = {
      "gemv m=5 n=3", "gemv m=5 n=3 trans=t", "gemv m=4 n=6 unit=0 dtype=f64",
      "gemv m=4 n=6 dtype=f64 beta_is=1", "gemv m=4 n=6 alpha_is=any beta_is=any"};
  for (size_t i = 0; i < 5; i++) {
    bed b;
    lay(&b, problems[i]);
    call(&b, &peer_cublas);
    const bool t = is_t(&b, "trans");
    const int64_t m = whole(&b, "m"), n = whole(&b, "n"), lda = scalar(&b, "lda");
    for (int64_t r = 0; r < (t ? n : m); r++) {
      double sum = 0;
      for (int64_t l = 0; l < (t ? m : n); l++) {
        sum += element(&b, "A", t ? r * lda + l : l * lda + r) *
               element(&b, "x", l * scalar(&b, "incx"));
      }
      assert_true(element(&b, "y", r) == scaled(&b, sum, "y", r));
    }
    clear(&b);
  }
}

TEST(dot) {
  static const char *const problems[] = {"dot n=9", "dot n=7 unit=0 dtype=f64", "dot n=0"};
  for (size_t i = 0; i < 3; i++) {
    bed b;
    lay(&b, problems[i]);
    call(&b, &peer_cublas);
    double sum = 0;
    for (int64_t l = 0; l < whole(&b, "n"); l++) {
      sum += element(&b, "x", l * scalar(&b, "incx")) * element(&b, "y", l * scalar(&b, "incy"));
    }
    assert_true(element(&b, "result", 0) == sum);
    clear(&b);
  }
}

TEST(transpose) {
  static const char *const problems[] = {"transpose rows=5 cols=3",
                                         "transpose rows=2 cols=7 dtype=f64"};
  for (size_t i = 0; i < 2; i++) {
    bed b;
    lay(&b, problems[i]);
    call(&b, &peer_cublas);
    const int64_t rows = whole(&b, "rows"), cols = whole(&b, "cols");
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t c = 0; c < cols; c++) {
        assert_true(element(&b, "y", c * rows + r) == element(&b, "x", r * cols + c));
      }
    }
    clear(&b);
  }
}

/* The first case, which is timed, is of the problem's class, and has C read where beta is not 0. */
TEST(factors_are_of_their_class) {
  static const struct {
    const char *problem;
    double alpha, beta, bytes;
  } cases[] = {{"sgemm m=8 n=8 k=8", 1, 0, 4 * 3 * 64},
               {"sgemm m=8 n=8 k=8 beta_is=1", 1, 1, 4 * 4 * 64},
               {"sgemm m=8 n=8 k=8 alpha_is=any beta_is=any", -0.75, 0.5, 4 * 4 * 64},
               {"gemm m=8 n=8 k=8 ctype=f32 beta_is=1", 1, 1, 2 * 2 * 64 + 2 * 4 * 64},
               {"gemm_batched m=8 n=8 k=8 batch=3 beta_is=any", 1, 0.5, 3 * 4 * 4 * 64},
               {"gemv m=8 n=8 alpha_is=any", -0.75, 0, 4 * (64 + 16)},
               {"gemv m=8 n=8 trans=t beta_is=any", 1, 0.5, 4 * (64 + 24)}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bed b;
    err e = {0};
    gen_config c;
    const gen_plan *plan;
    lay(&b, cases[i].problem);
    assert_true(factor(&b, "alpha") == cases[i].alpha && factor(&b, "beta") == cases[i].beta);
    const size_t c_at = arg(&b, gen_arg_find(b.t, "C") ? "C" : "y");
    assert_int_equal(b.data->args[c_at].overwritten, cases[i].beta == 0);
    gen_config_default(b.t, &c);
    assert_ok(gen_plan_make(b.g, &c, &b.a, &plan, &e), &e);
    assert_true(plan->bytes == cases[i].bytes);
    clear(&b);
  }
}

/* For elements of 16 bits only the types are compared. */
TEST(gemm) {
  static const struct {
    const char *problem;
    int types[4];
  } cases[] = {{"gemm m=3 n=4 k=5 dtype=f64 ta=t", {1, 1, 1, 70}},
               {"gemm m=3 n=4 k=5", {14, 14, 14, 68}},
               {"gemm m=3 n=4 k=5 dtype=f16 ctype=f32", {2, 2, 0, 68}},
               {"gemv m=3 n=4 dtype=bf16", {14, 14, 14, 68}},
               {"dot n=3 dtype=f16", {2, 2, 2, 0}}};
  void *library = dlopen("libcublas.so.13", RTLD_NOW);
  const int *types = library ? dlsym(library, "fake_types") : NULL;
  assert_non_null(types);
  for (size_t i = 0; i < 5; i++) {
    bed b;
    lay(&b, cases[i].problem);
    call(&b, &peer_cublas);
    assert_memory_equal(types, cases[i].types, sizeof cases[i].types);
    if (i == 0) {
      check_gemm(&b, 0, 0, 0);
    }
    clear(&b);
  }
}

/* All problems of a run share one handle; one that the peer cannot compute is skipped. */
TEST(it_turns_to_the_next_problem) {
  rt_device d = {.dead = false};
  static const char *const problems[] = {"sgemm m=5 n=4 k=3", "sgemm m=3 n=4 k=5 act=relu",
                                         "sgemm m=2 n=6 k=7 ta=t", "sgemm m=5 n=4 k=3 tb=t"};
  peer it = {0};
  const void *first = NULL;
  for (size_t i = 0; i < 4; i++) {
    bed b;
    err e = {0};
    lay(&b, problems[i]);
    if (i == 1) {
      assert_fails(peer_turn(&peer_cublas, b.t, &b.p, &d, &it, &e), &e, ERR_USAGE, "no act=relu");
    } else {
      assert_ok(peer_turn(&peer_cublas, b.t, &b.p, &d, &it, &e), &e);
      assert_ok(it.contender.launch(it.contender.self, NULL, b.args, &e), &e);
      check_gemm(&b, 0, 0, 0);
    }
    first = first ? first : it.self;
    assert_ptr_equal(it.self, first);
    clear(&b);
  }
  peer_close(&it);
}

TEST(what_it_can_not_do_is_said) {
  rt_device d = {.dead = false};
  static const char *const problems[][2] = {
      {"transpose rows=4 dtype=u8", "of u8"},
      {"transpose rows=4 batch=2", "one matrix a call"},
      {"dot n=4 result_dtype=f64", "of f32 whose result is f64"}};
  for (size_t i = 0; i < 3; i++) {
    bed b;
    peer it;
    err e = {0};
    lay(&b, problems[i][0]);
    assert_fails(peer_open(&peer_cublas, b.t, &b.p, &d, &it, &e), &e, ERR_USAGE, problems[i][1]);
    peer_close(&it);
    clear(&b);
  }
}

int main(void) {
  return tests_run();
}
