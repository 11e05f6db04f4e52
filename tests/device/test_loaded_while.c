/* test_loaded_while.c -- loops until a word is 0, on a fake device: their drivers, bounds, and failures. */
#define _GNU_SOURCE
#include "check.h"
#include "loaded_fixture.h"

static const gen_operand word = {.from = GEN_FROM_WORKSPACE, .text = "state"};
static const gen_operand with_handle[] = {{.from = GEN_FROM_LOOP, .nbytes = 16, .text = "state"},
                                          {.from = GEN_FROM_WORKSPACE, .text = "state"},
                                          {.from = GEN_FROM_VALUE, .nbytes = 4, .bits = 5}};

static uint64_t n_steps, n_begins;

static uint32_t *words_of(void **args, int i) {
  return fake_memory(FAKE_ARG(args, i, rt_ptr));
}

static void step(fake *f, void **args) {
  (void)f;
  uint32_t *state = words_of(args, 0);
  n_steps++;
  state[0] -= state[0] > 0;
}

static void set_handle(void **args, uint32_t value) {
  const gen_loop_handle h = FAKE_ARG(args, 0, gen_loop_handle);
  assert_true(h.handle && h.unfinished);
  *(uint32_t *)fake_memory(h.handle) = value;
}

static void begin(fake *f, void **args) {
  (void)f;
  uint32_t *state = words_of(args, 1);
  n_begins++;
  state[1] = FAKE_ARG(args, 2, uint32_t);
  set_handle(args, state[0] && state[1]);
}

static void next(fake *f, void **args) {
  (void)f;
  uint32_t *state = words_of(args, 1);
  state[1]--;
  set_handle(args, state[0] && state[1]);
  if (state[0] && !state[1]) {
    *(uint32_t *)fake_memory(FAKE_ARG(args, 0, gen_loop_handle).unfinished) = 1;
  }
}

static const fake_function functions[] = {{"step", step, 1e-6},
                                          {"while_begin", begin, 1e-6},
                                          {"while_next", next, 1e-6},
                                          {NULL, NULL, 0}};

static int run_while(rt_device *d, rt_stream s,
                     int (*record)(void *, rt_stream, uint64_t, bool, err *), void *self, err *e) {
  (void)d;
  uint32_t handle = 0;
  TRY(record(self, s, (uint64_t)(uintptr_t)&handle, false, e));
  while (handle) {
    TRY(record(self, s, (uint64_t)(uintptr_t)&handle, true, e));
  }
  return 0;
}

static bool is_captured;

static bool captured(rt_device *d, rt_stream s) {
  (void)d, (void)s;
  return is_captured;
}

static gen_launch around(const char *kernel, const gen_operand *o, size_t n, const gen_loop *loop) {
  return (gen_launch){kernel, {1, 1, 1}, {1, 1, 1}, .operands = o, .n_operands = n, .loop = loop};
}

typedef struct fixture {
  fake f;
  rt_device_ops able;
  rt_loaded *l;
  err e;
  _Alignas(256) uint32_t state[64];
} fixture;

/* One loop, of a graph or with that batch. */
static void start(fixture *x, bool graph, uint64_t batch) {
  const gen_loop loop = {.times = 5,
                         .n = graph ? 3 : 1,
                         .graph = graph,
                         .is_while = true,
                         .word_name = "state",
                         .batch = batch};
  const gen_launch all[] = {around("while_begin", with_handle, 3, &loop),
                            around("step", &word, 1, &loop),
                            around("while_next", with_handle, 2, &loop)};
  const uint64_t workspaces[] = {8}, values[] = {1, 0, 0};
  const gen_plan plan = {.launches = graph ? all : &all[1],
                         .n = loop.n,
                         .workspaces = workspaces,
                         .n_workspaces = 1,
                         .values = values};
  *x = (fixture){.able = fake_ops};
  x->able.while_add = run_while;
  x->able.capturing = captured;
  is_captured = false;
  fake_init(&x->f, functions);
  x->f.device.ops = &x->able;
  assert_int_equal(rt_loaded_new(&x->f.device, "x", 1, &look_template, &plan, &x->l, &x->e), 0);
  assert_true(rt_loaded_blocks(x->l) == !graph);
}

static int launch(fixture *x, uint32_t n) {
  const void *args[3] = {NULL};
  n_steps = n_begins = 0;
  err_clear(&x->e);
  x->state[0] = n;
  return rt_loaded_launch_in(x->l, NULL, args, (rt_ptr)(uintptr_t)x->state, &x->e);
}

static void end(fixture *x) {
  rt_loaded_free(x->l);
  assert_int_equal(x->f.live, 0);
}

TEST(the_host_drives_loops) {
  static const struct {
    uint64_t batch, steps[4]; /* for 0, 1, 4, 5 iterations; those ahead of them are for nothing */
  } cases[] = {{0, {0, 1, 4, 5}}, {2, {2, 4, 5, 5}}, {7, {5, 5, 5, 5}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static const uint32_t iterations[] = {0, 1, 4, 5};
    fixture x;
    start(&x, false, cases[i].batch);
    for (int k = 0; k < 4; k++) {
      assert_ok(launch(&x, iterations[k]), &x.e);
      assert_int_equal(n_steps, cases[i].steps[k]);
      assert_int_equal(x.state[0], 0);
    }
    assert_fails(launch(&x, 6), &x.e, ERR_LAUNCH,
                 "a loop has run for 5 iterations, its 'max', and the first element of state");
    is_captured = true;
    assert_fails(launch(&x, 1), &x.e, ERR_USAGE, "ask for blocking=no");
    end(&x);
  }
}

TEST(graphs_drive_loops) {
  for (int capture = 0; capture < 2; capture++) {
    fixture x;
    start(&x, true, 0);
    is_captured = capture;
    for (uint32_t n = 0; n < 6; n++) {
      assert_ok(launch(&x, n), &x.e);
      assert_true(n_begins == 1 && n_steps == n);
      assert_int_equal(x.f.graphs, !capture);
      assert_ok(rt_loaded_finished(x.l, &x.e), &x.e);
    }
    assert_ok(launch(&x, 7), &x.e); /* what comes next tells it, once */
    assert_int_equal(n_steps, 5);
    assert_fails(launch(&x, 1), &x.e, ERR_LAUNCH,
                 "reached its bound before the first element of state");
    assert_ok(launch(&x, 1), &x.e);
    end(&x);
  }
  fixture x;
  start(&x, true, 0);
  x.able.while_add = NULL;
  assert_fails(launch(&x, 1), &x.e, ERR_USAGE, "loops of graphs need an NVIDIA driver");
  end(&x);
}

/* Whichever call of the device fails, nothing is left behind. */
TEST(failures_of_loops) {
  for (int graph = 0; graph < 2; graph++) {
    fixture x;
    start(&x, graph, graph ? 0 : 2);
    const int calls = x.f.calls;
    int rc = -1;
    for (int at = 1; rc; at++) {
      x.f.fail_at = x.f.calls + at;
      rc = launch(&x, 3);
      assert_true(rc == 0 || at < 40);
    }
    assert_true(x.f.calls > calls);
    x.f.fail_at = 0;
    end(&x);
  }
}

int main(void) {
  return tests_run();
}
