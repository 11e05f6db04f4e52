/* test_run_timing.c -- candidates timed and raced on a fake device, whose clock is exact. */
#define _GNU_SOURCE
#include "random.h"
#include "run_fixture.h"

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

int main(void) {
  return tests_run();
}
