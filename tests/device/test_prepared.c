/* test_prepared.c -- preparations on a device: made, made again, timed, and mistakes in them found:
 *   build/tests/test_prepared [--device NAME]          NAME: emu (the default), 0, cuda:1, ... */
#define _GNU_SOURCE
#include <math.h>

#include "family_fixture.h"
#include "file.h"

/* examples/ell.lua with one text replaced. */
static bed_kernel open_ell(bed *b, const char *what, const char *with, const char *problem) {
  bed_kernel k = {0};
  gen_problem p;
  auto_str text = {0}, changed = {0};
  assert_ok(file_read("examples/ell.lua", 1 << 16, &text, &b->e), &b->e);
  const char *at = strstr(text.p, what);
  assert_non_null(at);
  str_addf(&changed, "%.*s%s%s", (int)(at - text.p), text.p, with, at + strlen(what));
  OK(b, gen_open_text(NULL, "ell.lua", changed.p, changed.n, &k.t, &b->e));
  OK(b, gen_problem_parse(k.t, problem, &p, &b->e));
  OK(b, gen_instance_new(k.t, &p, b->limits, RT_NUMBERS, &k.g, &b->e));
  return k;
}

static void load(bed *b, bed_kernel *k, const char *config, rt_candidate *out) {
  const gen_config c = bed_config(b, k, config);
  rt_image image;
  const gen_plan *plan;
  family_build(b, k, &c, b->d->info.arch, 0, &image);
  const str *code = b->d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  OK(b, gen_plan_make(k->g, &c, &b->a, &plan, &b->e));
  OK(b, rt_candidate_load(out, b->d, code, k->t, k->g, &c, plan, &b->e));
  rt_image_clear(&image);
}

static int check_ell(bed *b, const char *what, const char *with, const char *problem,
                     const char *config) {
  bed_kernel k = open_ell(b, what, with, problem);
  rt_harness *bench = family_bench(b, &k);
  rt_candidate candidate = {0};
  rt_check found;
  load(b, &k, config, &candidate);
  const int rc =
      rt_harness_check_contender(bench, rt_candidate_contender(&candidate), &found, &b->e);
  rt_candidate_clear(&candidate);
  rt_harness_free(bench);
  bed_kernel_close(&k);
  return rc;
}

BED_TEST(what_was_prepared_gives_right_results) {
  static const char *const problems[] = {"rows=0", "rows=1", "rows=301 mean=5"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    OK(b, check_ell(b, "ell", "ell", problems[i], "ALG=ell"));
    OK(b, check_ell(b, "ell", "ell", problems[i], "ALG=csr"));
  }
}

BED_TEST(a_launch_that_writes_what_was_prepared_is_found) {
  bed own = {.name = b->name};
  OK(&own, bed_open(&own));
  const int rc =
      check_ell(&own, "const int *places, const float *entries, const float *x, float *y) {",
                "int *places, const float *entries, const float *x, float *y) {\n"
                "  places[7] = -1;",
                "rows=100", "ALG=ell");
  if (own.d->info.modelled) {
    assert_int_equal(rc, ERR_LAUNCH);
    assert_non_null(strstr(own.e.message, "read-only for this launch"));
  } else {
    assert_int_equal(rc, ERR_WRONG);
    assert_non_null(strstr(own.e.message, "a launch changed places, which was prepared"));
  }
  bed_close(&own);
}

BED_TEST(a_count_above_its_bound_refuses_the_configuration) {
  assert_fails(check_ell(b, "4 * mean", "mean", "rows=100", "ALG=ell"), &b->e, ERR_USAGE,
               "ell: width is 12 in these data; this configuration takes at most 8");
}

BED_TEST(a_share_of_the_preparation_is_in_the_time) {
  bed_kernel k = open_ell(b, "ell", "ell", "rows=1000");
  rt_harness *bench = family_bench(b, &k);
  rt_candidate candidate = {0};
  rt_times alone, once, hundred;
  load(b, &k, "ALG=ell", &candidate);
  const rt_contender who = rt_candidate_contender(&candidate);
  OK(b, rt_harness_time_contender(bench, who, &(rt_timing){.uses = 0}, &alone, &b->e));
  OK(b, rt_harness_time_contender(bench, who, &(rt_timing){.uses = 1}, &once, &b->e));
  OK(b, rt_harness_race(bench, &who, 1, 3, &(rt_timing){.uses = 100}, &hundred, &b->e));
  assert_true(alone.prepare_sec > 0 && once.prepare_sec > 0 && hundred.prepare_sec > 0);
  assert_true(once.median >= once.prepare_sec && once.median > alone.median);
  if (b->d->info.modelled) {
    assert_true(fabs(once.median - (alone.median + once.prepare_sec)) < 0.02 * once.median);
    assert_true(fabs(hundred.median - (alone.median + hundred.prepare_sec / 100)) <
                0.02 * hundred.median);
  }
  rt_candidate_clear(&candidate);
  rt_harness_free(bench);
  bed_kernel_close(&k);
}

/* A matrix of four rows; of other lengths, and with other values. */
typedef struct small {
  rt_ptr offsets, columns, values, x, y;
  const void *args[6];
} small;

static void put_small(bed *b, small *m, const int *offsets, const float *values) {
  static const int columns[] = {0, 1, 0, 2, 3, 1, 2, 3};
  static const float x[] = {1, 10, 100, 1000};
  m->offsets = bed_put(b, offsets, 5 * sizeof *offsets);
  m->columns = bed_put(b, columns, sizeof columns);
  m->values = bed_put(b, values, 8 * sizeof *values);
  m->x = bed_put(b, x, sizeof x);
  m->y = bed_alloc(b, sizeof x);
  const void *args[] = {NULL, &m->offsets, &m->columns, &m->values, &m->x, &m->y};
  memcpy(m->args, args, sizeof args);
}

static void expect_small(bed *b, rt_prepared *p, const small *m, const float want[4]) {
  float y[4];
  OK(b, rt_prepared_launch_in(p, NULL, m->args, 0, &b->e));
  bed_get(b, y, m->y, sizeof y);
  assert_memory_equal(y, want, sizeof y);
}

BED_TEST(it_is_made_again_for_other_structure_and_other_values) {
  static const float values[] = {1, 7, 5, 3, 9, 2, 8, 6}, others[] = {1, 1, 1, 1, 1, 1, 1, 1};
  static const float first[] = {71, 9305, 820, 6000}, second[] = {11, 1101, 110, 1000},
                     third[] = {1, 10, 1101, 1110};
  bed_kernel k = open_ell(b, "ell", "ell", "rows=4 mean=2");
  rt_candidate candidate = {0};
  small m, n;
  load(b, &k, "ALG=ell", &candidate);
  rt_prepared *p = candidate.prepared;
  put_small(b, &m, (const int[]){0, 2, 5, 7, 8}, values);
  put_small(b, &n, (const int[]){0, 1, 2, 5, 8}, others);
  OK(b, rt_prepared_make(p, NULL, m.args, &b->e));
  expect_small(b, p, &m, first);
  assert_int_equal(rt_prepared_nbytes(p), 2 * 4 * 3 * 4); /* rows of three */
  OK(b, b->d->ops->copy_in(b->d, m.values, others, sizeof others, NULL, &b->e));
  expect_small(b, p, &m, first);
  OK(b, rt_prepared_values(p, NULL, m.args, &b->e));
  expect_small(b, p, &m, second);
  OK(b, rt_prepared_make(p, NULL, n.args, &b->e));
  rt_prepared_trim(p);
  expect_small(b, p, &n, third);
  OK(b, rt_prepared_make(p, NULL, m.args, &b->e));
  expect_small(b, p, &m, second);
  rt_candidate_clear(&candidate);
  bed_kernel_close(&k);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
