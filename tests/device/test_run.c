/* test_run.c -- candidates checked and timed on a fake device, where time and results are exact and
 * any call can fail. The reference is compiled, so without NVRTC the tests are skipped. */
#define _GNU_SOURCE
#include <unistd.h>

#include "check.h"
#include "fake_device.h"
#include "file.h"
#include "random.h"
#include "run.h"

/* ---- a small family, whose kernels on the fake device are the C functions below ------------ */

static const char probe_lua[] =
    "return { name = 'probe', version = 1, brief = 'a test', cite = 'none',\n"
    "  problem = { { 'n', 0, 2^20, default = 1000 } },\n"
    "  args = {\n"
    "    { 'n', 'i64', value = 'n' },\n"
    "    { 'a', 'f32', sample = 2.5 },\n"
    "    { 'pad', 'i32', sample = 0 },\n"
    "    { 'x', 'f32', 'in', count = 'n', fill = { 'uniform', -1, 1 } },\n"
    "    { 'y', 'f32', 'inout', count = 'n', fill = { 'uniform', -1, 1 }, overwritten = 'a == 0' "
    "},\n"
    "    { 'z', 'i32', 'out', count = 'n + pad' },\n"
    "  },\n"
    "  call = { 'n', 'a', 'pad', 'x', 'y', 'z' },\n"
    "  space = { { 'BLOCK', { 64, 128 }, 'threads per block' } },\n"
    "  derive = {}, require = {}, default = { BLOCK = 64 },\n"
    "  stages = { { kernel = 'probe', grid = 'ceildiv(n, BLOCK)', block = 'BLOCK',\n"
    "               args = { 'n', 'a', 'x', 'y', 'z' } } },\n"
    "  source = 'extern \"C\" __global__ void probe() {}\\n',\n"
    "  reference = {\n"
    "    stages = { { kernel = 'reference', grid = 'ceildiv(n, 64)', block = 64,\n"
    "                 args = { 'n', 'a', 'x', 'y', 'z' } } },\n"
    "    source = 'extern \"C\" __global__ void reference() {}\\n' },\n"
    "  cases = { {}, { a = 0 }, { a = -1, pad = 7 } },\n"
    "  tolerance = { abs = 2^-20, rel = 2^-20 },\n"
    "  flops = '2 * n', bytes = '16 * n',\n"
    "  sizes = { emu = { 'n=100' }, test = { 'n=100' }, bench = { 'n=1000' } },\n"
    "}\n";

enum mode {
  GOOD,
  NEAR,      /* within the tolerance */
  FAR,       /* one element beyond it */
  NANS,      /* a NaN where a number belongs */
  UNWRITTEN, /* leaves out the last z */
  PADDING,   /* writes where the reference does not */
  PAST,      /* three bytes past the end of y */
  BEFORE,    /* four bytes before z */
  INPUT,     /* changes x */
  READS_OLD, /* adds the old y even when a is 0 */
};

static void probe_in_mode(enum mode mode, void **args) {
  long long n = FAKE_ARG(args, 0, long long);
  float a = FAKE_ARG(args, 1, float);
  float *x = fake_memory(FAKE_ARG(args, 2, rt_ptr)), *y = fake_memory(FAKE_ARG(args, 3, rt_ptr));
  int32_t *z = fake_memory(FAKE_ARG(args, 4, rt_ptr));
  for (long long i = 0; i < n; i++) {
    y[i] = a != 0 || mode == READS_OLD ? a * x[i] + y[i] : 2.0f;
    z[i] = mode == UNWRITTEN && i == n - 1 ? z[i] : (int32_t)i;
  }
  y[3] *= mode == NEAR ? 1 + 1e-7f : mode == FAR ? 1.5f : 1;
  y[5] = mode == NANS ? NAN : y[5];
  x[7] += mode == INPUT;
  if (mode == PADDING && a < 0) {
    z[n + 2] = 0;
  } else if (mode == PAST) {
    memset(y + n, 0, 3);
  } else if (mode == BEFORE) {
    z[-1] = 0;
  }
}

static void probe(fake *f, void **args) {
  probe_in_mode((enum mode)f->mode, args);
}
static void reference(fake *f, void **args) {
  (void)f, probe_in_mode(GOOD, args);
}

/* ---- the state of a test ------------------------------------------------------------------- */

typedef struct bed {
  fake f;
  fake_function functions[3];
  rt_compiler *c;
  rt_checker *checker;
  char path[64];
  gen_template *t;
  gen_instance *g;
  arena a;
  const gen_plan *plan;
  rt_harness *bench;
  rt_loaded *l;
  err e;
} bed;

#define OK(b, call) assert_ok(call, &(b)->e)

/* Opens the template for n = 100 and makes its plan. */
static void bind(bed *b, const char *text) {
  gen_problem p;
  gen_config config;
  gen_number numbers[RT_NUMBERS];
  snprintf(b->path, sizeof b->path, "/tmp/test_run_%d.lua", (int)getpid());
  OK(b, file_write(b->path, text, strlen(text), &b->e));
  OK(b, gen_open(NULL, b->path, &b->t, &b->e));
  OK(b, gen_problem_parse(b->t, "n=100", &p, &b->e));
  rt_numbers(&b->f.device.info, numbers);
  OK(b, gen_instance_new(b->t, &p, numbers, RT_NUMBERS, &b->g, &b->e));
  gen_config_default(b->t, &config);
  OK(b, gen_plan_make(b->g, &config, &b->a, &b->plan, &b->e));
}

static int set_up(void **state) {
  bed *b = calloc(1, sizeof *b);
  *state = b;
  b->functions[0] = (fake_function){"probe", probe, 1e-6};
  b->functions[1] = (fake_function){"reference", reference, 1e-3};
  fake_init(&b->f, b->functions);
  if (rt_compiler_open(&b->c, &b->e)) {
    printf("skipped: %s\n", b->e.message);
    return 0;
  }
  bind(b, probe_lua);
  OK(b, rt_checker_new(&b->f.device, b->c, &b->checker, &b->e));
  OK(b, rt_harness_new(&b->f.device, b->c, b->checker, b->t, b->g, &b->bench, &b->e));
  OK(b, rt_loaded_new(&b->f.device, "x", 1, b->t, b->plan, &b->l, &b->e));
  return 0;
}

static void drop_bench(bed *b) {
  rt_loaded_free(b->l);
  rt_harness_free(b->bench);
  rt_checker_free(b->checker);
  b->l = NULL, b->bench = NULL, b->checker = NULL;
}

static int tear_down(void **state) {
  bed *b = *state;
  drop_bench(b);
  gen_instance_free(b->g);
  gen_close(b->t);
  arena_clear(&b->a);
  rt_compiler_close(b->c);
  unlink(b->path);
  int live = b->f.live;
  free(b);
  return live; /* a leak fails the test */
}

static bed *ready(void **state) {
  bed *b = *state;
  if (!b->c) {
    skip_because("no NVRTC");
  }
  return b;
}

#define FAKE_TEST(name) TEST_ON(name, bed, b, ready, set_up, tear_down)

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

static int bad_launch(void *self, rt_stream s, const void *const *args, err *e) {
  (void)self, (void)s, (void)args;
  return err_set(e, ERR_LAUNCH, "no");
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

/* ---- timing -------------------------------------------------------------------------------- */

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-6 * b;
}

FAKE_TEST(test_times) {
  rt_times t;
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){.target_sec = 0.01}, &t, &b->e));
  assert_true(near(t.median, 1e-6) && near(t.p25, 1e-6) && near(t.p75, 1e-6));
  assert_in_range(t.launches, 2500, 2600); /* five equal batches suffice */
  assert_int_equal(t.n_batches, 5);
  assert_int_equal(t.ended, RT_ENDED_PRECISE);
  assert_true(t.cold);
  assert_false(t.stopped);
}

/* The time of a launch varies at random by a fifth. */
static uint64_t noise_state;
static void noisy(fake *f, void **args) {
  probe(f, args);
  f->clock += 0.4e-3 * (random_unit(&noise_state) - 0.5);
}

/* The sequential test rarely gives up a candidate as fast as the best, soon gives up one a third
 * slower, and gives up one twice as slow after the first launch. */
FAKE_TEST(test_sequential) {
  static const struct {
    double sec;
    int least, most;
    rt_ended ended;
  } cases[] = {{1.0e-3, 0, 4, RT_ENDED_SLOWER},
               {1.3e-3, 195, 200, RT_ENDED_SLOWER},
               {3e-3, 200, 200, RT_ENDED_LOOK}};
  b->functions[0].run = noisy;
  b->f.mode = GOOD;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int n = 0;
    uint64_t batches = 0;
    noise_state = 1;
    b->functions[0].sec = cases[i].sec;
    for (int j = 0; j < 200; j++) {
      rt_times t;
      const rt_timing how = {.target_sec = 0.02, .stop_above = 1e-3};
      OK(b, rt_harness_time(b->bench, b->l, &how, &t, &b->e));
      n += t.ended == cases[i].ended;
      batches += t.n_batches;
      assert_int_equal(t.stopped, t.ended == RT_ENDED_SLOWER || t.ended == RT_ENDED_LOOK);
    }
    printf("  %.1f times the best: %d of 200 %s, %.1f batches each\n", cases[i].sec / 1e-3, n,
           rt_ended_name(cases[i].ended), (double)batches / 200);
    assert_in_range(n, cases[i].least, cases[i].most);
  }
}

/* A graph repeats its launches with the same buffers, so it holds enough launches for each to be
 * cold. */
FAKE_TEST(test_graphs) {
  rt_times t;
  const rt_timing how = {.replay = RT_GRAPH};
  b->functions[0].sec = 50e-6;
  OK(b, rt_harness_time(b->bench, b->l, &how, &t, &b->e));
  assert_int_equal(t.replay, RT_GRAPH);
  assert_true(near(t.median, 50e-6) && t.cold);
  assert_int_equal(b->f.graphs, 1);
  rt_contender c[2] = {rt_loaded_contender(b->l), rt_loaded_contender(b->l)};
  rt_times both[2];
  OK(b, rt_harness_race(b->bench, c, 2, 3, &how, both, &b->e));
  assert_int_equal(b->f.graphs, 3);
  assert_true(both[1].replay == RT_GRAPH && both[1].cold && both[1].ended == RT_ENDED_RACE);
  rt_device_ops without = *b->f.device.ops;
  without.graph_new = NULL;
  b->f.device.ops = &without;
  assert_fails(rt_harness_time(b->bench, b->l, &how, &t, &b->e), &b->e, ERR_USAGE, "no graphs");
  b->f.device.ops = &fake_ops;
}

typedef struct meter { /* 100 W, counted in steps of 10 ms of the device's time */
  fake *f;
  bool broken;
} meter;

static double joules(void *self) {
  meter *m = self;
  return m->broken ? -1 : floor(m->f->clock / 0.01) * 0.01 * 100;
}

FAKE_TEST(test_energy) {
  meter m = {&b->f, false};
  const rt_meter how = {joules, &m};
  double each;
  b->functions[0].sec = 1e-4;
  OK(b, rt_harness_energy(b->bench, b->l, &how, 0.02, &each, &b->e));
  assert_true(fabs(each - 1e-4 * 100) < 0.01 * 1e-4 * 100);
  m.broken = true;
  assert_fails(rt_harness_energy(b->bench, b->l, &how, 0.02, &each, &b->e), &b->e, ERR_DEVICE,
               "can't be read");
}

static size_t seen_by_watch[4];
static void watch(void *self, size_t contender) {
  (void)self, seen_by_watch[contender]++;
}

FAKE_TEST(test_watch) {
  rt_contender c[3] = {rt_loaded_contender(b->l), rt_loaded_contender(b->l),
                       rt_loaded_contender(b->l)};
  rt_times t[3];
  const rt_timing how = {.watch = watch};
  OK(b, rt_harness_time(b->bench, b->l, &how, t, &b->e));
  assert_int_equal(seen_by_watch[0], 1);
  OK(b, rt_harness_race(b->bench, c, 3, 5, &how, t, &b->e));
  assert_true(seen_by_watch[0] == 2 && seen_by_watch[1] == 1 && seen_by_watch[2] == 1);
}

/* A candidate that is far too slow runs in the first case only. */
FAKE_TEST(test_quick_check) {
  rt_check c;
  b->f.mode = GOOD;
  OK(b, rt_harness_check_quick(b->bench, b->l, 1e-6, &c, &b->e));
  assert_int_equal(c.n_cases, 3);
  b->functions[0].sec = 1e-3;
  OK(b, rt_harness_check_quick(b->bench, b->l, 1e-6, &c, &b->e));
  assert_int_equal(c.n_cases, 1);
  assert_true(near(c.first_sec, 1e-3));
  OK(b, rt_harness_check_quick(b->bench, b->l, 0, &c, &b->e));
  assert_int_equal(c.n_cases, 3);
  b->f.mode = FAR;
  assert_int_equal(rt_harness_check_quick(b->bench, b->l, 1e-6, &c, &b->e), ERR_WRONG);
}

/* The host delays the launch at which this count reaches zero. */
static int held_up;
static double held_sec;
static void sometimes_held(fake *f, void **args) {
  probe(f, args);
  f->clock += --held_up == 0 ? held_sec : 0;
}

static rt_check check_held(bed *b, int which, double sec, uint64_t *launches) {
  rt_check c;
  const uint64_t before = b->f.launches;
  held_up = which;
  held_sec = sec;
  OK(b, rt_harness_check_quick(b->bench, b->l, 1e-6, &c, &b->e));
  *launches = b->f.launches - before;
  return c;
}

/* A launch that the host delayed does not end the check; a slow one does. */
FAKE_TEST(test_held_up_check) {
  uint64_t all, launches;
  b->f.mode = GOOD;
  b->functions[0].run = sometimes_held;
  assert_int_equal(check_held(b, 0, 0, &all).n_cases, 3);
  rt_check c = check_held(b, 1, 5e-3, &launches);
  assert_int_equal(c.n_cases, 3);
  assert_true(near(c.first_sec, 1e-6));
  assert_int_equal(launches, all + 1);
  assert_int_equal(check_held(b, 2, 5e-3, &launches).n_cases, 3); /* the second is not timed */
  assert_int_equal(launches, all);
  b->functions[0].sec = 5e-3; /* both are slow */
  assert_int_equal(check_held(b, 0, 0, &launches).n_cases, 1);
  const uint64_t slow = launches;
  b->functions[0].sec = 0.2; /* longer than any delay of the host */
  assert_int_equal(check_held(b, 0, 0, &launches).n_cases, 1);
  assert_int_equal(launches, slow - 1);
}

static rt_times time_held(bed *b, int which, double sec, uint64_t *launches) {
  rt_times t;
  const rt_timing how = {.stop_above = 1e-6};
  const uint64_t before = b->f.launches;
  held_up = which;
  held_sec = sec;
  OK(b, rt_harness_time(b->bench, b->l, &how, &t, &b->e));
  *launches = b->f.launches - before;
  return t;
}

FAKE_TEST(test_held_up_look) {
  uint64_t all, launches;
  b->f.mode = GOOD;
  b->functions[0].run = sometimes_held;
  rt_times t = time_held(b, 0, 0, &all);
  assert_false(t.stopped);
  t = time_held(b, 2, 5e-3, &launches); /* the first only warms up */
  assert_false(t.stopped);
  assert_true(near(t.median, 1e-6));
  assert_in_range(launches, all - 20, all + 20);
  b->functions[0].sec = 5e-3;
  t = time_held(b, 0, 0, &launches);
  assert_int_equal(t.ended, RT_ENDED_LOOK);
  assert_int_equal(launches, 3);
  b->functions[0].sec = 0.2;
  t = time_held(b, 0, 0, &launches);
  assert_true(t.ended == RT_ENDED_LOOK && near(t.median, 0.2));
  assert_int_equal(launches, 2);
}

FAKE_TEST(test_long_launch) {
  rt_times t;
  b->functions[0].sec = 0.1;
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){.target_sec = 0.01}, &t, &b->e));
  assert_true(near(t.median, 0.1));
  assert_in_range(t.launches, 1, 3);
  b->functions[0].sec = 0.004;
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){.target_sec = 0.01}, &t, &b->e));
  assert_in_range(t.launches, 3, 8);
}

FAKE_TEST(test_stop) {
  rt_times t;
  b->functions[0].sec = 1e-3;
  uint64_t before = b->f.launches;
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){.target_sec = 0.1, .stop_above = 1e-4}, &t,
                        &b->e));
  assert_true(t.stopped && near(t.median, 1e-3));
  assert_int_equal(b->f.launches - before, 3); /* the warm-up and two timed launches */
  b->functions[0].sec = 1.2e-6;                /* slightly slower: it takes some batches */
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){.target_sec = 0.1, .stop_above = 1e-6}, &t,
                        &b->e));
  assert_true(t.stopped && t.launches > 100);
  OK(b, rt_harness_time(b->bench, b->l, &(rt_timing){.target_sec = 0.1, .stop_above = 1.2e-6}, &t,
                        &b->e));
  assert_false(t.stopped);
}

typedef struct witness { /* a contender that notes which buffers it gets */
  bed *b;
  char name;
  double sec;
  rt_ptr seen[64];
  size_t n;
} witness;

static char order[64];

static int witness_launch(void *self, rt_stream s, const void *const *args, err *e) {
  witness *w = self;
  size_t n = strlen(order);
  if (n + 1 < sizeof order && (n == 0 || order[n - 1] != w->name)) {
    order[n] = w->name;
  }
  w->seen[w->n++ % 64] = *(const rt_ptr *)args[4];
  w->b->f.clock += w->sec - 1e-6;
  return rt_loaded_launch(w->b->l, s, args, e);
}

static size_t distinct(const witness *w) {
  size_t n = 0, all = w->n < 64 ? w->n : 64;
  for (size_t i = 0; i < all; i++) {
    bool old = false;
    for (size_t j = 0; j < i; j++) {
      old = old || w->seen[j] == w->seen[i];
    }
    n += !old;
  }
  return n;
}

/* Launches rotate through sets of buffers; between two uses of a set twice the L2 is written. */
FAKE_TEST(test_rotation) {
  witness w = {b, 'A', 1e-6, {0}, 0}, hot = w;
  rt_contender c = {witness_launch, &w}, h = {witness_launch, &hot};
  rt_times t;
  OK(b, rt_harness_race(b->bench, &c, 1, 3, &(rt_timing){0}, &t, &b->e));
  assert_true(t.cold);
  assert_int_equal(distinct(&w), 64);
  OK(b, rt_harness_race(b->bench, &h, 1, 3, &(rt_timing){.hot = true}, &t, &b->e));
  assert_false(t.cold);
  assert_int_equal(distinct(&hot), 1);
}

FAKE_TEST(test_race) {
  witness w[2] = {{b, 'A', 2e-6, {0}, 0}, {b, 'B', 5e-6, {0}, 0}};
  rt_contender c[2] = {{witness_launch, &w[0]}, {witness_launch, &w[1]}};
  rt_times t[2];
  memset(order, 0, sizeof order);
  OK(b, rt_harness_race(b->bench, c, 2, 4, &(rt_timing){.target_sec = 0.002}, t, &b->e));
  assert_true(near(t[0].median, 2e-6) && near(t[1].median, 5e-6));
  assert_string_equal(order, "ABABABABAB");
  assert_true(t[0].launches >= 1000 && t[1].launches >= 400);
  c[1].launch = bad_launch;
  assert_int_equal(rt_harness_race(b->bench, c, 2, 4, &(rt_timing){0}, t, &b->e), ERR_LAUNCH);
}

/* A contender far behind runs in the first, the middle and the last round. */
FAKE_TEST(test_race_far_behind) {
  witness w[2] = {{b, 'A', 2e-6, {0}, 0}, {b, 'B', 9e-6, {0}, 0}};
  rt_contender c[2] = {{witness_launch, &w[0]}, {witness_launch, &w[1]}};
  rt_times t[2];
  memset(order, 0, sizeof order);
  OK(b, rt_harness_race(b->bench, c, 2, 7, &(rt_timing){.target_sec = 0.002}, t, &b->e));
  assert_string_equal(order, "ABABABAB");
  assert_true(near(t[0].median, 2e-6) && near(t[1].median, 9e-6));
  assert_true(t[0].n_batches == 7 && t[1].n_batches == 3);
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
