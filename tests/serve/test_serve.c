/* test_serve.c -- libtuned: which kernel is served, what is refused and why, and failures of the
 * device. Runs on any device: test_serve [--device NAME]. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "export.h"
#include "serve_fixture.h"
#include "serve_key.h"

/* ---- the table ------------------------------------------------------------------------------ */

TEST(table_finds_what_was_put) {
  serve_table t = {0};
  static int values[5000];
  for (int64_t i = 0; i < 5000; i++) {
    const int64_t key[] = {i / 70, i % 70};
    assert_null(serve_table_get(&t, key, sizeof key));
    assert_true(serve_table_put(&t, key, sizeof key, &values[i]));
  }
  for (int64_t i = 0; i < 5000; i++) {
    const int64_t key[] = {i / 70, i % 70};
    assert_ptr_equal(serve_table_get(&t, key, sizeof key), &values[i]);
    assert_null(serve_table_get(&t, key, sizeof key[0])); /* a prefix is another key */
  }
  assert_true(serve_table_put(&t, "text", 4, values));
  assert_ptr_equal(serve_table_get(&t, "text", 4), values);
  assert_null(serve_table_get(&t, "tex", 3));
  serve_table_clear(&t);
  assert_null(serve_table_get(&t, "text", 4));
}

typedef struct reading {
  serve_table *t;
  _Atomic int *n_put;
  int n_lost;
} reading;

enum { PUTS = 3000 };

/* Everything put before a look-up is found, while the table grows. */
static void *read_all(void *ud) {
  reading *r = ud;
  for (int64_t n = 0; n < PUTS;) {
    n = atomic_load(r->n_put);
    for (int64_t i = 0; i < n; i++) {
      r->n_lost += serve_table_get(r->t, &i, sizeof i) != r;
    }
  }
  return NULL;
}

TEST(table_is_read_while_it_grows) {
  serve_table t = {0};
  _Atomic int n_put = 0;
  reading r = {&t, &n_put, 0};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
  for (int64_t i = 0; i < PUTS; i++) {
    assert_true(serve_table_put(&t, &i, sizeof i, &r));
    atomic_store(&n_put, (int)i + 1);
  }
  pthread_join(thread, NULL);
  assert_int_equal(r.n_lost, 0);
  serve_table_clear(&t);
}

TEST(words_tell_choices_apart) {
  assert_int_equal(serve_key_word("n"), 'n');
  assert_int_equal(serve_key_letter('N', 0, 1), 'n');
  assert_int_equal(serve_key_letter('C', 0, 1), 't'); /* real: conjugation has no effect */
  assert_int_equal(serve_key_letter('C', 0, 0), 'c');
  assert_int_equal(serve_key_letter('u', 1, 0), 'U');
  assert_int_not_equal(serve_key_word("sum"), serve_key_word("max"));
  assert_int_equal(serve_key_word(NULL), 0);
}

/* ---- which kernel --------------------------------------------------------------------------- */

CONTEXT_TEST(nobody_tuned_gives_the_default) {
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_int_equal(info.origin, TUNED_DEFAULT);
  assert_string_equal(info.problem, "saxpy n=1000 align=4");
  assert_non_null(strstr(info.config, "BLOCK=256"));
  assert_true(info.expected_sec == 0 && !info.measured);
  assert_true(info.registers > 0);
}

CONTEXT_TEST(same_problem_same_kernel) {
  tuned_kernel *a, *b, *c;
  OK(f, tuned_find(f->ctx, "saxpy n=1000", &a, &f->err));
  OK(f, tuned_find(f->ctx, "  saxpy   align=4 n=1000", &b, &f->err));
  OK(f, tuned_find(f->ctx, "saxpy n=1001", &c, &f->err));
  assert_ptr_equal(a, b);
  assert_ptr_not_equal(a, c);
}

CONTEXT_TEST(tuned_is_served_without_compiler) {
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4", NULL);
  reopen(f, NULL);
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_int_equal(info.origin, TUNED_EXACT);
  assert_non_null(strstr(info.config, "BLOCK=128,VEC=4"));
  assert_true(info.measured && info.expected_sec == 1.25e-6);
  assert_null(inside(f)->compiler);
  assert_true(saxpy_is_right(f, 1000));
  assert_null(inside(f)->compiler);
}

CONTEXT_TEST(other_size_is_not_exact) {
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4", NULL);
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1004").origin, TUNED_NEAREST);
  assert_non_null(strstr(info_of(f, "saxpy n=1000 align=1").config, "BLOCK=128,VEC=1"));
}

CONTEXT_TEST(changed_template_is_not_served) {
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4", "00000000000000000000000000000000");
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1000").origin, TUNED_DEFAULT);
}

/* A stored configuration that breaks a requirement must not run. */
CONTEXT_TEST(invalid_row_is_not_served) {
  store st;
  db *d;
  store_open(&st, f, "saxpy", "n=1001");
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &st.e), &st.e);
  store_trial(&st, d,
              &(stored){.problem = "saxpy n=1001 align=1",
                        .config = "BLOCK=128,VEC=4,COARSE=1,ORDER=interleaved"},
              NULL);
  db_close(d);
  store_close(&st);
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1001").origin, TUNED_DEFAULT);
}

/* The database has an image of the same source as the default: it is loaded, not compiled. */
CONTEXT_TEST(stored_image_of_the_same_source_is_used) {
  store_saxpy(f, "saxpy n=4096 align=4", "", "00000000000000000000000000000000");
  reopen(f, NULL);
  assert_int_equal(info_of(f, "saxpy n=1001").origin, TUNED_DEFAULT);
  assert_int_equal(info_of(f, "saxpy n=1001").spill_nbytes, STORED_SPILL);
  assert_true(saxpy_is_right(f, 1001));
}

/* Untuned sizes differ in their launch, not in their source. */
CONTEXT_TEST(other_sizes_are_not_compiled_again) {
  for (size_t n = 1001; n < 1010; n += 2) {
    assert_true(saxpy_is_right(f, n));
  }
  assert_int_equal(inside(f)->images.n, 2); /* one image, by its key and by its source */
}

static char *copy_template(fixture *f, const char *name, const char *from, const char *to) {
  auto_str text = {0};
  err e = {0};
  static char path[128];
  for (const gen_file *b = gen_builtin; b->name; b++) {
    if (!strcmp(b->name, "saxpy.lua")) {
      const char *at = strstr(b->text, from);
      assert_non_null(at);
      str_add_n(&text, b->text, (size_t)(at - b->text));
      str_addf(&text, "%s%s", to, at + strlen(from));
    }
  }
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  assert_ok(file_write(path, text.p, text.n, &e), &e);
  return path;
}

CONTEXT_TEST(own_template_by_path) {
  char problem[200];
  float host[8];
  fill(host, 8, 1, 1);
  const char *path = copy_template(f, "my own.lua", "BLOCK = 256", "BLOCK = 64");
  snprintf(problem, sizeof problem, "%s n=8", path);
  assert_non_null(strstr(info_of(f, problem).config, "BLOCK=64"));
  assert_non_null(strstr(info_of(f, "saxpy n=8").config, "BLOCK=256")); /* not mixed up */
  tuned_kernel *k;
  const float a = 3, *x = vector_new(f, host, 8), *y = vector_new(f, host, 8);
  const void *args[] = {NULL, &a, &x, &y};
  OK(f, tuned_find(f->ctx, problem, &k, &f->err));
  OK(f, tuned_launch(k, NULL, args, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, host, y, sizeof host, &f->err));
  assert_true(host[0] == 4 && host[7] == 32);
}

/* Kernels read managed memory and write the host's, pinned, in place. */
CONTEXT_TEST(managed_and_mapped_memory_are_addresses) {
  rt_device *d = inside(f)->device;
  rt_ptr managed;
  void *mapped;
  if (!d->ops->managed_alloc) {
    skip_because("needs a GPU: placement of memory is not emulated");
  }
  assert_int_equal(d->ops->managed_alloc(d, 1000 * sizeof(float), &managed, NULL), 0);
  assert_int_equal(d->ops->host_alloc(d, 1000 * sizeof(float), &mapped, NULL), 0);
  float *x = (float *)(uintptr_t)managed, *y = mapped;
  fill(x, 1000, 1, 1);
  fill(y, 1000, 2, 0);
  OK(f, tuned_saxpy(f->ctx, NULL, 1000, 3, x, y, &f->err));
  assert_int_equal(d->ops->stream_sync(d, NULL, NULL), 0);
  for (int i = 0; i < 1000; i++) {
    assert_true(y[i] == 3 * x[i] + 2);
  }
  d->ops->release(d, managed);
  d->ops->host_free(d, mapped);
}

CONTEXT_TEST(folders_come_from_the_environment) {
  char folders[160];
  tuned_close(f->ctx);
  copy_template(f, "saxpy.lua", "BLOCK = 256", "BLOCK = 512");
  snprintf(folders, sizeof folders, "/nowhere::%s", f->folder);
  setenv("TUNED_TEMPLATES", folders, 1);
  setenv("TUNED_DB", f->db_path, 1);
  OK(f, tuned_open(&f->ctx, &(tuned_options){.device = device_name}, &f->err));
  inside(f)->sources.presets = NULL;
  inside(f)->sources.portfolios = NULL;
  unsetenv("TUNED_TEMPLATES");
  unsetenv("TUNED_DB");
  assert_non_null(strstr(info_of(f, "saxpy n=4").config, "BLOCK=512"));
}

/* TUNED_TEMPLATES may replace a built-in family; the typed call serves it if it still fits. */
CONTEXT_TEST(own_family_behind_the_typed_call) {
  copy_template(f, "saxpy.lua", "BLOCK = 256", "BLOCK = 128");
  assert_true(saxpy_is_right(f, 777));
  assert_non_null(strstr(info_of(f, "saxpy n=777").config, "BLOCK=128"));
}

CONTEXT_TEST(own_family_with_other_arguments_is_refused) {
  float host[4] = {0};
  copy_template(f, "saxpy.lua", "{ \"a\", \"f32\"", "{ \"a\", \"f64\"");
  float *x = vector_new(f, host, 4);
  REFUSED(f, TUNED_E_USAGE, "use tuned_find", tuned_saxpy(f->ctx, NULL, 4, 2, x, x, &f->err));
}

/* ---- what is refused ------------------------------------------------------------------------ */

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

/* ---- export --------------------------------------------------------------------------------- */

static void export_of(store *st, const char *config, const char *name, str *out, int expected) {
  const gen_plan *plan;
  gen_config c;
  const export_info x = {.problem = "saxpy n=1001 align=1",
                         .config = config,
                         .command = "autotune export",
                         .arch = "sm_90",
                         .device = "a GPU",
                         .sec = 2e-6,
                         .measured = true,
                         .nvrtc = 13000,
                         .name = name};
  err_clear(&st->e);
  assert_ok(gen_config_parse(st->t, config, &c, &st->e), &st->e);
  assert_ok(gen_plan_make(st->g, &c, &st->memory, &plan, &st->e), &st->e);
  assert_int_equal(export_header(st->t, plan, &x, out, &st->e), expected);
}

CONTEXT_TEST(header_says_how_to_launch) {
  store st;
  auto_str a = {0}, b = {0};
  store_open(&st, f, "saxpy", "n=1001");
  export_of(&st, "BLOCK=128", NULL, &a, 0);
  export_of(&st, "BLOCK=128", NULL, &b, 0);
  assert_string_equal(str_text(&a), str_text(&b));
  assert_non_null(strstr(str_text(&a), "#define SAXPY_n 1001\n"));
  assert_non_null(strstr(str_text(&a), "grid0[] = {8, 1, 1}, block0[] = {128, 1, 1};\n"));
  assert_non_null(
      strstr(str_text(&a), "tuned_launch_kernel(kernels->saxpy, grid0, block0, 0, stream,"));
  assert_non_null(strstr(str_text(&a), "2 microseconds a launch, measured"));
  str_reset(&b);
  export_of(&st, "BLOCK=128", "mine", &b, 0);
  assert_non_null(strstr(str_text(&b), "mine_launch("));
  export_of(&st, "BLOCK=128", "not-a-name", &b, ERR_USAGE);
  store_close(&st);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
