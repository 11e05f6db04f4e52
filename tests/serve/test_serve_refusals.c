/* test_serve_refusals.c -- libtuned: what is refused and why, forks, signals, and failures of the
 * device. Runs on any device: test_serve_refusals [--device NAME]. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "serve_fixture.h"

CONTEXT_TEST(empty_problems_are_nothing_to_do) {
  OK(f, tuned_saxpy(f->ctx, NULL, 0, 1, NULL, NULL, &f->err));
  OK(f, tuned_sgemm(f->ctx, NULL, 'n', 'n', 0, 5, 5, 1, NULL, 1, NULL, 5, 0, NULL, 1, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, NULL, NULL, 0, &f->err));
  OK(f, tuned_free(f->ctx, NULL, &f->err));
  assert_null(inside(f)->compiler); /* nothing was built for it */
}

CONTEXT_TEST(only_what_was_allocated_is_freed) {
  char on_host[16];
  void *p;
  OK(f, tuned_alloc(f->ctx, 64, &p, &f->err));
  REFUSED(f, TUNED_E_DEVICE, "free", tuned_free(f->ctx, on_host, &f->err));
  REFUSED(f, TUNED_E_DEVICE, "free", tuned_free(f->ctx, (char *)p + 16, &f->err));
  OK(f, tuned_free(f->ctx, p, &f->err));
  REFUSED(f, TUNED_E_DEVICE, "free", tuned_free(f->ctx, p, &f->err));
  OK(f, tuned_free(f->ctx, NULL, &f->err));
}

CONTEXT_TEST(arguments_are_refused_by_name) {
  float host[16] = {0}, *p = vector_new(f, host, 16);
  REFUSED(f, TUNED_E_USAGE, "tuned_saxpy: n is -1",
          tuned_saxpy(f->ctx, NULL, -1, 1, p, p, &f->err));
  REFUSED(f, TUNED_E_USAGE, "tuned_saxpy: n is 9223372036854775807",
          tuned_saxpy(f->ctx, NULL, INT64_MAX, 1, p, p, &f->err));
  REFUSED(f, TUNED_E_USAGE, "argument x is a NULL address",
          tuned_saxpy(f->ctx, NULL, 4, 1, NULL, p, &f->err));
  REFUSED(f, TUNED_E_USAGE, "ta must be one of n, t",
          tuned_sgemm(f->ctx, NULL, 'x', 'n', 2, 2, 2, 1, p, 2, p, 2, 0, p, 2, &f->err));
  REFUSED(f, TUNED_E_USAGE, "tuned_sgemm: k is -2",
          tuned_sgemm(f->ctx, NULL, 'n', 'n', 2, 2, -2, 1, p, 2, p, 2, 0, p, 2, &f->err));
  REFUSED(f, TUNED_E_USAGE, "lda",
          tuned_sgemm(f->ctx, NULL, 'n', 'n', 4, 2, 2, 1, p, 3, p, 2, 0, p, 4, &f->err));
  REFUSED(f, TUNED_E_USAGE, "ldc",
          tuned_sgemm(f->ctx, NULL, 'n', 'n', 4, 2, 2, 1, p, 4, p, 2, 0, p, 3, &f->err));
  REFUSED(f, TUNED_E_USAGE, "op must be one of",
          tuned_reduce(f->ctx, NULL, "mean", "f32", 4, p, p, &f->err));
  REFUSED(f, TUNED_E_USAGE, "op must be one of",
          tuned_reduce(f->ctx, NULL, NULL, "f32", 4, p, p, &f->err));
  void *between = (char *)p + 2;
  REFUSED(f, TUNED_E_USAGE, "argument x is not aligned to its elements",
          tuned_saxpy(f->ctx, NULL, 3, 1, between, p, &f->err));
  OK(f, tuned_saxpy(f->ctx, NULL, 3, 1, p + 1, p, &f->err));
  OK(f, tuned_saxpy(f->ctx, NULL, 4, 1, p, p, &f->err));
  assert_string_equal(f->err.message, ""); /* a success clears the error */
}

CONTEXT_TEST(problems_are_refused) {
  tuned_kernel *k;
  REFUSED(f, TUNED_E_NOTFOUND, "saxpy", tuned_find(f->ctx, "saxpi n=4", &k, &f->err));
  REFUSED(f, TUNED_E_NOTFOUND, "give the path of one, or a family: argmax ",
          tuned_find(f->ctx, "conjugate_gradient n=4", &k, &f->err));
  assert_null(k);
  REFUSED(f, TUNED_E_USAGE, "m", tuned_find(f->ctx, "saxpy m=4", &k, &f->err));
  REFUSED(f, TUNED_E_USAGE, "n", tuned_find(f->ctx, "saxpy n=-4", &k, &f->err));
  REFUSED(f, TUNED_E_USAGE, "n", tuned_find(f->ctx, "saxpy n=2^40", &k, &f->err));
  assert_int_not_equal(tuned_find(f->ctx, "", &k, &f->err), 0);
  assert_int_not_equal(tuned_find(f->ctx, "/nowhere/mine.lua n=4", &k, &f->err), 0);
}

CONTEXT_TEST(nulls_are_refused) {
  tuned_kernel *k;
  tuned_kernel_info info;
  const void *args[4] = {NULL};
  void *p;
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_open(NULL, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_find(NULL, "saxpy n=4", &k, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_find(f->ctx, NULL, &k, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_find(f->ctx, "saxpy n=4", NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_launch(NULL, NULL, args, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_info(NULL, &info, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_alloc(f->ctx, 4, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_alloc(NULL, 4, &p, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_copy_to_device(f->ctx, NULL, args, 4, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_saxpy(NULL, NULL, 4, 1, NULL, NULL, &f->err));
  assert_int_equal(tuned_find(NULL, NULL, NULL, NULL),
                   TUNED_E_USAGE); /* and the error may be NULL */
  OK(f, tuned_find(f->ctx, "saxpy n=4", &k, NULL));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_info(k, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "args is NULL", tuned_launch(k, NULL, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "argument a is missing", tuned_launch(k, NULL, args, &f->err));
  tuned_close(NULL);
}

CONTEXT_TEST(closed_contexts_are_refused) {
  tuned_context *closed = f->ctx;
  f->ctx = NULL;
  tuned_close(closed);
  tuned_close(closed);
  REFUSED(f, TUNED_E_USAGE, "closed", tuned_sync(closed, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "closed", tuned_saxpy(closed, NULL, 4, 1, NULL, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "no context", tuned_sync((tuned_context *)f, NULL, &f->err));
}

CONTEXT_TEST(opening_can_fail) {
  tuned_context *ctx = f->ctx;
  err e = {0};
  REFUSED(f, TUNED_E_DEVICE, "there is no device",
          tuned_open(&ctx, &(tuned_options){.device = "toaster"}, &f->err));
  assert_null(ctx);
  REFUSED(f, TUNED_E_DATABASE, "is not a file",
          tuned_open(&ctx, &(tuned_options){.device = device_name, .database = "/"}, &f->err));
  assert_ok(
      file_write(f->db_path, "not a database at all, but long enough to be looked into", 56, &e),
      &e);
  REFUSED(
      f, TUNED_E_DATABASE, "database",
      tuned_open(&ctx, &(tuned_options){.device = device_name, .database = f->db_path}, &f->err));
  assert_null(ctx);
}

/* A log beside the database is read as part of it. */
static void logs_of_others_are_refused(fixture *f, const tuned_options *o) {
  tuned_context *ctx;
  err e = {0};
  auto_str log = {0};
  str_addf(&log, "%s-shm", f->db_path);
  unlink(str_text(&log)); /* others could write it, as the database */
  str_reset(&log);
  str_addf(&log, "%s-wal", f->db_path);
  assert_ok(file_write(str_text(&log), "log", 3, &e), &e);
  assert_int_equal(chmod(str_text(&log), 0666), 0);
  REFUSED(f, TUNED_E_DATABASE, "-wal", tuned_open(&ctx, o, &f->err));
  unlink(str_text(&log));
}

/* A database contains code, so one that others can write is refused. */
CONTEXT_TEST(databases_of_others_are_refused) {
  tuned_context *ctx;
  const tuned_options o = {.device = device_name, .database = f->db_path};
  const tuned_options trusting = {
      .device = device_name, .database = f->db_path, .trust_database = 1};
  store_saxpy(f, "saxpy n=1000 align=4", "", NULL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(chmod(f->db_path, i ? 0620 : 0602), 0);
    REFUSED(f, TUNED_E_DATABASE, "others can write", tuned_open(&ctx, &o, &f->err));
    OK(f, tuned_open(&ctx, &trusting, &f->err));
    tuned_close(ctx);
    setenv("TUNED_TRUST", "1", 1);
    OK(f, tuned_open(&ctx, &o, &f->err));
    tuned_close(ctx);
    unsetenv("TUNED_TRUST");
  }
  assert_int_equal(chmod(f->db_path, 0644), 0);
  logs_of_others_are_refused(f, &o);
  OK(f, tuned_open(&ctx, &o, &f->err));
  tuned_close(ctx);
  if (!geteuid()) { /* only root can give a file away */
    assert_int_equal(chown(f->db_path, 12345, 12345), 0);
    REFUSED(f, TUNED_E_DATABASE, "another user", tuned_open(&ctx, &o, &f->err));
  }
}

/* The calls of a forked child are refused; returns the number of the first that was not. */
static int use_after_fork(fixture *f, tuned_kernel *k) {
  tuned_kernel *other;
  tuned_context *own;
  const tuned_options o = {.device = device_name, .database = f->db_path};
  const void *args[4] = {NULL};
  if (tuned_find(f->ctx, "saxpy n=4", &other, &f->err) != TUNED_E_USAGE ||
      !strstr(f->err.message, "fork")) {
    return 1;
  }
  if (tuned_saxpy(f->ctx, NULL, 4, 1, NULL, NULL, &f->err) != TUNED_E_USAGE) {
    return 2;
  }
  if (tuned_launch(k, NULL, args, &f->err) != TUNED_E_USAGE || !strstr(f->err.message, "fork")) {
    return 3;
  }
  tuned_close(f->ctx);
  /* on a GPU the driver itself does not survive the fork */
  const bool gpu = !k->owner->device->info.modelled;
  return !gpu && tuned_open(&own, &o, &f->err) ? 4 : 0;
}

CONTEXT_TEST(a_fork_is_told) {
  tuned_kernel *k;
  int status;
  OK(f, tuned_find(f->ctx, "saxpy n=4", &k, &f->err));
  const pid_t child = fork();
  if (!child) {
    _exit(use_after_fork(f, k));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 100, 0);
  assert_true(saxpy_is_right(f, 4)); /* and the parent goes on */
}

static _Atomic int n_signals;

static void count_signal(int number) {
  (void)number;
  n_signals++;
}

/* A program's own signals, two thousand a second and some of SIGCHLD, whose handlers do not
 * restart system calls: opening, compiling, reading the database and launching are what they are
 * without. */
CONTEXT_TEST(signals_interrupt_no_call) {
  static const int numbers[] = {SIGALRM, SIGCHLD};
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = count_signal}, before[2];
  int status;
  for (int i = 0; i < 2; i++) {
    sigaction(numbers[i], &action, &before[i]);
  }
  setitimer(ITIMER_REAL, &often, NULL);
  n_signals = 0;
  for (int i = 0; i < 8; i++) {
    const pid_t child = fork();
    if (!child) {
      _exit(0);
    }
    remove(f->db_path);
    store_saxpy(f, "saxpy n=4096 align=4", i % 2 ? "BLOCK=128,VEC=4" : "BLOCK=64,VEC=1", NULL);
    reopen(f, f->folder);
    assert_int_equal(info_of(f, "saxpy n=4096").origin, TUNED_EXACT);
    for (size_t n = 1; n < 20; n += 6) {
      assert_true(saxpy_is_right(f, n * 10 + (size_t)i));
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    assert_int_equal(status, 0);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  assert_true(n_signals > 20);
  for (int i = 0; i < 2; i++) {
    sigaction(numbers[i], &before[i], NULL);
  }
}

/* The k-th device call fails, for all k: the failure is reported, nothing leaks, and the next
 * attempt works. */
static struct {
  const rt_device_ops *own;
  int left; /* calls until one fails */
} fault;

static int fail_here(err *e) {
  return --fault.left == 0 ? err_set(e, ERR_DEVICE, "injected") : 0;
}

static int bad_alloc(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  TRY(fail_here(e));
  return fault.own->alloc(d, nbytes, p, e);
}

static int bad_set(rt_device *d, rt_ptr to, uint8_t byte, size_t nbytes, rt_stream s, err *e) {
  TRY(fail_here(e));
  return fault.own->set(d, to, byte, nbytes, s, e);
}

static int bad_load(rt_device *d, const void *image, size_t nbytes, rt_module **m, err *e) {
  TRY(fail_here(e));
  return fault.own->module_load(d, image, nbytes, m, e);
}

static int bad_function(rt_device *d, rt_module *m, const char *name, rt_function **f, err *e) {
  TRY(fail_here(e));
  return fault.own->function(d, m, name, f, e);
}

static int bad_launch(rt_device *d, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                      uint32_t smem, rt_stream s, void **args, err *e) {
  TRY(fail_here(e));
  return fault.own->launch(d, f, grid, block, smem, s, args, e);
}

static int bad_overlapping(rt_device *d, rt_function *f, const uint32_t grid[3],
                           const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                           err *e) {
  TRY(fail_here(e));
  return fault.own->launch_overlapping(d, f, grid, block, smem, s, args, e);
}

/* Runs a kernel with a workspace while the k-th device call fails; returns whether that call
 * came. */
static bool fails_at(fixture *f, int k, const float *x, float *y) {
  rt_device *d = inside(f)->device;
  rt_device_ops bad = *d->ops;
  fault.own = d->ops;
  fault.left = k;
  bad.alloc = bad_alloc;
  bad.set = bad_set;
  bad.module_load = bad_load;
  bad.function = bad_function;
  bad.launch = bad_launch;
  bad.launch_overlapping = fault.own->launch_overlapping ? bad_overlapping : NULL;
  d->ops = &bad;
  const int rc = tuned_reduce(f->ctx, NULL, "sum", "f32", 8, x, y, &f->err);
  d->ops = fault.own;
  assert_int_equal(rc, fault.left <= 0 ? TUNED_E_DEVICE : 0);
  assert_string_equal(f->err.message, rc ? "injected" : "");
  return rc;
}

CONTEXT_TEST(every_device_failure_is_survived) {
  setenv("TUNED_CACHE", "/dev/null/none",
         1); /* a kept image that cannot be loaded is compiled again */
  float host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum;
  int k = 1, n_failed = 0;
  size_t workspace = 0;
  for (bool failed = true; failed; k++) {
    reopen(f, NULL);
    float *x = vector_new(f, host, 8), *y = vector_new(f, host, 1);
    failed = fails_at(f, k, x, y);
    n_failed += failed;
    OK(f, tuned_reduce(f->ctx, NULL, "sum", "f32", 8, x, y, &f->err));
    OK(f, tuned_copy_to_host(f->ctx, &sum, y, sizeof sum, &f->err));
    assert_true(sum == 36);
    OK(f, tuned_reduce_with(f->ctx, NULL, "sum", "f32", 8, x, y, NULL, &workspace, &f->err));
  }
  assert_true(n_failed >= (workspace ? 5 : 3)); /* load, look up, [workspace, its zeros,] launch */
}

/* An emulated device reserves addresses in proportion to the host's memory, so it is bounded
 * here. */
CONTEXT_TEST(contexts_run_out_politely) {
  const char *device = strcmp(device_name, "emu") ? device_name : "emu:h200,memory=268435456";
  const tuned_options o = {.device = device, .database = f->db_path};
  static tuned_context *many[256];
  int n = 0, rc = 0;
  while (n < 256 && !(rc = tuned_open(&many[n], &o, &f->err))) {
    n++;
  }
  assert_int_equal(n, 255); /* the fixture's is open as well */
  assert_int_equal(rc, TUNED_E_LIMIT);
  while (n > 0) {
    tuned_close(many[--n]);
  }
  OK(f, tuned_open(&many[0], &o, &f->err));
  tuned_close(many[0]);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
