/* test_run_device.c -- candidates of built-in templates checked and timed, and mistakes in them
 * found:
 *   build/tests/test_run_device [--device NAME]        NAME: emu (the default), 0, cuda:1, ... */
#define _GNU_SOURCE
#include "family_fixture.h"

static void check_and_time(bed *b, const char *family, const char *problem) {
  rt_check c;
  rt_times times;
  bed_kernel k = bed_kernel_open(b, family, problem, "");
  rt_harness *bench = family_bench(b, &k);
  OK(b, rt_harness_check(bench, k.l, &c, &b->e));
  assert_true(c.error <= 1);
  OK(b, rt_harness_time(bench, k.l, &(rt_timing){0}, &times, &b->e));
  printf("  %s %s: error %.2f of the tolerance, %.3g us, %.3g to %.3g, %llu launches%s\n", family,
         problem, c.error, times.median * 1e6, times.p25 * 1e6, times.p75 * 1e6,
         (unsigned long long)times.launches, times.cold ? ", cold" : "");
  assert_true(times.p25 <= times.median && times.median <= times.p75 && times.launches > 0);
  rt_harness_free(bench);
  bed_kernel_close(&k);
}

BED_TEST(sizes_of_families_are_checked_and_timed) {
  static const char *const families[] = {"saxpy", "reduce", "sgemm"};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
    auto_template *t = NULL;
    OK(b, gen_open(NULL, families[i], &t, &b->e));
    const bool emu = b->d->info.modelled;
    const size_t n = emu ? t->n_sizes_emu : t->n_sizes_test;
    assert_true(n > 0);
    for (size_t j = 0; j < n; j++) {
      check_and_time(b, families[i], emu ? t->sizes_emu[j] : t->sizes_test[j]);
    }
  }
}

/* Loads saxpy with the first `from` of its source replaced by `to`, which is not longer, and checks
 * it. */
static int check_spoiled(bed *b, const char *problem, const char *from, const char *to,
                         rt_check *c) {
  bed_kernel k = bed_problem_open(b, NULL, "saxpy", problem);
  const gen_config config = bed_config(b, &k, "");
  rt_harness *bench = family_bench(b, &k);
  auto_str text = {0};
  rt_source source = {.arch = b->d->info.arch};
  OK(b, gen_source_make(k.g, &config, &text, &source.body, &b->e));
  char *at = strstr(text.p, from);
  assert_true(at && strlen(to) <= strlen(from));
  memset(at, ' ', strlen(from));
  memcpy(at, to, strlen(to));
  source.text = str_text(&text);
  OK(b, bed_load_source(b, k.t, k.g, &config, &source, &k.l));
  const int rc = rt_harness_check(bench, k.l, c, &b->e);
  printf("  %s %s\n", b->e.place, b->e.message);
  rt_harness_free(bench);
  bed_kernel_close(&k);
  return rc;
}

BED_TEST(a_wrong_kernel_is_found) {
  rt_check c;
  assert_int_equal(check_spoiled(b, "n=1000", "a * xs", "xs", &c), ERR_WRONG);
  assert_non_null(strstr(b->e.message, "y[0] is "));
  assert_true(c.n_wrong > 900 && c.error > 1);
}

/* A write one element too far changes a canary on a GPU; the emulator reports it. */
BED_TEST(a_stray_kernel_is_found) {
  bed own = {.name = b->name};
  rt_check c;
  assert_ok(bed_open(&own), &own.e);
  const int rc = check_spoiled(&own, "n=1001", "< n", "<=n", &c);
  if (own.d->info.modelled) {
    assert_true(rc == ERR_LAUNCH || rc == ERR_WRONG);
  } else {
    assert_int_equal(rc, ERR_WRONG);
    assert_non_null(strstr(own.e.message, "wrote 4 bytes past the end of y, at +0 to +3"));
  }
  bed_close(&own);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
