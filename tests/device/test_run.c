/* test_run.c -- candidates checked on a fake device, where results are exact and any call can fail. */
#define _GNU_SOURCE
#include "run_fixture.h"

/* ---- checking ------------------------------------------------------------------------------ */

static int check(bed *b, enum mode mode, rt_check *c) {
  err_clear(&b->e);
  b->f.mode = mode;
  return rt_harness_check(b->bench, b->l, c, &b->e);
}

FAKE_TEST(test_good) {
  rt_check c;
  OK(b, check(b, GOOD, &c));
  assert_int_equal(c.n_wrong, 0);
  assert_true(c.error == 0);
  OK(b, check(b, NEAR, &c));
  assert_int_equal(c.n_wrong, 0);
  assert_true(c.error > 0 && c.error <= 1);
}

/* Each kind of fault is found and named, and does not affect the next check. */
FAKE_TEST(test_faults) {
  static const struct {
    enum mode mode;
    const char *words[3];
    uint64_t n_wrong;
  } faults[] = {{FAR, {"y[3] is ", "(case 0)", "1 of 100 wrong"}, 1},
                {NANS, {"y[5] is nan", "(case 0)", "1 of 100 wrong"}, 1},
                {UNWRITTEN, {"z[99] is as before the launch", "reference 99", ""}, 1},
                {PADDING, {"z[102] is 0", "reference as before", "(case 2)"}, 1},
                {PAST, {"wrote 3 bytes past the end of y", "at +0 to +2", "case 0"}, 0},
                {BEFORE, {"wrote 4 bytes before the start of z", "at -4 to -1", "case 0"}, 0},
                {INPUT, {"changed input x", "element 7", "case 0"}, 0},
                {READS_OLD, {"y[0] is ", "reference 2", "(case 1); 100 of 100 wrong"}, 100}};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    rt_check c;
    assert_int_equal(check(b, faults[i].mode, &c), ERR_WRONG);
    printf("  %s\n", b->e.message);
    for (int j = 0; j < 3; j++) {
      assert_non_null(strstr(b->e.message, faults[i].words[j]));
    }
    assert_int_equal(c.n_wrong, faults[i].n_wrong);
    OK(b, check(b, GOOD, &c));
  }
}

/* After a stray write the reference runs again: its results may have been overwritten. */
FAKE_TEST(test_suspicion) {
  rt_check c;
  uint64_t before;
  assert_int_equal(check(b, FAR, &c), ERR_WRONG);
  before = b->f.launches;
  OK(b, check(b, GOOD, &c));
  uint64_t plain = b->f.launches - before;
  assert_int_equal(check(b, PAST, &c), ERR_WRONG);
  before = b->f.launches;
  OK(b, check(b, GOOD, &c));
  assert_true(b->f.launches - before > plain);
}

FAKE_TEST(test_contender) {
  rt_check c;
  OK(b, rt_harness_check_contender(b->bench, rt_loaded_contender(b->l), &c, &b->e));
  assert_int_equal(
      rt_harness_check_contender(b->bench, (rt_contender){bad_launch, NULL}, &c, &b->e),
      ERR_LAUNCH);
  assert_string_equal(b->e.message, "no");
}

static void stray_reference(fake *f, void **args) {
  (void)f, probe_in_mode(PAST, args);
}

FAKE_TEST(test_bad_reference) {
  rt_harness *other;
  b->functions[1].run = stray_reference;
  assert_int_equal(rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &other, &b->e),
                   ERR_TEMPLATE);
  assert_null(other);
  assert_non_null(strstr(b->e.message, "the reference: wrote 3 bytes past the end of y"));
  assert_string_equal(b->e.place, b->path);
}

FAKE_TEST(test_too_large) {
  rt_harness *other;
  b->f.device.info.memory_nbytes = 2000;
  assert_int_equal(rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &other, &b->e),
                   ERR_NOMEM);
  printf("  %s\n", b->e.message);
  assert_non_null(strstr(b->e.message, "free"));
}

/* As on the emulated device, each buffer is an allocation of its exact size. */
FAKE_TEST(test_separate) {
  rt_check c;
  rt_times times;
  drop_bench(b);
  b->f.device.info.checks_bounds = true;
  OK(b, rt_checker_new(&b->f.device, b->c, &b->checker, &b->e));
  OK(b, rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &b->bench, &b->e));
  OK(b, rt_loaded_new(&b->f.device, "x", 1, b->t, b->plan, &b->l, &b->e));
  OK(b, check(b, GOOD, &c));
  assert_int_equal(check(b, PADDING, &c), ERR_WRONG);
  uint64_t before = b->f.launches;
  b->f.mode = GOOD;
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){0}, &times, &b->e));
  assert_int_equal(times.launches, 1);
  assert_int_equal(b->f.launches - before, 1);
}

/* ---- test data of the host --------------------------------------------------------------------- */

static float seen[4]; /* of x and y, the first element and the last */

static void looks(fake *f, void **args) {
  const long long n = FAKE_ARG(args, 0, long long);
  const float *x = fake_memory(FAKE_ARG(args, 2, rt_ptr)),
              *y = fake_memory(FAKE_ARG(args, 3, rt_ptr));
  const float now[] = {x[0], x[n - 1], y[0], y[n - 1]};
  memcpy(seen, now, sizeof seen);
  probe(f, args);
}

/* The probe with these fills of x and y, and a harness of it. */
static int fill_with(bed *b, const char *x, const char *y) {
  static const char fill[] = "fill = { 'uniform', -1, 1 }";
  auto_str text = {0};
  const char *first = strstr(probe_lua, fill), *second = strstr(first + 1, fill);
  drop_bench(b);
  gen_instance_free(b->g);
  gen_close(b->t);
  b->g = NULL, b->t = NULL;
  str_add_n(&text, probe_lua, (size_t)(first - probe_lua));
  str_addf(&text, "fill = %s", x);
  str_add_n(&text, first + sizeof fill - 1, (size_t)(second - first) - (sizeof fill - 1));
  str_addf(&text, "fill = %s%s", y, second + sizeof fill - 1);
  bind(b, str_text(&text));
  OK(b, rt_checker_new(&b->f.device, b->c, &b->checker, &b->e));
  OK(b, rt_loaded_new(&b->f.device, "x", 1, b->t, b->plan, &b->l, &b->e));
  return rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &b->bench, &b->e);
}

/* A file beside the template; the name is good until the next call. */
static const char *data_file(const char *head, size_t n, const float *values, size_t n_values) {
  static char name[64];
  char path[96];
  auto_str bytes = {0};
  err e = {0};
  str_add_n(&bytes, head, n);
  str_add_n(&bytes, (const char *)values, n_values * sizeof *values);
  snprintf(name, sizeof name, "test_run_%d.npy", (int)getpid());
  snprintf(path, sizeof path, "/tmp/%s", name);
  assert_ok(file_write(path, bytes.p, bytes.n, &e), &e);
  return name;
}

#define NPY(descr, shape)                                                                          \
  "\x93NUMPY\1\0\x44\0{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }\n"

static void fails_with(bed *b, const char *fill, int code, const char *words) {
  err_clear(&b->e);
  assert_fails(fill_with(b, fill, "{ 'constant', 1 }"), &b->e, code, words);
  err_clear(&b->e);
}

FAKE_TEST(test_data_of_the_host) {
  rt_check c;
  float values[100];
  char fill[100];
  for (int i = 0; i < 100; i++) {
    values[i] = (float)(3 * i + 1);
  }
  const char *name = data_file("", 0, values, 100);
  b->functions[0].run = looks;
  snprintf(fill, sizeof fill, "{ 'file', '%s' }", name);
  OK(b, fill_with(b, fill, "{ 'lua', function(i, n, fields) return i + n + fields.n / 8 end }"));
  OK(b, check(b, GOOD, &c));
  assert_true(seen[0] == 1 && seen[1] == 298 && seen[2] == 112.5f && seen[3] == 211.5f);
  static const char head[] = NPY("<f4", "(25, 4)       ");
  assert_int_equal(sizeof head - 1, 10 + 0x44);
  data_file(head, sizeof head - 1, values, 100);
  OK(b, fill_with(b, "{ 'constant', 7 }", fill));
  OK(b, check(b, GOOD, &c));
  assert_true(seen[0] == 7 && seen[2] == 1 && seen[3] == 298);
  data_file(head, sizeof head - 1, values, 99);
  fails_with(b, fill, ERR_IO, "ends early");
  data_file("", 0, values, 99);
  fails_with(b, fill, ERR_USAGE, "it has 396 bytes, and 'x' has 100 elements of f32");
  static const char wide[] = NPY("<f8", "(100,)        ");
  data_file(wide, sizeof wide - 1, values, 100);
  fails_with(b, fill, ERR_USAGE, "it holds elements of <f8, and 'x' is f32");
  static const char less[] = NPY("<f4", "(10, 9)       ");
  data_file(less, sizeof less - 1, values, 90);
  fails_with(b, fill, ERR_USAGE, "it holds 90 elements, and 'x' has 100");
  fails_with(b, "{ 'file', 'nowhere.bin' }", ERR_NOTFOUND, "cannot open the data of 'x'");
  fails_with(b, "{ 'lua', function(i) return 'a' end }", ERR_TEMPLATE,
             "the fill of 'x' gives string for element 0, not a number");
  fails_with(b, "{ 'lua', function(i) while true do end end }", ERR_LIMIT, "instructions");
  snprintf(fill, sizeof fill, "/tmp/%s", name);
  unlink(fill);
}

/* ---- a reference that counts ------------------------------------------------------------------- */

/* Counts the elements of z that are not their index. */
static void counts(fake *f, void **args) {
  (void)f;
  const long long n = FAKE_ARG(args, 0, long long);
  const int32_t *z = fake_memory(FAKE_ARG(args, 1, rt_ptr));
  uint64_t *wrong = fake_memory(FAKE_ARG(args, 2, rt_ptr));
  for (long long i = 0; i < n; i++) {
    *wrong += z[i] != i;
  }
}

FAKE_TEST(test_reference_that_counts) {
  static const char stages[] = "args = { 'n', 'a', 'x', 'y', 'z' } } },\n    source = 'extern";
  const char *at = strstr(strstr(probe_lua, "reference ="), "args =");
  auto_str text = {0};
  rt_check c;
  str_add_n(&text, probe_lua, (size_t)(at - probe_lua));
  str_add(&text, "args = { 'n', 'z', 'wrong' } } }, workspace = { { 'wrong', 'u64', 1 } },\n"
                 "    counts = 'wrong', source = 'extern");
  str_add(&text, at + sizeof stages - 1);
  drop_bench(b);
  gen_instance_free(b->g);
  gen_close(b->t);
  b->g = NULL, b->t = NULL;
  bind(b, str_text(&text));
  b->functions[1].run = counts;
  OK(b, rt_checker_new(&b->f.device, b->c, &b->checker, &b->e));
  OK(b, rt_loaded_new(&b->f.device, "x", 1, b->t, b->plan, &b->l, &b->e));
  OK(b, rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &b->bench, &b->e));
  for (int i = 0; i < 2; i++) { /* the count starts at zero each time */
    OK(b, check(b, GOOD, &c));
    assert_int_equal(c.n_wrong, 0);
    OK(b, check(b, FAR, &c)); /* of y, which it does not look at */
    assert_int_equal(check(b, UNWRITTEN, &c), ERR_WRONG);
    assert_string_equal(b->e.message, "1 element is wrong, by the template's check (case 0)");
    assert_int_equal(c.n_wrong, 1);
    assert_int_equal(check(b, PAST, &c), ERR_WRONG);
    assert_int_equal(check(b, INPUT, &c), ERR_WRONG);
  }
}

/* ---- every device call fails once ---------------------------------------------------------- */

static int whole_street(bed *b, err *e) {
  rt_harness *bench = NULL;
  rt_loaded *l = NULL;
  rt_check c;
  rt_times t;
  rt_contender who;
  const rt_timing how = {.target_sec = 1e-4};
  const rt_timing graph = {.target_sec = 1e-4, .replay = RT_GRAPH};
  int rc = rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &bench, e);
  rc = rc ? rc : rt_loaded_new(&b->f.device, "x", 1, b->t, b->plan, &l, e);
  rc = rc ? rc : rt_harness_check(bench, l, &c, e);
  rc = rc ? rc : rt_harness_time(bench, l, &how, &t, e);
  who = rt_loaded_contender(l);
  rc = rc ? rc : rt_harness_race(bench, &who, 1, 1, &how, &t, e);
  rc = rc ? rc : rt_harness_time(bench, l, &graph, &t, e);
  rt_loaded_free(l);
  rt_harness_free(bench);
  return rc;
}

FAKE_TEST(test_every_failure) {
  int live = b->f.live, k = 0, rc;
  b->functions[0].sec = 1e-3; /* fewer launches, so fewer calls to fail */
  do {
    err e = {0};
    b->f.calls = 0;
    b->f.fail_at = ++k;
    rc = whole_street(b, &e);
    assert_int_equal(b->f.live, live);
    assert_true(rc == 0 || (rc == ERR_DEVICE && strstr(e.message, "made to fail")));
  } while (rc);
  printf("  %d calls\n", k - 1);
  assert_true(k > 50 && b->f.calls < k);
  b->f.fail_at = 0;
}

FAKE_TEST(test_tools_failures) {
  int live = b->f.live;
  for (int k = 1; k <= 5; k++) {
    rt_checker *checker;
    err_clear(&b->e);
    b->f.calls = 0;
    b->f.fail_at = k;
    assert_int_equal(rt_checker_new(&b->f.device, b->c, &checker, &b->e), ERR_DEVICE);
    assert_null(checker);
    assert_int_equal(b->f.live, live);
  }
  b->f.fail_at = 0;
}

int main(void) {
  return tests_run();
}
