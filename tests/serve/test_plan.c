/* test_plan.c -- plans of libtuned, with examples/ell.lua. Runs on any device: test_plan [--device NAME]. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "serve_fixture.h"

#include "ell_calls.h"
#include "run_captured.h"

/* ---- allocations that fail ------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static _Thread_local long allocations_left; /* the last of these fails; 0: none does */

static bool fails(void) {
  return allocations_left && --allocations_left == 0;
}

void *malloc(size_t n) {
  return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
  return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
  return fails() ? NULL : __libc_realloc(p, n);
}

/* ---- matrices of four rows ------------------------------------------------------------------- */

enum { N = 4, ENTRIES = 8 };
static const int columns[] = {0, 1, 0, 2, 3, 1, 2, 3};
static const float x[] = {1, 10, 100, 1000};
static const int lengths_232[] = {0, 2, 5, 7, 8}, lengths_113[] = {0, 1, 2, 5, 8},
                 lengths_80[] = {0, 8, 8, 8, 8};
static const float values_of_text[] = {1, 7, 5, 3, 9, 2, 8, 6}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
static const float text_232[] = {71, 9305, 820, 6000}, ones_232[] = {11, 1101, 110, 1000},
                   ones_113[] = {1, 10, 1101, 1110}, ones_80[] = {2222, 0, 0, 0};

typedef struct matrix {
  void *offsets, *columns, *values, *x, *y;
  const void *args[6];
} matrix;

static void *put(fixture *f, const void *bytes, size_t n) {
  void *p;
  OK(f, tuned_alloc(f->ctx, n, &p, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, p, bytes, n, &f->err));
  return p;
}

static void matrix_put(fixture *f, matrix *m, const int *offsets, const float *values) {
  *m = (matrix){.offsets = put(f, offsets, (N + 1) * sizeof *offsets),
                .columns = put(f, columns, sizeof columns),
                .values = put(f, values, ENTRIES * sizeof *values),
                .x = put(f, x, sizeof x),
                .y = put(f, x, sizeof x)};
  const void *args[] = {NULL, &m->offsets, &m->columns, &m->values, &m->x, &m->y};
  memcpy(m->args, args, sizeof args);
}

static int multiply(fixture *f, tuned_plan *plan, tuned_stream stream, const matrix *m,
                    const float want[N], tuned_error *e) {
  float y[N];
  return tuned_plan_run(plan, stream, m->args, e) || tuned_sync(f->ctx, stream, e) ||
         tuned_copy_to_host(f->ctx, y, m->y, sizeof y, e) || memcmp(y, want, sizeof y) != 0;
}

#define MULTIPLIES(f, plan, m, want)                                                               \
  do {                                                                                             \
    if (multiply(f, plan, NULL, m, want, &(f)->err)) {                                             \
      fail_msg("not " #want ": %s", (f)->err.message);                                             \
    }                                                                                              \
  } while (0)

/* The template beside the database, and a result, so that this problem's plans prepare. */
static const char PROBLEM[] = "ell rows=4 mean=2 uses=many";

static void tune_ell(fixture *f, const char *config) {
  auto_str text = {0};
  err e = {0};
  char path[128];
  assert_ok(file_read("examples/ell.lua", 1 << 16, &text, &e), &e);
  snprintf(path, sizeof path, "%s/ell.lua", f->folder);
  assert_ok(file_write(path, text.p, text.n, &e), &e);
  store_put(f, &(stored){.problem = PROBLEM, .config = config});
  reopen(f, f->folder);
}

static bool is_ell(fixture *f, tuned_plan *plan) {
  tuned_kernel_info info;
  OK(f, tuned_plan_info(plan, &info, &f->err));
  return !strncmp(info.config, "ALG=ell", 7);
}

/* The same with a feature: the longest row. */
static void add_feature(fixture *f) {
  static const char field[] =
      "    { 'longest_row', 0, 1000, feature = 'lengths' },\n  },\n  features = {"
      " workspace = { { 'lengths', 'f64', 1 } }, stages = { { kernel = 'look', grid = 1,"
      " block = 1, args = { 'rows', 'offsets', 'lengths' } } }, source = [==[\n"
      "extern \"C\" __global__ void look(int rows, const int *offsets, double *lengths) {\n"
      "  for (int i = 0; i < rows; i++) lengths[0] = max(lengths[0], 1.0 * (offsets[i + 1]"
      " - offsets[i]));\n}\n]==] },\n  args = {";
  auto_str text = {0}, with = {0};
  err e = {0};
  char path[128];
  assert_ok(file_read("examples/ell.lua", 1 << 16, &text, &e), &e);
  const char *at = strstr(text.p, "  },\n  args = {");
  assert_non_null(at);
  str_add_n(&with, text.p, (size_t)(at - text.p));
  str_add(&with, field);
  str_add(&with, at + strlen("  },\n  args = {"));
  snprintf(path, sizeof path, "%s/ell.lua", f->folder);
  assert_ok(file_write(path, with.p, with.n, &e), &e);
}

static void expect_problem(fixture *f, tuned_plan *plan, const char *problem, tuned_origin origin) {
  tuned_kernel *k;
  tuned_kernel_info info;
  OK(f, tuned_plan_kernel(plan, &k, &f->err));
  OK(f, tuned_info(k, &info, &f->err));
  assert_string_equal(info.problem, problem);
  assert_int_equal(info.origin, origin);
}

/* ---- use ------------------------------------------------------------------------------------- */

CONTEXT_TEST(a_plan_runs_and_takes_other_values_and_inputs) {
  matrix m, n;
  tuned_plan *plan;
  double prepare = -1, run = -1;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  matrix_put(f, &n, lengths_113, ones);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  assert_true(is_ell(f, plan));
  OK(f, tuned_plan_seconds(plan, &prepare, &run, &f->err));
  assert_true(prepare > 0 && run == 0);
  for (int i = 0; i < 3; i++) {
    MULTIPLIES(f, plan, &m, text_232);
  }
  OK(f, tuned_plan_seconds(plan, &prepare, &run, &f->err));
  assert_true(prepare > 0 && run > 0);
  OK(f, tuned_copy_to_device(f->ctx, m.values, ones, sizeof ones, &f->err));
  MULTIPLIES(f, plan, &m, text_232);
  OK(f, tuned_plan_values(plan, NULL, (const void *[6]){NULL}, &f->err));
  MULTIPLIES(f, plan, &m, ones_232);
  OK(f, tuned_plan_values(plan, NULL,
                          (const void *[6]){[3] = &(void *){put(f, values_of_text, 32)}}, &f->err));
  MULTIPLIES(f, plan, &m, text_232);
  OK(f, tuned_plan_renew(plan, NULL, n.args, &f->err));
  MULTIPLIES(f, plan, &n, ones_113);
  OK(f, tuned_plan_renew(plan, NULL, m.args, &f->err));
  MULTIPLIES(f, plan, &m, ones_232);
  tuned_plan_free(plan);
}

/* Of two inputs of the same sizes, each has the result that was tuned for its own. */
CONTEXT_TEST(features_of_the_inputs_choose_the_kernel) {
  static const char LONG[] = "ell rows=4 mean=2 uses=many longest_row=8",
                    SHORT[] = "ell rows=4 mean=2 uses=many longest_row=3";
  matrix m, n;
  tuned_plan *plan;
  tuned_kernel *k;
  tuned_kernel_info info;
  add_feature(f);
  store_put(f, &(stored){.problem = LONG, .config = "ALG=csr,BLOCK=128"});
  store_put(f, &(stored){.problem = SHORT, .config = "ALG=ell,BLOCK=64"});
  reopen(f, f->folder);
  matrix_put(f, &m, lengths_232, values_of_text);
  matrix_put(f, &n, lengths_80, ones);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  expect_problem(f, plan, SHORT, TUNED_EXACT);
  MULTIPLIES(f, plan, &m, text_232);
  tuned_plan_free(plan);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, n.args, &plan, &f->err));
  expect_problem(f, plan, LONG, TUNED_EXACT);
  MULTIPLIES(f, plan, &n, ones_80);
  tuned_plan_free(plan);
  /* features that are given are not computed */
  OK(f, tuned_plan_new(f->ctx, NULL, LONG, m.args, &plan, &f->err));
  expect_problem(f, plan, LONG, TUNED_EXACT);
  tuned_plan_free(plan);
  /* without inputs, sizes decide */
  OK(f, tuned_find(f->ctx, PROBLEM, &k, &f->err));
  OK(f, tuned_info(k, &info, &f->err));
  assert_string_equal(info.problem, PROBLEM);
  assert_int_equal(info.origin, TUNED_NEAREST);
  const void *const missing[6] = {NULL};
  REFUSED(f, TUNED_E_USAGE, "argument offsets is missing",
          tuned_plan_new(f->ctx, NULL, PROBLEM, missing, &plan, &f->err));
}

/* One kernel, two matrices of other widths. */
CONTEXT_TEST(two_plans_live_side_by_side) {
  matrix m, n;
  tuned_plan *a, *b;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  matrix_put(f, &n, (const int[]){0, 2, 4, 6, 8}, ones);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &a, &f->err));
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, n.args, &b, &f->err));
  for (int i = 0; i < 2; i++) {
    MULTIPLIES(f, a, &m, text_232);
    MULTIPLIES(f, b, &n, ((const float[]){11, 101, 1010, 1100}));
  }
  tuned_plan_free(a);
  MULTIPLIES(f, b, &n, ((const float[]){11, 101, 1010, 1100}));
} /* the context frees the other */

CONTEXT_TEST(inputs_beyond_a_bound_are_served_by_the_default) {
  matrix m, n;
  tuned_plan *plan;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_80, ones); /* a row of 8, 4 * mean: no more than the bound */
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  assert_true(is_ell(f, plan));
  MULTIPLIES(f, plan, &m, ones_80);
  tuned_plan_free(plan);
  matrix_put(f, &n, (const int[]){0, 9, 9, 9, 9}, ones);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, n.args, &plan, &f->err));
  assert_false(is_ell(f, plan));
  OK(f, tuned_plan_renew(plan, NULL, m.args, &f->err));
  MULTIPLIES(f, plan, &m, ones_80);
  tuned_plan_free(plan);
}

CONTEXT_TEST(a_plan_may_prepare_nothing) {
  matrix m;
  tuned_plan *plan;
  tune_ell(f, "ALG=csr,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  MULTIPLIES(f, plan, &m, text_232);
  OK(f, tuned_plan_values(plan, NULL, m.args, &f->err));
  MULTIPLIES(f, plan, &m, text_232);
  tuned_plan_free(plan);
  OK(f, tuned_plan_new(f->ctx, NULL, "ell rows=0", m.args, &plan, &f->err));
  OK(f, tuned_plan_run(plan, NULL, NULL, &f->err));
  OK(f, tuned_plan_renew(plan, NULL, NULL, &f->err));
  tuned_plan_free(plan);
}

CONTEXT_TEST(typed_calls_make_and_run_plans) {
  matrix m;
  tuned_plan *plan, *other;
  tuned_kernel *k;
  tuned_kernel_info info;
  float y[N];
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_ell_plan(f->ctx, NULL, 4, 2, 0, m.offsets, m.columns, m.values, &plan, &f->err));
  assert_true(is_ell(f, plan));
  OK(f, tuned_ell(plan, NULL, m.x, m.y, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, m.y, sizeof y, &f->err));
  assert_memory_equal(y, text_232, sizeof y);
  OK(f, tuned_copy_to_device(f->ctx, m.values, ones, sizeof ones, &f->err));
  OK(f, tuned_ell_values(plan, NULL, m.values, &f->err));
  MULTIPLIES(f, plan, &m, ones_232);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &other, &f->err));
  OK(f, tuned_ell(other, NULL, m.x, m.y, &f->err));
  OK(f, tuned_ell_plan(f->ctx, NULL, 4, 2, 24, m.offsets, m.columns, m.values, &other, &f->err));
  OK(f, tuned_plan_kernel(other, &k, &f->err));
  OK(f, tuned_info(k, &info, &f->err));
  assert_string_equal(info.problem, "ell rows=4 mean=2 uses=10");
  REFUSED(f, TUNED_E_USAGE, "rows is -1",
          tuned_ell_plan(f->ctx, NULL, -1, 2, 0, m.offsets, m.columns, m.values, &plan, &f->err));
  REFUSED(f, TUNED_E_USAGE, "plan is NULL; tuned_ell_plan makes one",
          tuned_ell(NULL, NULL, m.x, m.y, &f->err));
  REFUSED(f, TUNED_E_USAGE, "argument x is a NULL address",
          tuned_ell(plan, NULL, NULL, m.y, &f->err));
}

/* Data that are kept are the plan's and the run's. */
CONTEXT_TEST(captures_keep_what_a_plan_was_made_from) {
  matrix m;
  tuned_plan *plan;
  store st;
  rt_captured kept;
  err e = {0};
  char list[128], data[128], path[300], digest[HASH_TEXT];
  tune_ell(f, "ALG=ell,BLOCK=64");
  snprintf(list, sizeof list, "%s/asked", f->folder);
  snprintf(data, sizeof data, "%s/data", f->folder);
  setenv("TUNED_CAPTURE", list, 1);
  setenv("TUNED_CAPTURE_DATA", data, 1);
  reopen(f, f->folder);
  unsetenv("TUNED_CAPTURE");
  unsetenv("TUNED_CAPTURE_DATA");
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  MULTIPLIES(f, plan, &m, text_232);
  hash_bytes(PROBLEM, strlen(PROBLEM), digest);
  snprintf(path, sizeof path, "%s/ell-%s.data", data, digest);
  store_open(&st, f, "ell", PROBLEM);
  assert_ok(rt_captured_open(path, st.t, st.g, PROBLEM, false, &kept, &e), &e);
  assert_memory_equal(kept.bytes[1], lengths_232, sizeof lengths_232);
  assert_memory_equal(kept.bytes[2], columns, sizeof columns);
  assert_memory_equal(kept.bytes[3], values_of_text, sizeof values_of_text);
  assert_memory_equal(kept.bytes[4], x, sizeof x);
  rt_captured_close(&kept);
  store_close(&st);
}

static int record_run(void *self, rt_stream s, err *e) {
  const struct {
    tuned_plan *plan;
    matrix *m;
  } *r = self;
  tuned_error why;
  return tuned_plan_run(r->plan, s, r->m->args, &why) ? err_set(e, ERR_LAUNCH, "%s", why.message)
                                                      : 0;
}

static bool always_captured(rt_device *d, rt_stream s) {
  return d && !s;
}

/* Where nothing records. */
CONTEXT_TEST(a_capture_takes_runs_and_no_preparations) {
  matrix m;
  tuned_plan *plan, *other;
  rt_device_ops ops;
  tune_ell(f, "ALG=ell,BLOCK=64");
  rt_device *d = inside(f)->device;
  const rt_device_ops *real = d->ops;
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  ops = *real;
  ops.capturing = always_captured;
  d->ops = &ops;
  MULTIPLIES(f, plan, &m, text_232);
  REFUSED(f, TUNED_E_USAGE, "the stream is being captured",
          tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &other, &f->err));
  REFUSED(f, TUNED_E_USAGE, "the stream is being captured",
          tuned_plan_renew(plan, NULL, m.args, &f->err));
  d->ops = real;
  MULTIPLIES(f, plan, &m, text_232);
}

static int record_new(void *self, rt_stream s, err *e) {
  fixture *f = self;
  tuned_plan *plan;
  const void *args[6] = {NULL};
  const int rc = tuned_plan_new(f->ctx, s, "ell rows=4 mean=2", args, &plan, &f->err);
  return rc ? err_set(e, rc, "%s", f->err.message) : 0;
}

CONTEXT_TEST(graphs_hold_runs) {
  matrix m;
  tuned_plan *plan;
  rt_graph *graph;
  err e = {0};
  rt_device *d = inside(f)->device;
  if (!d->ops->graph_new) {
    skip_because("graphs need a GPU");
  }
  tune_ell(f, "ALG=ell,BLOCK=64");
  d = inside(f)->device;
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  struct {
    tuned_plan *plan;
    matrix *m;
  } run = {plan, &m};
  assert_ok(d->ops->graph_new(d, record_run, &run, &graph, &e), &e);
  float y[N] = {0};
  OK(f, tuned_copy_to_device(f->ctx, m.y, y, sizeof y, &f->err));
  assert_ok(d->ops->graph_launch(d, graph, NULL, &e), &e);
  OK(f, tuned_copy_to_host(f->ctx, y, m.y, sizeof y, &f->err));
  assert_memory_equal(y, text_232, sizeof y);
  d->ops->graph_free(d, graph);
  assert_true(d->ops->graph_new(d, record_new, f, &graph, &e) != 0);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

CONTEXT_TEST(misuse_is_refused) {
  matrix m;
  tuned_plan *plan = NULL;
  tuned_kernel *k;
  void *odd, *none = NULL;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  odd = (char *)m.values + 2;
  REFUSED(f, TUNED_E_USAGE, "plan is NULL",
          tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "saxpy prepares nothing",
          tuned_plan_new(f->ctx, NULL, "saxpy n=4", m.args, &plan, &f->err));
  REFUSED(f, TUNED_E_USAGE, "args is NULL",
          tuned_plan_new(f->ctx, NULL, PROBLEM, NULL, &plan, &f->err));
  REFUSED(
      f, TUNED_E_USAGE, "argument columns is missing",
      tuned_plan_new(f->ctx, NULL, PROBLEM, (const void *[6]){[1] = &m.offsets}, &plan, &f->err));
  m.args[3] = &none;
  REFUSED(f, TUNED_E_USAGE, "argument values is a NULL address",
          tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  m.args[3] = &odd;
  REFUSED(f, TUNED_E_USAGE, "argument values is not aligned",
          tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  assert_null(plan);
  m.args[3] = &m.values;
  OK(f, tuned_find(f->ctx, PROBLEM, &k, &f->err));
  REFUSED(f, TUNED_E_USAGE, "reads what a plan has prepared",
          tuned_launch(k, NULL, m.args, &f->err));
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  REFUSED(f, TUNED_E_USAGE, "args is NULL", tuned_plan_run(plan, NULL, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "argument y is missing",
          tuned_plan_run(plan, NULL, (const void *[6]){[4] = &m.x}, &f->err));
  m.args[4] = &none;
  REFUSED(f, TUNED_E_USAGE, "argument x is a NULL address",
          tuned_plan_run(plan, NULL, m.args, &f->err));
  REFUSED(f, TUNED_E_USAGE, "the plan is NULL", tuned_plan_run(NULL, NULL, m.args, &f->err));
  tuned_plan_free(NULL);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct user {
  fixture *f;
  tuned_plan *plan; /* NULL: each makes its own */
  rt_stream stream;
  int n_bad;
} user;

static void *use(void *arg) {
  user *u = arg;
  fixture *f = u->f;
  matrix m;
  tuned_error e = {0};
  matrix_put(f, &m, lengths_232, values_of_text);
  for (int i = 0; i < 6; i++) {
    tuned_plan *plan = u->plan;
    u->n_bad += !plan && tuned_plan_new(f->ctx, u->stream, PROBLEM, m.args, &plan, &e);
    u->n_bad += multiply(f, plan, u->stream, &m, text_232, &e);
    if (!u->plan) {
      tuned_plan_free(plan);
    }
  }
  return NULL;
}

static void use_in_threads(fixture *f, tuned_plan *plan) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  user users[THREADS];
  serve *s = inside(f);
  for (int i = 0; i < THREADS; i++) {
    users[i] = (user){.f = f, .plan = plan};
    assert_int_equal(s->device->ops->stream_new(s->device, &users[i].stream, NULL), 0);
    pthread_create(&threads[i], NULL, use, &users[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(users[i].n_bad, 0);
    s->device->ops->stream_free(s->device, users[i].stream);
  }
}

CONTEXT_TEST(threads_share_a_plan_and_make_their_own) {
  matrix m;
  tuned_plan *plan;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err));
  use_in_threads(f, plan);
  use_in_threads(f, NULL);
}

/* ---- a better kernel ------------------------------------------------------------------------- */

/* As the background does: of a problem whose kernels serve this one as well. */
static void put_better(fixture *f, const char *problem, const char *other) {
  tuned_kernel *k, *better;
  OK(f, tuned_find(f->ctx, problem, &k, &f->err));
  OK(f, tuned_find(f->ctx, other, &better, &f->err));
  assert_true(k != better);
  atomic_store(&k->better, better);
}

CONTEXT_TEST(a_better_kernel_takes_over) {
  matrix m;
  tuned_plan *many, *few, *captured;
  tune_ell(f, "ALG=ell,BLOCK=64");
  static const char slow[] = "ell rows=4 mean=2 uses=1000", rare[] = "ell rows=4 mean=2 uses=10";
  store_put(f, &(stored){.problem = slow, .config = "ALG=csr,BLOCK=64"});
  store_put(f, &(stored){.problem = rare, .config = "ALG=csr,BLOCK=64"});
  reopen(f, f->folder);
  matrix_put(f, &m, lengths_232, values_of_text);
  OK(f, tuned_plan_new(f->ctx, NULL, slow, m.args, &many, &f->err));
  OK(f, tuned_plan_new(f->ctx, NULL, rare, m.args, &few, &f->err));
  OK(f, tuned_plan_new(f->ctx, NULL, slow, m.args, &captured, &f->err));
  MULTIPLIES(f, many, &m, text_232);
  assert_false(is_ell(f, many));
  put_better(f, slow, PROBLEM);
  put_better(f, rare, PROBLEM);
  use_in_threads(f, many);
  assert_true(is_ell(f, many));
  MULTIPLIES(f, few, &m, text_232); /* not worth a preparation */
  assert_false(is_ell(f, few));
  OK(f, tuned_plan_renew(few, NULL, m.args, &f->err));
  assert_true(is_ell(f, few));
  MULTIPLIES(f, few, &m, text_232);
  rt_device *d = inside(f)->device;
  const rt_device_ops *real = d->ops;
  rt_device_ops ops = *real;
  ops.capturing = always_captured;
  d->ops = &ops;
  MULTIPLIES(f, captured, &m, text_232);
  assert_false(is_ell(f, captured));
  d->ops = real;
  MULTIPLIES(f, captured, &m, text_232);
  assert_true(is_ell(f, captured));
  OK(f, tuned_plan_values(many, NULL, m.args, &f->err));
  MULTIPLIES(f, many, &m, text_232);
  OK(f, tuned_plan_renew(many, NULL, m.args, &f->err));
  MULTIPLIES(f, many, &m, text_232);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* The device's calls, the k-th of which fails. */
static struct {
  const rt_device_ops *real;
  rt_device_ops ops;
  int left;
} broken;

static int broke(err *e) {
  return broken.left && --broken.left == 0 ? err_set(e, ERR_DEVICE, "made to fail") : 0;
}

static int broken_alloc(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  TRY(broken.left && --broken.left == 0 ? err_set(e, ERR_NOMEM, "made to fail") : 0);
  return broken.real->alloc(d, nbytes, p, e);
}

static int broken_set(rt_device *d, rt_ptr to, uint8_t byte, size_t nbytes, rt_stream s, err *e) {
  TRY(broke(e));
  return broken.real->set(d, to, byte, nbytes, s, e);
}

static int broken_copy_out(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s,
                           err *e) {
  TRY(broke(e));
  return broken.real->copy_out(d, to, from, nbytes, s, e);
}

static int broken_event_new(rt_device *d, rt_event **ev, err *e) {
  TRY(broke(e));
  return broken.real->event_new(d, ev, e);
}

static int broken_event_record(rt_device *d, rt_event *ev, rt_stream s, err *e) {
  TRY(broke(e));
  return broken.real->event_record(d, ev, s, e);
}

static int broken_elapsed(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e) {
  TRY(broke(e));
  return broken.real->elapsed(d, from, to, sec, e);
}

static int broken_launch(rt_device *d, rt_function *fn, const uint32_t grid[3],
                         const uint32_t block[3], uint32_t smem, rt_stream s, void **args, err *e) {
  TRY(broke(e));
  return broken.real->launch(d, fn, grid, block, smem, s, args, e);
}

static void break_device(fixture *f, int at) {
  rt_device *d = inside(f)->device;
  broken.real = broken.real ? broken.real : d->ops;
  broken.ops = *broken.real;
  broken.ops.alloc = broken_alloc;
  broken.ops.set = broken_set;
  broken.ops.copy_out = broken_copy_out;
  broken.ops.event_new = broken_event_new;
  broken.ops.event_record = broken_event_record;
  broken.ops.elapsed = broken_elapsed;
  broken.ops.launch = broken_launch;
  broken.left = at;
  d->ops = at ? &broken.ops : broken.real;
}

static int64_t memory_left(fixture *f) {
  rt_device *d = inside(f)->device;
  int64_t n = 0;
  assert_int_equal(d->ops->memory_free(d, &n, NULL), 0);
  return n;
}

/* The kernel of the problem, and the default's: their modules stay loaded. */
static void load_both(fixture *f) {
  matrix n;
  tuned_plan *plan;
  matrix_put(f, &n, (const int[]){0, 9, 9, 9, 9}, ones);
  OK(f, tuned_plan_new(f->ctx, NULL, PROBLEM, n.args, &plan, &f->err));
  tuned_plan_free(plan);
}

/* With less memory the default serves; nothing stays allocated of a plan that was not made. */
CONTEXT_TEST(failures_of_the_device_leave_nothing_behind) {
  matrix m;
  tuned_plan *plan;
  int at = 1, n_failed = 0, n_default = 0;
  bool was_left;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  load_both(f);
  broken.real = NULL;
  const int64_t before = memory_left(f);
  do {
    break_device(f, at++);
    const int rc = tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err);
    was_left = broken.left;
    break_device(f, 0);
    assert_true(!rc == (plan != NULL));
    assert_true(!rc || strstr(f->err.message, "made to fail"));
    n_failed += rc != 0;
    if (!rc) {
      n_default += !is_ell(f, plan);
      MULTIPLIES(f, plan, &m, text_232);
    }
    tuned_plan_free(plan);
    assert_true(!inside(f)->device->info.modelled || memory_left(f) == before);
  } while (!was_left);
  printf("  %d calls, %d failures, %d times the default\n", at - 1, n_failed, n_default);
  assert_true(n_failed > 5 && n_default == 3);
}

CONTEXT_TEST(failed_allocations_leave_nothing_behind) {
  matrix m;
  tuned_plan *plan;
  long at = 1, n_failed = 0;
  bool was_left;
  tune_ell(f, "ALG=ell,BLOCK=64");
  matrix_put(f, &m, lengths_232, values_of_text);
  load_both(f);
  const int64_t before = memory_left(f);
  do {
    allocations_left = at++;
    const int rc = tuned_plan_new(f->ctx, NULL, PROBLEM, m.args, &plan, &f->err);
    was_left = allocations_left;
    allocations_left = 0;
    assert_true(!rc == (plan != NULL));
    n_failed += rc != 0;
    if (!rc) {
      MULTIPLIES(f, plan, &m, text_232);
    }
    tuned_plan_free(plan);
    assert_true(!inside(f)->device->info.modelled || memory_left(f) == before);
  } while (!was_left);
  printf("  %ld allocations, %ld failures\n", at - 1, n_failed);
  assert_true(n_failed > 3);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
