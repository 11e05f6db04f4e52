/* test_capture.c -- TUNED_CAPTURE writes each problem that a program asks for once, with a count,
 * from any number of contexts, and tuning's --sizes reads the file. */
#define _GNU_SOURCE
#include "capture_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "capture_list.h"
#include "sizes.h"

CONTEXT_TEST(test_problems_and_calls_are_written) {
  captured c;
  start(&c, f, "asked");
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

CONTEXT_TEST(test_contexts_add_up) {
  captured c;
  for (int round = 0; round < 3; round++) {
    start(&c, f, "shared");
    vectors(&c);
    call(&c, N, 5);
    call(&c, 500 + 4 * round, 1);
    close_context(c.f);
  }
  holds(c.path, "saxpy n=1000 align=4  # 15 calls\n", true);
  holds(c.path, "saxpy n=500 align=4  # 1 calls\n", true);
  holds(c.path, "saxpy n=508 align=4  # 1 calls\n", true);

  auto_template *t = NULL;
  auto_arena a = {0};
  sizes s;
  err e = {0};
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  assert_ok(sizes_read(t, c.path, "", &a, &s, &e), &e);
  assert_int_equal(s.n, 4);
}

static void *many_calls(void *arg) {
  captured *c = arg;
  int rc = 0;
  for (int i = 0; i < 50; i++) {
    rc |= tuned_saxpy(c->f->ctx, NULL, N, 2, c->x, c->y, NULL);
  }
  return rc ? arg : NULL;
}

CONTEXT_TEST(test_threads_are_counted) {
  captured c;
  pthread_t threads[4];
  start(&c, f, "threads");
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

/* Of 20,000 lines each is found by its hash, not by comparing it with all others. */
CONTEXT_TEST(test_many_problems_are_added_quickly) {
  enum { LINES = 20000 };
  char path[200], problem[40];
  capture_lines more = {0};
  str text = {0};
  snprintf(path, sizeof path, "%s/many.txt", f->folder);
  for (int i = 0; i < LINES; i++) {
    const int n = snprintf(problem, sizeof problem, "saxpy n=%d", i);
    capture_lines_add(&more, problem, (size_t)n, 2, NULL, 0);
  }
  const clock_t from = clock();
  assert_true(capture_list_add(path, &more) && capture_list_add(path, &more));
  assert_true(clock() - from < CLOCKS_PER_SEC);
  err e = {0};
  assert_ok(file_read(path, 1 << 22, &text, &e), &e);
  assert_non_null(strstr(str_text(&text), "\nsaxpy n=0  # 4 calls\n"));
  assert_non_null(strstr(str_text(&text), "\nsaxpy n=19999  # 4 calls\n"));
  str_clear(&text);
  capture_lines_clear(&more);
}

static void on_alarm(int number) {
  (void)number;
}

/* The list is waited for, however many signals the program gets meanwhile. */
CONTEXT_TEST(test_a_lock_is_waited_for_through_signals) {
  enum { HELD_US = 100000 };
  char path[200];
  capture_lines more = {0};
  int ready[2];
  snprintf(path, sizeof path, "%s/held.txt", f->folder);
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (!child) {
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    flock(fd, LOCK_EX);
    (void)!write(ready[1], "x", 1);
    usleep(HELD_US);
    _exit(0);
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  struct sigaction action = {.sa_handler = on_alarm},
                   before; /* calls are interrupted, not begun again */
  sigaction(SIGALRM, &action, &before);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 2000}, {0, 2000}}, NULL);
  capture_lines_add(&more, "saxpy n=1", 9, 1, NULL, 0);
  const double from = now_sec();
  assert_true(capture_list_add(path, &more));
  assert_true(now_sec() - from > HELD_US * 0.5e-6);
  setitimer(ITIMER_REAL, &(struct itimerval){{0}}, NULL);
  sigaction(SIGALRM, &before, NULL);
  waitpid(child, NULL, 0);
  close(ready[0]);
  close(ready[1]);
  capture_lines_clear(&more);
}

CONTEXT_TEST(test_each_process_may_have_a_file) {
  captured c;
  char path[200];
  start(&c, f, "asked.%p.txt");
  vectors(&c);
  call(&c, N, 1);
  close_context(c.f);
  snprintf(path, sizeof path, "%s/asked.%ld.txt", c.f->folder, (long)getpid());
  holds(path, "saxpy n=1000 align=4  # 1 calls\n", true);
}

CONTEXT_TEST(test_a_file_that_cannot_be_written_is_told) {
  tuned_context *ctx;
  setenv("TUNED_CAPTURE", "/no/such/folder/asked", 1);
  const tuned_options o = {.device = device_name, .database = f->db_path};
  REFUSED(f, TUNED_E_IO, "TUNED_CAPTURE: /no/such/folder/asked", tuned_open(&ctx, &o, &f->err));
  char path[200];
  snprintf(path, sizeof path, "%s/pipe", f->folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  setenv("TUNED_CAPTURE", path, 1);
  REFUSED(f, TUNED_E_IO, "pipe can't be written", tuned_open(&ctx, &o, &f->err));
  unsetenv("TUNED_CAPTURE");
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
