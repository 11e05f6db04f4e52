/* test_worker.c -- child processes that answer, die and hang, and the frames they exchange. */
#define _GNU_SOURCE
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "image_prefetch.h"
#include "worker_pool.h"
#include "gen.h"

TEST(frames_read_back_what_was_put) {
  auto_str s = {0};
  err e = {0}, back = {0};
  size_t n;
  err_at(&e, ERR_WRONG, "a.lua:3", "seven is not %d", 8);
  wire_put_u64(&s, 42);
  wire_put_f64(&s, -0.5);
  wire_put_bytes(&s, "a\0b", 3);
  wire_put_text(&s, "text");
  wire_put_text(&s, NULL);
  wire_put_err(&s, &e);
  wire_reader r = {.p = s.p, .n = s.n};
  assert_int_equal(wire_get_u64(&r), 42);
  assert_true(wire_get_f64(&r) == -0.5);
  assert_memory_equal(wire_get_bytes(&r, &n), "a\0b", 3);
  assert_int_equal(n, 3);
  assert_string_equal(wire_get_text(&r), "text");
  assert_string_equal(wire_get_text(&r), "");
  wire_get_err(&r, &back);
  assert_int_equal(back.code, ERR_WRONG);
  assert_string_equal(back.message, "seven is not 8");
  assert_string_equal(back.place, "a.lua:3");
  assert_false(r.failed);
  assert_int_equal(r.n, 0);
}

TEST(a_short_frame_fails_and_yields_zeros) {
  auto_str s = {0};
  wire_put_bytes(&s, "abcdef", 6);
  for (size_t cut = 0; cut < s.n; cut++) {
    wire_reader r = {.p = s.p, .n = cut};
    size_t n;
    const void *p = wire_get_bytes(&r, &n);
    assert_true(r.failed);
    assert_null(p);
    assert_int_equal(n, 0);
    assert_int_equal(wire_get_u64(&r), 0);
  }
}

/* Answers "echo TEXT"; "die": a segmentation fault; "leave": exit 7; "hang": never answers. */
static void echo_main(int fd, void *setting) {
  str request = {0}, frame = {0};
  while (!wire_receive(fd, &request, NULL)) {
    wire_reader r = {.p = request.p, .n = request.n};
    const char *text = wire_get_text(&r);
    if (!strcmp(text, "die")) {
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    } else if (!strcmp(text, "leave")) {
      _exit(7);
    } else if (!strcmp(text, "hang")) {
      for (;;) {
        pause();
      }
    }
    str_reset(&frame);
    wire_put_text(&frame, setting);
    wire_put_text(&frame, text);
    wire_send(fd, &frame, NULL);
  }
}

static int ask(worker *w, const char *text, err *e) {
  auto_str frame = {0};
  wire_put_text(&frame, text);
  int rc = worker_ask(w, &frame, e);
  return rc;
}

TEST(a_worker_answers_in_turn) {
  char setting[] = "set";
  worker w = {.run = echo_main, .setting = setting};
  err e = {0};
  auto_str answer = {0}, how = {0};
  assert_ok(worker_start(&w, &e), &e);
  for (int i = 0; i < 100; i++) {
    char text[32];
    snprintf(text, sizeof text, "number %d", i);
    assert_ok(ask(&w, text, &e), &e);
    assert_true(w.busy);
    assert_ok(worker_answer(&w, &answer, &how, &e), &e);
    assert_false(w.busy);
    wire_reader r = {.p = answer.p, .n = answer.n};
    assert_string_equal(wire_get_text(&r), "set");
    assert_string_equal(wire_get_text(&r), text);
  }
  worker_stop(&w);
  assert_int_equal(w.pid, 0);
  worker_stop(&w);
}

static void death_of(const char *request, const char *says) {
  char setting[] = "";
  worker w = {.run = echo_main, .setting = setting};
  err e = {0};
  auto_str answer = {0}, how = {0};
  assert_ok(worker_start(&w, &e), &e);
  assert_ok(ask(&w, request, &e), &e);
  assert_fails(worker_answer(&w, &answer, &how, &e), &e, ERR_NOTFOUND, says);
  assert_non_null(strstr(str_text(&how), says));
  assert_int_equal(w.pid, 0);
  err_clear(&e);
  assert_ok(worker_start(&w, &e), &e); /* and goes on */
  assert_ok(ask(&w, "still", &e), &e);
  assert_ok(worker_answer(&w, &answer, &how, &e), &e);
  worker_stop(&w);
}

TEST(a_dying_worker_says_how) {
  death_of("leave", "exit status 7");
#ifndef __SANITIZE_ADDRESS__
  death_of("die", "signal 11");
#endif
}

TEST(a_hanging_worker_can_be_ended) {
  char setting[] = "";
  worker w = {.run = echo_main, .setting = setting};
  err e = {0};
  assert_ok(worker_start(&w, &e), &e);
  assert_ok(ask(&w, "hang", &e), &e);
  struct pollfd p = {.fd = w.fd, .events = POLLIN};
  assert_int_equal(poll(&p, 1, 50), 0);
  assert_true(now_sec() - w.since >= 0.04);
  pid_t pid = w.pid;
  worker_stop(&w);
  assert_int_equal(kill(pid, 0), -1);
}

/* Killing the parent must not leave children that hold the GPU. */
TEST(children_die_with_their_parent) {
  int pipe_fds[2];
  assert_int_equal(pipe(pipe_fds), 0);
  pid_t parent = fork();
  if (!parent) {
    char setting[] = "";
    worker w = {.run = echo_main, .setting = setting};
    if (worker_start(&w, NULL) || write(pipe_fds[1], &w.pid, sizeof w.pid) != sizeof w.pid) {
      _exit(1);
    }
    for (;;) {
      pause();
    }
  }
  pid_t grandchild = 0;
  assert_int_equal(read(pipe_fds[0], &grandchild, sizeof grandchild), sizeof grandchild);
  assert_int_equal(kill(grandchild, 0), 0);
  kill(parent, SIGKILL);
  for (int i = 0; i < 200; i++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)grandchild);
    auto_str stat = {0};
    int gone = file_read(path, 4096, &stat, NULL) || strstr(str_text(&stat), ") Z ");
    if (gone) {
      return;
    }
    usleep(10000);
  }
  fail_msg("the worker outlived its parent");
}

/* ---- a pool of compilers --------------------------------------------------------------------- */

static void open_pool(worker_pool *p, rt_compiler **c, int n) {
  err e = {0};
  assert_ok(rt_compiler_open(c, &e), &e);
  const compile_setting s = {.compiler = *c, .arch = "compute_90"};
  assert_ok(worker_pool_open(p, &s, n, &e), &e);
}

static void close_pool(worker_pool *p, rt_compiler *c) {
  worker_pool_close(p);
  rt_compiler_close(c);
}

/* A compiler that dies costs its own source; the next source gets a new process. */
TEST(a_dying_compiler_is_replaced) {
  worker_pool p;
  rt_compiler *c;
  compiled built;
  auto_str source = {0}, frame = {0};
  err e = {0};
  int job;
  open_pool(&p, &c, 1);
  str_add(&source, "extern \"C\" __global__ void one() {}");
  kill(p.workers[0].pid, SIGSTOP); /* else it might answer before it dies */
  assert_ok(worker_pool_start(&p, 0, &source, 0, &job, &e), &e);
  assert_int_equal(worker_pool_busy(&p), 1);
  kill(p.workers[0].pid, SIGKILL);
  assert_ok(worker_pool_take(&p, 0, &frame, &built, &e), &e);
  assert_true(built.died);
  assert_non_null(strstr(built.why.message, "signal 9"));
  assert_int_equal(worker_pool_busy(&p), 0);
  assert_ok(worker_pool_compile(&p, &source, 0, 60, &frame, &built, &e), &e);
  assert_false(built.died);
  assert_true(built.n_ptx > 0);
  close_pool(&p, c);
}

/* Killing a busy worker returns its job to the owner; an idle one has none. */
TEST(killing_returns_the_job) {
  worker_pool p;
  rt_compiler *c;
  auto_str source = {0};
  err e = {0};
  int job;
  struct pollfd fds[3];
  size_t which[3];
  open_pool(&p, &c, 2);
  str_add(&source, "extern \"C\" __global__ void one() {}");
  assert_ok(worker_pool_start(&p, 1, &source, 0, &job, &e), &e);
  assert_int_equal(worker_pool_poll(&p, fds, which, 1), 2);
  assert_int_equal(which[1], 1);
  assert_int_equal(fds[1].fd, p.workers[1].fd);
  assert_null(worker_pool_kill(&p, 0));
  assert_ptr_equal(worker_pool_kill(&p, 1), &job);
  assert_int_equal(worker_pool_poll(&p, fds, which, 1), 1);
  close_pool(&p, c);
}

/* ---- images ahead ---------------------------------------------------------------------------- */

static void request(image_prefetch *p, rt_compiler *c, const char *text, char key[HASH_TEXT]) {
  const rt_source source = {.text = text, .arch = "compute_90"};
  err e = {0};
  rt_image_key(c, &source, key);
  assert_ok(image_prefetch_request(p, &source, key, &e), &e);
}

/* Three images from two workers: one is requested twice, one does not compile. */
TEST(images_are_there_when_their_turn_comes) {
  rt_compiler *c;
  image_prefetch *p;
  err e = {0};
  char key[4][HASH_TEXT];
  const str *bytes, *again;
  assert_ok(rt_compiler_open(&c, &e), &e);
  assert_ok(image_prefetch_open(c, "compute_90", 2, &p, &e), &e);
  request(p, c, "extern \"C\" __global__ void one() {}", key[0]);
  request(p, c, "extern \"C\" __global__ void two() {}", key[1]);
  request(p, c, "extern \"C\" __global__ void one() {}", key[2]);
  request(p, c, "nonsense", key[3]);
  assert_fails(image_prefetch_wait(p, key[3], &bytes, &e), &e, ERR_COMPILE, "declaration");
  assert_ok(image_prefetch_wait(p, key[0], &bytes, &e), &e);
  assert_non_null(strstr(str_text(bytes), ".entry one"));
  assert_ok(image_prefetch_wait(p, key[2], &again, &e), &e);
  assert_ptr_equal(again, bytes);
  assert_ok(image_prefetch_wait(p, key[1], &bytes, &e), &e);
  assert_non_null(strstr(str_text(bytes), ".entry two"));
  assert_fails(image_prefetch_wait(p, "00000000000000000000000000000000", &bytes, &e), &e,
               ERR_NOTFOUND, "was not requested");
  image_prefetch_close(p);
  rt_compiler_close(c);
}

int main(void) {
  return tests_run();
}
