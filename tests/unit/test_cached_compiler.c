/* test_cached_compiler.c -- a compiler before which the cache of images stands: nothing is compiled
 * twice, also not by processes that start together, and none waits for one that died or stopped. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "cached_compiler.h"
#include "db_fixture.h"

static const char KERNEL[] = "extern \"C\" __global__ void k(int *p) { *p = 7; }\n";

/* Compiles and returns NVRTC's time: 0 if the image was kept. */
static double compile(scratch *s, const char *text) {
  const rt_source source = {.text = text, .arch = "sm_80"};
  rt_compiler *c;
  rt_image image;
  rt_image_init(&image);
  OK(s, cached_compiler_open(&c, &s->e));
  OK(s, rt_compile(c, &source, &s->a, &image, &s->e));
  const double sec = image.sec;
  assert_true(image.cubin.n > 0 && image.ptx.n > 0);
  assert_int_equal(image.n_kernels, 1);
  assert_string_equal(image.kernels[0].name, "k");
  rt_image_clear(&image);
  rt_compiler_close(c);
  return sec;
}

SCRATCH_TEST(second_compiler_finds_what_the_first_made) {
  setenv("TUNED_CACHE", s->folder, 1);
  assert_true(compile(s, KERNEL) > 0);
  assert_true(compile(s, KERNEL) == 0);
  assert_true(compile(s, "extern \"C\" __global__ void k(int *p) { *p = 8; }\n") > 0);
}

SCRATCH_TEST(without_a_usable_cache_everything_is_compiled) {
  setenv("TUNED_CACHE", "/proc/nothing", 1);
  assert_true(compile(s, KERNEL) > 0);
  assert_true(compile(s, KERNEL) > 0);
}

enum { TOGETHER = 10, KERNELS = 4 };

/* Every process begins with another kernel. Returns how many it compiled. */
static int compile_all(scratch *s, int first) {
  int n_compiled = 0;
  for (int k = 0; k < KERNELS; k++) {
    char text[100];
    snprintf(text, sizeof text, "extern \"C\" __global__ void k(int *p) { *p = %d; }\n",
             (first + k) % KERNELS);
    n_compiled += compile(s, text) > 0;
  }
  return n_compiled;
}

SCRATCH_TEST(processes_started_together_compile_an_image_once) {
  pid_t children[TOGETHER];
  int n_compiled = 0;
  setenv("TUNED_CACHE", s->folder, 1);
  for (int i = 0; i < TOGETHER; i++) {
    children[i] = fork();
    if (!children[i]) {
      _exit(compile_all(s, i));
    }
  }
  for (int i = 0; i < TOGETHER; i++) {
    int status;
    waitpid(children[i], &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= KERNELS);
    n_compiled += WEXITSTATUS(status);
  }
  assert_int_equal(n_compiled, KERNELS);
}

/* A process that is killed while it makes an image holds up nobody. */
SCRATCH_TEST(killed_compiler_releases_its_image) {
  int ready[2];
  char byte;
  setenv("TUNED_CACHE", s->folder, 1);
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (!child) {
    str long_text = {0};
    str_add(&long_text, KERNEL);
    write(ready[1], "", 1);
    for (;;) {
      compile(s, str_text(&long_text));
      str_add(&long_text, "\n"); /* another key */
    }
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  usleep(100000);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  for (int i = 0; i < 3; i++) {
    compile(s, KERNEL);
  }
  close(ready[0]);
  close(ready[1]);
}

/* A process that is stopped while it makes an image does not hold up others for ever. */
SCRATCH_TEST(stopped_compiler_is_not_waited_for) {
  char locks[128];
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  setenv("TUNED_CACHE", s->folder, 1);
  snprintf(locks, sizeof locks, "%s/images.db-locks", s->folder);
  const int fd = open(locks, O_RDWR | O_CREAT, 0600);
  assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
  alarm(60);
  assert_true(compile(s, KERNEL) > 0);
  alarm(0);
  close(fd);
}

int main(void) {
  return tests_run();
}
