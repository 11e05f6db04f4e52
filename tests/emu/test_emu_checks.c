/* test_emu_checks.c -- every check of the emulated device: a kernel in which it fires, naming the
 * line, and one in which it stays silent. The kernels are in tests/emu/checks.cu. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "emu_fixture.h"

static const char path[] = "tests/emu/checks.cu";

typedef struct expectation {
  const char *kernel;
  rt_emu_check check; /* EMU_NO_FINDING: silent */
  const char *mark;   /* of the line; NULL: any */
  uint32_t grid, block, smem;
  int n;
} expectation;

static const expectation all[] = {
    {"bounds_bad", EMU_GLOBAL_BOUNDS, "bounds", 2, 64, 0, 64},
    {"bounds_good", EMU_NO_FINDING, NULL, 2, 64, 0, 64},
    {"null_bad", EMU_GLOBAL_BOUNDS, "null", 1, 64, 0, 1},
    {"null_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"shared_bounds_bad", EMU_SHARED_BOUNDS, "shared_bounds", 1, 64, 256, 1},
    {"shared_bounds_bad", EMU_NO_FINDING, NULL, 1, 64, 256, 0},
    {"local_bounds_bad", EMU_LOCAL_BOUNDS, "local_bounds", 1, 64, 0, 1000},
    {"local_bounds_bad", EMU_NO_FINDING, NULL, 1, 8, 0, 0},
    {"misaligned_bad", EMU_MISALIGNED, "misaligned", 1, 8, 0, 1},
    {"misaligned_bad", EMU_NO_FINDING, NULL, 1, 8, 0, 4},
    {"uninit_shared_bad", EMU_SHARED_UNINIT, "uninit_shared", 1, 64, 0, 63},
    {"uninit_shared_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"race_bad", EMU_SHARED_RACE, "race", 1, 64, 0, 0},
    {"race_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"warp_race_bad", EMU_SHARED_RACE, "warp_race", 1, 64, 0, 0},
    {"warp_race_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"war_bad", EMU_SHARED_RACE, "war", 1, 64, 0, 0},
    {"same_value_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"named_good", EMU_NO_FINDING, NULL, 1, 128, 0, 0},
    {"named_bad", EMU_SHARED_RACE, "named", 1, 128, 0, 0},
    {"atomic_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"atomic_bad", EMU_SHARED_RACE, "atomic", 1, 64, 0, 0},
    {"global_race_bad", EMU_GLOBAL_RACE, "global_race", 2, 64, 0, 0},
    {"global_race_good", EMU_NO_FINDING, NULL, 2, 64, 0, 7},
    {"ordered_good", EMU_NO_FINDING, NULL, 5, 32, 0, 0},
    {"divergent_bad", EMU_BARRIER, NULL, 1, 64, 0, 16},
    {"divergent_bad", EMU_NO_FINDING, NULL, 1, 64, 0, 64},
    {"divergent_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"deadlock_bad", EMU_BARRIER, "deadlock", 1, 64, 0, 0},
    {"shuffle_bad", EMU_SHUFFLE, "shuffle", 1, 32, 0, 16},
    {"shuffle_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"shuffle_meet_good", EMU_NO_FINDING, NULL, 1, 64, 0, 0},
    {"async_bad", EMU_ASYNC, "async", 1, 32, 0, 0},
    {"async_good", EMU_NO_FINDING, NULL, 1, 32, 0, 0},
    {"steps_bad", EMU_STEPS, NULL, 1, 32, 0, 0},
    {"trap_bad", EMU_TRAP, NULL, 1, 32, 0, 0},
    {"trap_bad", EMU_NO_FINDING, NULL, 1, 5, 0, 0},
    {"stack_bad", EMU_STACK, NULL, 1, 32, 0, 0},
    {"stack_good", EMU_NO_FINDING, NULL, 1, 32, 0, 0},
    {"constant_bad", EMU_READ_ONLY, "constant", 1, 4, 0, 0},
};

enum { N = 256 };

/* "tests/emu/checks.cu:12" for the line with "fault: NAME" at its end */
static void place_of_mark(const char *text, const char *mark, char *out, size_t n) {
  char word[80];
  snprintf(word, sizeof word, "fault: %s\n", mark);
  const char *at = strstr(text, word);
  assert_non_null(at);
  int line = 1;
  for (const char *p = text; p < at; p++) {
    line += *p == '\n';
  }
  snprintf(out, n, "%s:%d", path, line);
}

static void check_one(kit *k, const expectation *x, const char *text) {
  float data[N];
  char place[200];
  for (int i = 0; i < N; i++) {
    data[i] = (float)(i + 1);
  }
  /* exactly the elements that the kernels name, so that one more is too many */
  size_t nbytes = !strncmp(x->kernel, "bounds", 6) ? (size_t)x->n * 4 : sizeof data;
  rt_ptr p = kit_copy(k, data, nbytes);
  int n = x->n;
  void *args[] = {&p, &n};
  int rc = kit_launch(k, x->kernel, x->grid, x->block, x->smem, args);
  const rt_emu_finding *f = rt_emu_last_finding(k->d);
  if (f->check != x->check) {
    print_error("%s: %s\n", x->kernel, rc ? k->e.message : "no finding");
  }
  assert_int_equal(f->check, x->check);
  assert_int_equal(rc, x->check == EMU_NO_FINDING ? 0 : ERR_LAUNCH);
  if (x->mark) {
    place_of_mark(text, x->mark, place, sizeof place);
    assert_string_equal(f->place, place);
    assert_string_equal(k->e.place, place);
    assert_non_null(strstr(k->e.message, x->kernel));
  }
  k->d->ops->release(k->d, p);
}

static void each_check(void **state) {
  kit k;
  str text = kit_file(path);
  (void)state;
  kit_open(&k, "");
  rt_emu_set_steps(k.d, 1 << 22);
  kit_cuda(&k, str_text(&text), path);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_one(&k, &all[i], str_text(&text));
  }
  str_clear(&text);
  kit_close(&k);
}

/* lanes that wait for lanes that never come; needs another limit than the other endless loop */
static void lanes_that_never_come(void **state) {
  kit k;
  float data[N] = {0};
  str text = kit_file(path);
  int n = 16;
  (void)state;
  kit_open(&k, "");
  rt_emu_set_steps(k.d, 1 << 20);
  kit_cuda(&k, str_text(&text), path);
  rt_ptr p = kit_copy(&k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(kit_launch(&k, "never_bad", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k.d)->check, EMU_STEPS);
  str_clear(&text);
  kit_close(&k);
}

static void *ask_to_stop(void *stop) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  *(volatile int *)stop = 1;
  return NULL;
}

/* The same without a limit that would end it: a signal handler, say, can. */
static void an_endless_launch_is_interrupted(void **state) {
  kit k;
  float data[N] = {0};
  str text = kit_file(path);
  int n = 16;
  volatile int stop = 0;
  pthread_t thread;
  (void)state;
  kit_open(&k, "");
  kit_cuda(&k, str_text(&text), path);
  rt_emu_set_stop(k.d, &stop);
  rt_ptr p = kit_copy(&k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(pthread_create(&thread, NULL, ask_to_stop, (void *)&stop), 0);
  assert_int_equal(kit_launch(&k, "never_bad", 1, 32, 0, args), ERR_INTERRUPTED);
  pthread_join(thread, NULL);
  assert_int_equal(rt_emu_last_finding(k.d)->check, EMU_NO_FINDING);
  rt_emu_set_stop(k.d, NULL);
  assert_int_equal(kit_launch(&k, "stack_good", 1, 32, 0, args), 0);
  str_clear(&text);
  kit_close(&k);
}

static void use_after_free(void **state) {
  kit k;
  float data[N] = {0};
  str text = kit_file(path);
  int n = 1;
  (void)state;
  kit_open(&k, "");
  kit_cuda(&k, str_text(&text), path);
  rt_ptr p = kit_copy(&k, data, sizeof data);
  void *args[] = {&p, &n};
  assert_int_equal(kit_launch(&k, "freed", 1, 32, 0, args), 0);
  k.d->ops->release(k.d, p);
  assert_int_equal(kit_launch(&k, "freed", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k.d)->check, EMU_FREED);
  str_clear(&text);
  kit_close(&k);
}

static void uninitialised_global(void **state) {
  kit k;
  str text = kit_file(path);
  int n = 0;
  (void)state;
  kit_open(&k, "");
  kit_cuda(&k, str_text(&text), path);
  rt_ptr p = kit_alloc(&k, 4 * N);
  void *args[] = {&p, &n};
  assert_int_equal(kit_launch(&k, "uninit_global_bad", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k.d)->check, EMU_GLOBAL_UNINIT);
  kit_ok(&k, k.d->ops->set(k.d, p, 0, 4 * N, NULL, &k.e));
  kit_ok(&k, kit_launch(&k, "uninit_global_bad", 1, 32, 0, args));
  str_clear(&text);
  kit_close(&k);
}

/* with checks off a fault may pass, but nothing outside the device's memory is touched */
static void checks_off(void **state) {
  kit k;
  float data[N] = {0};
  str text = kit_file(path);
  int n = 1;
  (void)state;
  kit_open(&k, "");
  kit_cuda(&k, str_text(&text), path);
  rt_ptr p = kit_copy(&k, data, sizeof data);
  void *args[] = {&p, &n};
  rt_emu_set_checks(k.d, false);
  kit_ok(&k, kit_launch(&k, "race_bad", 1, 64, 0, args));
  assert_int_equal(kit_launch(&k, "null_bad", 1, 64, 0, args), ERR_LAUNCH);
  rt_ptr wild = p + (UINT64_C(1) << 43);
  void *far[] = {&wild, &n};
  assert_int_equal(kit_launch(&k, "race_bad", 1, 64, 0, far), ERR_LAUNCH);
  rt_emu_set_checks(k.d, true);
  assert_int_equal(kit_launch(&k, "race_bad", 1, 64, 0, args), ERR_LAUNCH);
  str_clear(&text);
  kit_close(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_check),
      cmocka_unit_test(lanes_that_never_come),
      cmocka_unit_test(an_endless_launch_is_interrupted),
      cmocka_unit_test(use_after_free),
      cmocka_unit_test(uninitialised_global),
      cmocka_unit_test(checks_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
