/* test_gen_data.c -- arguments with which tests and timing call kernels: their counts, fills and
 * tolerances. */
#define _GNU_SOURCE
#include <math.h>

#include "gen_fixture.h"

TEST(data_follow_the_case) {
  auto_street s = street_mini("", "", "n=100");
  const gen_data *d;
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[0].bits, 100);
  assert_int_equal(d->args[1].type, DTYPE_f32);
  assert_int_equal(d->args[1].bits, 0x40000000);
  assert_int_equal(d->args[2].count, 100);
  assert_false(d->args[2].overwritten);
  assert_int_equal(d->args[2].fill, GEN_FILL_UNIFORM);
  assert_true(d->args[2].a == -1 && d->args[2].b == 1);
  assert_true(d->args[3].overwritten);
  assert_true(d->tolerance_abs == 10.0 / (1 << 24) && d->tolerance_rel == 0);
  assert_ok(gen_data_make(s.g, 1, &s.a, &d, &s.e), &s.e);
  assert_true(dtype_decode(DTYPE_f32, d->args[1].bits) == 12.5);
  assert_fails(gen_data_make(s.g, 2, &s.a, &d, &s.e), &s.e, ERR_USAGE, "no case 2");
}

TEST(outputs_may_have_their_own_tolerance) {
  auto_street s =
      street_mini("'out', count = 'n'",
                  "'out', count = 'n', tolerance = { abs = 'n / 4', rel = 0.5 }", "n=100");
  const gen_data *d;
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_true(d->args[3].tolerance_abs == 25 && d->args[3].tolerance_rel == 0.5);
  assert_true(d->args[2].tolerance_abs == d->tolerance_abs && d->args[2].tolerance_rel == 0);
}

#define BOUND "tolerance = { bound = 'most', factor = 'n / 4', abs = 3 }"
TEST(errors_may_be_measured_by_bounds) {
  char text[200];
  const gen_data *d;
  snprintf(text, sizeof text, "workspace = { { 'one', 'f32', 1 }, { 'most', 'f64', 'n' } },\n%s",
           "    stages = { { kernel = 'slow'");
  auto_str file = {0}, whole = {0};
  auto_street s = {0};
  mini_with("stages = { { kernel = 'slow'", text, &file);
  const char *at = strstr(file.p, "tolerance = {");
  str_add_n(&whole, file.p, (size_t)(at - file.p));
  str_addf(&whole, BOUND "%s", strchr(at, '}') + 1);
  folder_write("mini.lua", whole.p, whole.n);
  assert_ok(gen_open(NULL, folder_path("mini.lua"), &s.t, &s.e), &s.e);
  street_start(&s, "n=100");
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[3].error, GEN_ERROR_BOUND);
  assert_true(d->args[3].tolerance_abs == 3 && d->args[3].tolerance_rel == 25);
  assert_int_equal(d->args[3].bound, 1);
  assert_int_equal(d->args[3].bound_type, DTYPE_f64);
}

TEST(errors_may_be_those_of_all_elements) {
  static const struct {
    const char *text;
    gen_error_kind error;
    double abs, rel;
  } cases[] = {{"{ norm2 = 'n / 1000' }", GEN_ERROR_NORM2, 0, 0.1},
               {"{ psnr = 40, peak = 'n' }", GEN_ERROR_PSNR, 100, 40},
               {"{ psnr = 40 }", GEN_ERROR_PSNR, 0, 40}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[100];
    const gen_data *d;
    snprintf(text, sizeof text, "'out', count = 'n', tolerance = %s", cases[i].text);
    auto_street s = street_mini("'out', count = 'n'", text, "n=100");
    assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
    assert_int_equal(d->error, GEN_ERROR_ELEMENT);
    assert_int_equal(d->args[3].error, cases[i].error);
    assert_true(d->args[3].tolerance_abs == cases[i].abs &&
                d->args[3].tolerance_rel == cases[i].rel);
  }
  static const char *const wrong[][2] = {
      {"{ norm2 = 1, abs = 2 }", "'abs' means nothing here"},
      {"{ peak = 40 }", "'peak' means nothing here"},
      {"{ bound = 'n' }", "'factor' is missing here"},
      {"{ bound = 'n', factor = 1, rel = 1 }", "'rel' means nothing here"},
      {"{ bound = 'n', factor = 1 }", "the bound 'n' is no workspace of the reference"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[100];
    gen_template *t = NULL;
    err e = {0};
    snprintf(text, sizeof text, "'out', count = 'n', tolerance = %s", wrong[i][0]);
    assert_fails(mini_open(NULL, "'out', count = 'n'", text, &t, &e), &e, ERR_TEMPLATE,
                 wrong[i][1]);
  }
}

static int shifted(const char *shift, err *e) {
  char text[100];
  const gen_data *d;
  auto_street s = {0};
  snprintf(text, sizeof text, "'out', count = 'n', shift = '%s'", shift);
  TRY(mini_open(NULL, "'out', count = 'n'", text, &s.t, e));
  street_start(&s, "n=100");
  return gen_data_make(s.g, 0, &s.a, &d, e);
}

TEST(buffers_may_be_shifted) {
  static const char *const wrong[][2] = {
      {"3", "a shift of 3 bytes; from 0 to 255, by whole elements of 4"},
      {"256", "a shift of 256 bytes"},
      {"-4", "a shift of -4 bytes"},
      {"BLOCK", "BLOCK"}};
  const gen_data *d;
  err e = {0};
  auto_street s =
      street_mini("'out', count = 'n'", "'out', count = 'n', shift = 'n - 88'", "n=100");
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[3].shift, 12);
  assert_int_equal(d->args[2].shift, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(shifted(wrong[i][0], &e), &e, ERR_TEMPLATE, wrong[i][1]);
  }
}

TEST(fills_are_told) {
  static const char *const odd[] = {"0", "2.5", "65", "-1"};
  const gen_data *d;
  street s = street_mini("{ 'uniform', -1, 1 }", "{ 'bits', 'n // 10' }", "n=30");
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[2].fill, GEN_FILL_BITS);
  assert_true(d->args[2].a == 3);
  street_close(&s);
  s = street_mini("{ 'uniform', -1, 1 }", "{ 'ramp', 'n', -2 }", "n=30");
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[2].fill, GEN_FILL_RAMP);
  assert_true(d->args[2].a == 30 && d->args[2].b == -2);
  street_close(&s);
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    char text[40];
    snprintf(text, sizeof text, "{ 'bits', %s }", odd[i]);
    s = street_mini("{ 'uniform', -1, 1 }", text, "");
    assert_fails(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e, ERR_TEMPLATE, "from 1 to 64");
    street_close(&s);
  }
}

static gen_generator generated(const char *fill, const char *problem) {
  const gen_data *d;
  auto_street s = street_mini("{ 'uniform', -1, 1 }", fill, problem);
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[2].fill, GEN_FILL_PATTERN);
  return d->args[2].generator;
}

TEST(generators_have_numbers) {
  static const double picture[] = {9, 30, 1, 3, 30, 0, 1, 8}, atoms[] = {10, 20, 30, 3, 1, 2, 3},
                      lines[] = {1, 1, 1, 2, 5, 16};
  gen_generator g = generated(
      "{ 'image', 'checker', width = 9, height = 'n', channels = 3, pitch = 'n' }", "n=30");
  assert_int_equal(g.pattern, GEN_IMAGE_CHECKER);
  assert_int_equal(g.seed, -1);
  assert_memory_equal(g.numbers, picture, sizeof picture);
  g = generated("{ 'atoms', 'water', parts = 'xyz', size = { 10, 20, 'n' }, seed = 7 }", "n=30");
  assert_int_equal(g.seed, 7);
  assert_string_equal(g.parts, "xyz");
  assert_memory_equal(g.numbers, atoms, sizeof atoms);
  g = generated("{ 'kspace', 'spiral', parts = 'xy', size = { 1, 1 } }", "n=34");
  assert_memory_equal(g.numbers, lines, sizeof lines);
  g = generated("{ 'atoms', 'water', parts = 'x' }", "n=100");
  assert_true(fabs(g.numbers[0] - 10) < 1e-12); /* 0.1 per unit of volume */
}

TEST(generators_are_checked) {
  static const char *const wrong[][2] = {
      {"{ 'image', 'ramp', width = 9, height = 3, pitch = 8 }", "the pitch in elements is 8"},
      {"{ 'image', 'ramp', width = 2.5, height = 3 }", "the width is 2.5, not a whole number"},
      {"{ 'points', 'equal', parts = 'xyz' }", "100 elements are not a multiple of the 3 parts"},
      {"{ 'points', 'cluster', parts = 'x', spread = 2 }", "the spread is 2; it can be 0 to 1"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const gen_data *d;
    auto_street s = street_mini("{ 'uniform', -1, 1 }", wrong[i][0], "n=100");
    assert_fails(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e, ERR_TEMPLATE, wrong[i][1]);
  }
}

/* As with leading dimensions: a count reads scalars, and a case changes them. */
TEST(counts_see_the_scalars_of_their_case) {
  street s = street_mini("{ 'x', 'type', 'in', count = 'n', fill = { 'uniform', -1, 1 } },\n"
                         "    { 'y', 'type', 'out', count = 'n' },",
                         "{ 'ld', 'i64', sample = 'n + 1' }, { 'beta', 'f32', sample = 0 },\n"
                         "{ 'x', 'i32', 'inout', count = 'ld * 2', fill = { 'constant', 'ld' },\n"
                         "  overwritten = 'beta == 0' }, { 'y', 'i32', 'out', count = 1 },",
                         "n=10");
  const gen_data *d;
  assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
  assert_int_equal(d->args[4].count, 22);
  assert_true(d->args[4].overwritten);
  assert_true(d->args[4].a == 11);
  street_close(&s);
  s = street_mini("cases = { {}, { factor = 'n / 8' } }",
                  "cases = { {}, { factor = 'n' }, { factor = -0.5 } }", "");
  assert_int_equal(s.t->n_cases, 3);
  assert_ok(gen_data_make(s.g, 2, &s.a, &d, &s.e), &s.e);
  assert_true(dtype_decode(DTYPE_f32, d->args[1].bits) == -0.5);
  street_close(&s);
}

/* A matrix without columns has no elements, nor has one whose columns are empty. */
TEST(lines_of_nothing_count_nothing) {
  static const struct {
    const char *count, *problem;
    uint64_t n;
  } cases[] = {
      {"ld * max(0, n - 1) + 7", "n=3", 2 * 9 + 7},
      {"ld * max(0, n - 1) + 7", "n=1", 7},
      {"ld * max(0, n - 1) + 7", "n=0", 0},
      {"ld * max(0, sel(kind == 'fast', 4, n) - 1) + sel(kind == 'fast', n, 4)", "n=5", 3 * 9 + 5},
      {"ld * max(0, sel(kind == 'fast', 4, n) - 1) + sel(kind == 'fast', n, 4)", "n=0", 0},
      {"ld * max(0, sel(kind == 'fast', 4, n) - 1) + sel(kind == 'fast', n, 4)", "n=0 kind=safe",
       0},
      {"ld*max(0,(n+1)-1)+n-2", "n=4", 4 * 9 + 2},
      /* these are something else */
      {"ld * max(0, n - 2) + 7", "n=0", 7},
      {"ld * max(0, n * -1) + 7", "n=0", 7},
      {"ld * max(1, n - 1) + 7", "n=0", 9 + 7},
      {"ld * max(0, n - 1, 2) + 7", "n=0", 2 * 9 + 7},
      {"4 * max(0, n - 1) + 7", "n=0", 7},
      {"7 + ld * max(0, n - 1)", "n=0", 7},
      {"max(0, n - 1)", "n=4", 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char args[300];
    const gen_data *d;
    snprintf(args, sizeof args,
             "{ 'ld', 'i64', sample = 9 },\n"
             "    { 'x', 'type', 'in', count = \"%s\", fill = { 'uniform', -1, 1 } },",
             cases[i].count);
    street s = street_mini("{ 'x', 'type', 'in', count = 'n', fill = { 'uniform', -1, 1 } },", args,
                           cases[i].problem);
    assert_ok(gen_data_make(s.g, 0, &s.a, &d, &s.e), &s.e);
    if (d->args[3].count != cases[i].n) {
      fail_msg("%s, %s: %llu", cases[i].count, cases[i].problem,
               (unsigned long long)d->args[3].count);
    }
    street_close(&s);
  }
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
