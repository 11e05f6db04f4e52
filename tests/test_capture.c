/* test_capture.c -- TUNED_CAPTURE: what a program asks for stands in the file, counted, once a
 * problem, however many contexts write it; and tuning's --sizes reads it. */
#define _GNU_SOURCE
#include "serve_fixture.h"

#include <pthread.h>

#include "sizes.h"

enum { N = 1000 };

typedef struct captured {
  fixture *f;
  char path[120];
  float *x, *y;
} captured;

static void start(captured *c, fixture *f, const char *name) {
  *c = (captured){.f = f};
  snprintf(c->path, sizeof c->path, "%s/%s", f->folder, name);
  setenv("TUNED_CAPTURE", c->path, 1);
  reopen(f, f->folder);
  unsetenv("TUNED_CAPTURE");
}

static void vectors(captured *c) {
  static const float zeros[2 * N];
  void *p[2];
  for (int i = 0; i < 2; i++) {
    OK(c->f, tuned_alloc(c->f->ctx, sizeof zeros, &p[i], &c->f->err));
    OK(c->f, tuned_copy_to_device(c->f->ctx, p[i], zeros, sizeof zeros, &c->f->err));
  }
  c->x = p[0];
  c->y = p[1];
}

static void call(captured *c, int n, int times) {
  for (int i = 0; i < times; i++) {
    OK(c->f, tuned_saxpy(c->f->ctx, NULL, n, 2, c->x, c->y, &c->f->err));
  }
}

static void close_context(fixture *f) {
  tuned_close(f->ctx);
  f->ctx = NULL;
}

static void holds(const char *path, const char *words, bool yes) {
  str text = {0};
  err e = {0};
  assert_ok(file_read(path, 1 << 20, &text, &e), &e);
  if (!strstr(str_text(&text), words) == yes) {
    fail_msg("'%s' %s in: %s", words, yes ? "is not" : "is", str_text(&text));
  }
  str_clear(&text);
}

static void test_problems_and_calls_are_written(void **state) {
  captured c;
  start(&c, *state, "asked");
  vectors(&c);
  call(&c, N, 17);
  call(&c, 0, 1);                                 /* nothing to tune there */
  holds(c.path, "saxpy n=1000 align=4  #", true); /* before the context is closed */
  call(&c, 999, 2);
  close_context(c.f);
  holds(c.path, "saxpy n=1000 align=4  # 17 calls\n", true);
  holds(c.path, "saxpy n=999 align=1  # 2 calls\n", true);
  holds(c.path, "n=0", false);
}

static void test_contexts_add_up(void **state) {
  captured c;
  for (int round = 0; round < 3; round++) {
    start(&c, *state, "shared");
    vectors(&c);
    call(&c, N, 5);
    call(&c, 500 + 4 * round, 1);
    close_context(c.f);
  }
  holds(c.path, "saxpy n=1000 align=4  # 15 calls\n", true);
  holds(c.path, "saxpy n=500 align=4  # 1 calls\n", true);
  holds(c.path, "saxpy n=508 align=4  # 1 calls\n", true);

  gen_template *t;
  arena a = {0};
  sizes s;
  err e = {0};
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  assert_ok(sizes_read(t, c.path, "", &a, &s, &e), &e);
  assert_int_equal(s.n, 4);
  gen_close(t);
  arena_clear(&a);
}

static void *many_calls(void *arg) {
  captured *c = arg;
  int rc = 0;
  for (int i = 0; i < 50; i++) {
    rc |= tuned_saxpy(c->f->ctx, NULL, N, 2, c->x, c->y, NULL);
  }
  return rc ? arg : NULL;
}

static void test_threads_are_counted(void **state) {
  captured c;
  pthread_t threads[4];
  start(&c, *state, "threads");
  vectors(&c);
  for (int i = 0; i < 4; i++) {
    pthread_create(&threads[i], NULL, many_calls, &c);
  }
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  close_context(c.f);
  holds(c.path, "saxpy n=1000 align=4  # 200 calls\n", true);
}

static void test_each_process_may_have_a_file(void **state) {
  captured c;
  char path[200];
  start(&c, *state, "asked.%p.txt");
  vectors(&c);
  call(&c, N, 1);
  close_context(c.f);
  snprintf(path, sizeof path, "%s/asked.%ld.txt", c.f->folder, (long)getpid());
  holds(path, "saxpy n=1000 align=4  # 1 calls\n", true);
}

static void test_a_file_that_cannot_be_written_is_told(void **state) {
  fixture *f = *state;
  tuned_context *ctx;
  setenv("TUNED_CAPTURE", "/no/such/folder/asked", 1);
  const tuned_options o = {.device = device_name, .database = f->db_path};
  REFUSED(f, TUNED_E_IO, "TUNED_CAPTURE: /no/such/folder/asked", tuned_open(&ctx, &o, &f->err));
  unsetenv("TUNED_CAPTURE");
}

int main(int argc, char **argv) {
  device_name = device_argument(argc, argv, "emu");
  const struct CMUnitTest tests[] = {
      WITH_CONTEXT(test_problems_and_calls_are_written),
      WITH_CONTEXT(test_contexts_add_up),
      WITH_CONTEXT(test_threads_are_counted),
      WITH_CONTEXT(test_each_process_may_have_a_file),
      WITH_CONTEXT(test_a_file_that_cannot_be_written_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
