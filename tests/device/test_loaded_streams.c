/* test_loaded_streams.c -- plans whose stages are on several streams, on a fake device: what waits
 * for what, in loops and captures, too. */
#define _GNU_SOURCE
#include "check.h"
#include "loaded_fixture.h"

static const gen_operand parameter = {.from = GEN_FROM_ARG, .index = 1};
static bool is_captured;

/* What a device is told, in order: "0r" records an event on the caller's stream, "1w" makes stream 1
 * wait, "1k" runs a kernel there, "c" copies, "m" sets. Streams are numbered as they are made. */
static char told[200];
static void *numbered[8];
static int n_numbered, n_captured;

static void tell(rt_stream s, const char *what) {
  int i = n_numbered;
  while (i > 0 && numbered[i - 1] != s) {
    i--;
  }
  snprintf(told + strlen(told), sizeof told - strlen(told), "%s%d%s", *told ? " " : "", i, what);
}
static int tell_beside(rt_device *d, rt_stream *s, err *e) {
  TRY(fake_stream_new(d, s, e));
  numbered[n_numbered++] = *s;
  return 0;
}
static int tell_wait(rt_device *d, rt_stream s, rt_event *ev, err *e) {
  (void)ev;
  tell(s, "w");
  return fake_call(d, e);
}
static int tell_record(rt_device *d, rt_event *ev, rt_stream s, err *e) {
  (void)ev;
  tell(s, "r");
  return fake_call(d, e);
}
static int tell_launch(rt_device *d, rt_function *f, const uint32_t grid[3],
                       const uint32_t block[3], uint32_t smem, rt_stream s, void **args, err *e) {
  (void)f, (void)grid, (void)block, (void)smem, (void)args;
  tell(s, "k");
  return fake_call(d, e);
}
static int tell_copy(rt_device *d, rt_ptr to, rt_ptr from, size_t nbytes, rt_stream s, err *e) {
  (void)to, (void)from, (void)nbytes;
  tell(s, "c");
  return fake_call(d, e);
}
/* The caller's stream is captured, and n_captured of ours. */
static bool tell_capturing(rt_device *d, rt_stream s) {
  (void)d;
  for (int i = 0; i < n_numbered; i++) {
    if (numbered[i] == s) {
      return i >= n_numbered - n_captured;
    }
  }
  return is_captured;
}

static rt_device_ops telling_ops(void) {
  rt_device_ops ops = fake_ops;
  ops.stream_beside = tell_beside;
  ops.stream_wait = tell_wait;
  ops.event_record = tell_record;
  ops.launch = tell_launch;
  ops.copy = tell_copy;
  return ops;
}

/* A launch on stream s after those of the streams in a, in the loop l or NULL. */
#define LOOK(s, a, l)                                                                              \
  {                                                                                                \
    "look", {1, 1, 1}, {32, 1, 1}, .operands = &parameter, .n_operands = 1, .stream = s,           \
                                   .after = a, .loop = l                                           \
  }

typedef struct stream_case {
  gen_launch launches[5];
  size_t n;
  const char *told;
} stream_case;

static void check_told(const stream_case *cases, size_t n_cases) {
  const uint64_t values[] = {1, 0, 0};
  char x[16];
  const double a = 1;
  const rt_ptr px = (rt_ptr)(uintptr_t)x;
  const void *args[] = {NULL, &a, &px};
  const rt_device_ops able = telling_ops();
  for (size_t i = 0; i < n_cases; i++) {
    const gen_plan plan = {.launches = cases[i].launches, .n = cases[i].n, .values = values};
    fake f;
    err e = {0};
    rt_loaded *l;
    n_numbered = 0;
    *told = 0;
    fake_init(&f, look_only);
    f.device.ops = &able;
    assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
    assert_int_equal(rt_loaded_launch(l, NULL, args, &e), 0);
    assert_string_equal(told, cases[i].told);
    rt_loaded_free(l);
    assert_int_equal(f.live, 0);
  }
}

TEST(test_streams) {
  static const gen_operand pair[] = {{.from = GEN_FROM_ARG, .index = 2},
                                     {.from = GEN_FROM_ARG, .index = 2}};
  static const stream_case cases[] = {
      {{LOOK(0, 0, NULL), LOOK(1, 0, NULL), LOOK(0, 0, NULL), LOOK(0, 2, NULL)},
       4,
       "0k 0r 1w 1k 1r 0k 0w 0k 0w"},
      {{LOOK(1, 0, NULL), LOOK(0, 0, NULL)}, 2, "0r 1w 1k 1r 0k 0w"},
      {{LOOK(1, 0, NULL), LOOK(2, 2, NULL), LOOK(1, 4, NULL)},
       3,
       "0r 1w 1k 1r 2w 2w 2k 2r 1w 1k 1r 0w 0w"},
      {{LOOK(1, 2, NULL),
        {.operands = pair, .n_operands = 2, .nbytes = 8, .copy = true, .stream = 1}},
       2,
       "0r 1w 1k 1c 1r 0w"},
      {{LOOK(0, 2, NULL), LOOK(0, 4, NULL)}, 2, "0k 0k"}};
  check_told(cases, sizeof cases / sizeof *cases);
}

/* A capture has streams of its own; while they are in another capture, stages follow each other. */
TEST(test_captured_streams) {
  static const gen_launch launches[] = {
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = &parameter, .n_operands = 1},
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = &parameter, .n_operands = 1, .stream = 1}};
  const uint64_t values[] = {1, 0, 0};
  const gen_plan plan = {.launches = launches, .n = 2, .values = values};
  double a = 1;
  const void *args[] = {NULL, &a, NULL};
  static const struct {
    bool captured;
    int ours;
    char caller;
    const char *told;
  } cases[] = {{false, 0, 1, "0k 0r 1w 1k 1r 0w"}, {true, 0, 1, "0k 0r 2w 2k 2r 0w"},
               {true, 1, 1, "0k 0r 2w 2k 2r 0w"},  {true, 1, 2, "0k 0k"},
               {true, 0, 2, "0k 0r 2w 2k 2r 0w"},  {false, 1, 1, "0k 0r 1w 1k 1r 0w"}};
  static char callers[3];
  rt_device_ops able = telling_ops();
  able.capturing = tell_capturing;
  fake f;
  err e = {0};
  rt_loaded *l;
  n_numbered = 0;
  fake_init(&f, look_only);
  f.device.ops = &able;
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    is_captured = cases[i].captured;
    n_captured = cases[i].ours;
    *told = 0;
    assert_int_equal(rt_loaded_launch(l, &callers[(int)cases[i].caller], args, &e), 0);
    assert_string_equal(told, cases[i].told);
  }
  rt_loaded_free(l);
  assert_int_equal(f.live, 0);
}

/* A loop begins after all that stands before it; an iteration is ordered like a plan. */
TEST(test_streams_in_loops) {
  static const gen_loop once = {.times = 1, .n = 2}, twice = {.times = 2, .n = 2},
                        swapped = {.times = 3, .n = 1, .n_odd = 1},
                        graph = {.times = 2, .n = 2, .graph = true};
  static const stream_case cases[] = {
      {{LOOK(0, 0, &twice), LOOK(1, 0, &twice)}, 2, "0k 0r 1w 1k 1r 0w 0k 0r 1w 1k 1r 0w"},
      {{LOOK(1, 0, &twice), LOOK(0, 0, &twice)}, 2, "0r 1w 1k 1r 0k 0w 0r 1w 1k 1r 0k 0w"},
      {{LOOK(1, 0, NULL), LOOK(0, 0, &once), LOOK(0, 0, &once)}, 3, "0r 1w 1k 1r 0w 0k 0k"},
      {{LOOK(0, 0, &once), LOOK(0, 0, &once), LOOK(1, 0, NULL), LOOK(0, 2, NULL)},
       4,
       "0k 0k 0r 1w 1k 1r 0w 0k 0w"},
      {{LOOK(1, 0, &swapped), LOOK(2, 0, &swapped), LOOK(0, 2, NULL)},
       3,
       "0r 1w 1k 1r 0w 0r 2w 2k 2r 0w 0r 1w 1k 1r 0w 0k"},
      {{LOOK(0, 0, &graph), LOOK(1, 0, &graph), LOOK(0, 0, NULL)},
       3,
       "0k 0r 1w 1k 1r 0w 0k 0r 1w 1k 1r 0w 0k"}};
  check_told(cases, sizeof cases / sizeof *cases);
}

int main(void) {
  return tests_run();
}
