/* test_loaded.c -- plans loaded and launched on a fake device: operands, workspaces, overlapping
 * stages, shared images, and what is refused. */
#define _GNU_SOURCE
#include "check.h"
#include "loaded_fixture.h"

static const gen_operand set_workspace = {.from = GEN_FROM_WORKSPACE, .index = 0};
static const gen_operand set_argument = {.from = GEN_FROM_ARG, .index = 2};

/* Operands: constants of the plan, arguments of the caller, two workspaces; and memory set before
 * and after. */
TEST(test_operands) {
  fake f;
  err e = {0};
  rt_loaded *l;
  uint8_t x[16], before[16];
  rt_ptr px = (rt_ptr)(uintptr_t)x;
  double a = 2.5;
  const void *args[] = {NULL, &a, &px};
  const uint64_t workspaces[] = {100, 300}, values[] = {12345, 0, 0};
  const gen_launch launches[] = {
      {.operands = &set_workspace, .n_operands = 1, .fill = 9, .nbytes = 100},
      {.kernel = "look",
       .grid = {2, 1, 1},
       .block = {64, 1, 1},
       .operands = look_operands,
       .n_operands = 4},
      {.operands = &set_argument, .n_operands = 1, .fill = 7, .nbytes = 10}};
  const gen_plan plan = {
      .launches = launches, .n = 3, .workspaces = workspaces, .n_workspaces = 2, .values = values};
  memset(before, 1, sizeof before);
  memcpy(x, before, sizeof x);
  memset(before, 7, 10);
  fake_init(&f, look_only);
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
  assert_int_equal(rt_loaded_workspace_nbytes(l), 256 + 512);
  assert_int_equal(f.live, 1); /* the module; the first launch allocates workspaces */
  assert_int_equal(rt_loaded_launch(l, NULL, args, &e), 0);
  assert_int_equal(last_call.args[0], 12345);
  assert_memory_equal(&last_call.args[1], &a, 8);
  assert_int_equal(last_call.args[3], 77);
  const uint8_t *ours = fake_memory(last_call.args[2]);
  assert_int_equal(ours[-256], 9); /* the first workspace was set by the first stage */
  assert_int_equal(ours[0], 0);    /* the second is still zero */
  assert_memory_equal(x, before, sizeof x);
  static uint8_t mine[768];
  assert_int_equal(rt_loaded_launch_in(l, NULL, args, (rt_ptr)(uintptr_t)mine, &e), 0);
  assert_int_equal(last_call.args[2], (uintptr_t)mine + 256);
  assert_int_equal(mine[99], 9);
  assert_int_equal(f.live, 2);
  rt_loaded_free(l);
  assert_int_equal(f.live, 0);
}

static int n_uploads;

static int count_uploads(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s,
                         err *e) {
  n_uploads++;
  return d->ops->copy_in(d, to, from, nbytes, s, e);
}

/* Memory of the host: a kernel gets its contents as they are at the launch; stages copy parts of it. */
TEST(test_arguments_of_the_host) {
  static const gen_operand in[] = {{.from = GEN_FROM_WORKSPACE, .index = 0},
                                   {.from = GEN_FROM_ARG, .index = 2}},
                           back[] = {in[1], in[0]},
                           look[] = {
                               {.from = GEN_FROM_CONTENTS, .index = 2, .nbytes = 8, .text = "x"},
                               {.from = GEN_FROM_ARG, .index = 1},
                               {.from = GEN_FROM_WORKSPACE, .index = 0},
                               {.from = GEN_FROM_VALUE, .nbytes = 8, .bits = 77}};
  static const gen_loop loop = {.times = 2, .n = 1, .graph = true};
  gen_launch launches[] = {
      {.copy = true, .operands = in, .n_operands = 2, .nbytes = 8, .at = {2, 1}},
      {.kernel = "look", .grid = {1, 1, 1}, .block = {1, 1, 1}, .operands = look, .n_operands = 4},
      {.copy = true, .operands = back, .n_operands = 2, .nbytes = 3, .at = {12, 2}}};
  const bool on_host[] = {false, false, true};
  const uint64_t workspaces[] = {16}, values[3] = {0};
  const gen_plan plan = {.launches = launches,
                         .n = 3,
                         .workspaces = workspaces,
                         .n_workspaces = 1,
                         .values = values,
                         .on_host = on_host};
  char x[16] = "abcdefghijklmno";
  const void *at = x;
  const double a = 2;
  const void *args[] = {NULL, &a, &at};
  rt_device_ops able = fake_ops;
  fake f;
  err e = {0};
  rt_loaded *l;
  fake_init(&f, look_only);
  able.upload = count_uploads;
  f.device.ops = &able;
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
  for (int i = 0; i < 2; i++) {
    x[1] = (char)('0' + i);
    assert_int_equal(rt_loaded_launch(l, NULL, args, &e), 0);
    assert_memory_equal(&last_call.args[0], x, 8);
    assert_memory_equal(x + 12, x + 1, 3);
  }
  assert_int_equal(n_uploads, 2);
  rt_loaded_free(l);
  launches[1].loop = &loop;
  assert_fails(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), &e, ERR_USAGE,
               "look takes x by value in a loop that is launched as a graph");
  assert_int_equal(f.live, 0);
}

static int overlapping;

static int launch_overlapping(rt_device *d, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e) {
  overlapping++;
  return fake_launch(d, f, grid, block, smem, s, args, e);
}

/* Stages overlap where the plan says so and the device supports it. */
TEST(test_overlap) {
  fake f;
  err e = {0};
  rt_loaded *l;
  rt_ptr none = 0;
  double a = 1;
  const void *args[] = {NULL, &a, &none};
  const uint64_t workspaces[] = {8, 8}, values[] = {1, 0, 0};
  gen_launch launches[] = {
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = look_operands, .n_operands = 4},
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = look_operands, .n_operands = 4}};
  const gen_plan plan = {
      .launches = launches, .n = 2, .workspaces = workspaces, .n_workspaces = 2, .values = values};
  rt_device_ops able = fake_ops;
  able.launch_overlapping = launch_overlapping;
  launches[1].overlap = true;
  for (int can = 0; can < 2; can++) {
    fake_init(&f, look_only);
    f.device.ops = can ? &able : &fake_ops;
    overlapping = 0;
    assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
    assert_int_equal(rt_loaded_launch(l, NULL, args, &e), 0);
    assert_int_equal(f.launches, 2);
    assert_int_equal(overlapping, can);
    rt_loaded_free(l);
  }
}

static int cooperative;

static int launch_cooperative(rt_device *d, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e) {
  cooperative++;
  return fake_launch(d, f, grid, block, smem, s, args, e);
}

static uint32_t pending;

static int pending_launches(rt_device *d, uint32_t n, err *e) {
  (void)d, (void)e;
  pending = n;
  return 0;
}

/* The limit is raised when the plan is loaded. */
TEST(test_pending_launches) {
  const uint64_t workspaces[] = {8, 8}, values[] = {1, 0, 0};
  const gen_launch launch = {.kernel = "look",
                             .grid = {1, 1, 1},
                             .block = {32, 1, 1},
                             .pool = 5000,
                             .operands = look_operands,
                             .n_operands = 4};
  const gen_plan plan = {
      .launches = &launch, .n = 1, .workspaces = workspaces, .n_workspaces = 2, .values = values};
  rt_device_ops able = fake_ops;
  fake f;
  err e = {0};
  rt_loaded *l;
  fake_init(&f, look_only);
  f.device.ops = &able;
  assert_fails(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), &e, ERR_LAUNCH,
               "kernels of this device cannot launch kernels, as look does");
  able.pending_launches = pending_launches;
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
  assert_int_equal(pending, 5000);
  rt_loaded_free(l);
  assert_int_equal(f.live, 0);
}

static bool synchronises;

static int needs_barrier(rt_device *d, rt_function *f, rt_function_info *info, err *e) {
  TRY(fake_function_info(d, f, info, e));
  info->grid_barrier = synchronises;
  return 0;
}

/* The device has room for a block on each of 4 multiprocessors. */
TEST(test_cooperative) {
  static const struct {
    uint32_t blocks;
    bool asked, needed, can;
    const char *word; /* NULL: it is launched */
  } cases[] = {
      {4, true, false, true, NULL},
      {4, true, true, true, NULL},
      {5, true, false, true, "cooperatively with 5 blocks; 1 fit on each of 4 multiprocessors"},
      {4, false, true, true, "needs cooperative = true"},
      {4, true, false, false, "no cooperative launches"}};
  double a = 1;
  rt_ptr none = 0;
  const void *args[] = {NULL, &a, &none};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fake f;
    err e = {0};
    rt_loaded *l;
    const uint64_t workspaces[] = {8, 8}, values[] = {1, 0, 0};
    const gen_launch launch = {.kernel = "look",
                               .grid = {cases[i].blocks, 1, 1},
                               .block = {32, 1, 1},
                               .cooperative = cases[i].asked,
                               .operands = look_operands,
                               .n_operands = 4};
    const gen_plan plan = {
        .launches = &launch, .n = 1, .workspaces = workspaces, .n_workspaces = 2, .values = values};
    rt_device_ops able = fake_ops;
    able.launch_cooperative = cases[i].can ? launch_cooperative : NULL;
    able.function_info = needs_barrier;
    synchronises = cases[i].needed;
    fake_init(&f, look_only);
    f.device.ops = &able;
    cooperative = 0;
    const int rc = rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e);
    assert_int_equal(rc, cases[i].word ? ERR_LAUNCH : 0);
    if (cases[i].word) {
      assert_non_null(strstr(e.message, cases[i].word));
    } else {
      assert_int_equal(rt_loaded_launch(l, NULL, args, &e), 0);
      assert_int_equal(cooperative, 1);
    }
    rt_loaded_free(l);
    assert_int_equal(f.live, 0);
  }
}

static bool is_captured;

static bool captured(rt_device *d, rt_stream s) {
  (void)d, (void)s;
  return is_captured;
}

/* Three iterations, in which buffers change places, then one launch. */
static const gen_operand there[] = {{.from = GEN_FROM_ARG, .index = 2},
                                    {.from = GEN_FROM_ARG, .index = 1},
                                    {.from = GEN_FROM_WORKSPACE, .index = 0},
                                    {.from = GEN_FROM_VALUE, .nbytes = 8, .bits = 77}};
static const gen_operand back[] = {{.from = GEN_FROM_WORKSPACE, .index = 0},
                                   {.from = GEN_FROM_ARG, .index = 1},
                                   {.from = GEN_FROM_ARG, .index = 2},
                                   {.from = GEN_FROM_VALUE, .nbytes = 8, .bits = 78}};
static uint64_t seen[16], n_seen;

static void see(fake *f, void **args) {
  (void)f;
  seen[n_seen++ % 16] = FAKE_ARG(args, 0, uint64_t);
}

/* A graph is recorded for each set of arguments and launched again for the same ones. */
TEST(test_loops) {
  static const fake_function see_only[] = {{"look", see, 1e-6}, {NULL, NULL, 0}};
  fake f;
  err e = {0};
  rt_loaded *l;
  char x[2][16], workspace[256];
  double a = 1;
  gen_loop loop = {.times = 3, .n = 1, .n_odd = 1};
  const gen_launch launches[] = {
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = there, .n_operands = 4, .loop = &loop},
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = back, .n_operands = 4, .loop = &loop},
      {"look", {1, 1, 1}, {32, 1, 1}, .operands = &there[3], .n_operands = 1}};
  const uint64_t workspaces[] = {8}, values[] = {1, 0, 0};
  const gen_plan plan = {
      .launches = launches, .n = 3, .workspaces = workspaces, .n_workspaces = 1, .values = values};
  const rt_ptr w = (rt_ptr)(uintptr_t)workspace;
  for (int graph = 0; graph < 3; graph++) { /* none, graphs, graphs in a capture */
    rt_device_ops able = fake_ops;
    able.capturing = captured;
    is_captured = graph == 2;
    loop.graph = graph > 0;
    fake_init(&f, see_only);
    f.device.ops = &able;
    assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
    for (int again = 0; again < 4; again++) {
      const rt_ptr px = (rt_ptr)(uintptr_t)x[again % 2];
      const void *args[] = {NULL, &a, &px};
      n_seen = 0;
      assert_int_equal(rt_loaded_launch_in(l, NULL, args, w, &e), 0);
      assert_int_equal(n_seen, 4);
      assert_true(seen[0] == px && seen[1] == w && seen[2] == px && seen[3] == 77);
      assert_int_equal(f.graphs, graph != 1 ? 0 : again < 2 ? again + 1 : 2);
    }
    rt_loaded_free(l);
    assert_int_equal(f.live, 0);
  }
}

static void nothing(fake *f, void **args) {
  (void)f, (void)args;
}

static int graph_launched(rt_device *d, rt_graph *g, rt_stream s, err *e) {
  (void)g, (void)s;
  return fake_call(d, e);
}

/* Of graphs with many launches few are kept; one that cannot be made leaves nothing behind. */
TEST(test_many_graphs) {
  fake f;
  err e = {0};
  rt_loaded *l;
  double a = 1;
  gen_loop loop = {.times = 1 << 16, .n = 1, .graph = true};
  const gen_launch launch = {"look",          {1, 1, 1},    {32, 1, 1}, .operands = &there[1],
                             .n_operands = 1, .loop = &loop};
  const uint64_t values[] = {1, 0, 0};
  const gen_plan plan = {.launches = &launch, .n = 1, .values = values};
  const void *args[] = {NULL, &a, NULL};
  fake_init(&f, (const fake_function[]){{"look", nothing, 1e-6}, {NULL, NULL, 0}});
  rt_device_ops able = fake_ops;
  able.graph_launch = graph_launched;
  f.device.ops = &able;
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), 0);
  const int live = f.live;
  for (int i = 0; i < 5; i++, a += 1) {
    assert_int_equal(rt_loaded_launch(l, NULL, args, &e), 0);
    assert_int_equal(f.live, live + (i < 2 ? i + 1 : 2));
    f.fail_at = f.calls + 1;
    a += 1;
    assert_int_not_equal(rt_loaded_launch(l, NULL, args, &e), 0);
    err_clear(&e);
    f.fail_at = 0;
  }
  rt_loaded_free(l);
  assert_int_equal(f.live, 0);
}

static char constant_memory[16];
static int stream_waits;

static int find_constant(rt_device *d, rt_module *m, const char *name, rt_ptr *p, size_t *nbytes,
                         err *e) {
  (void)d, (void)m, (void)name, (void)e;
  *p = (rt_ptr)(uintptr_t)constant_memory;
  *nbytes = sizeof constant_memory;
  return 0;
}

static int count_waits(rt_device *d, rt_stream s, rt_event *ev, err *e) {
  (void)s, (void)ev;
  stream_waits++;
  return fake_call(d, e);
}

/* A variable belongs to the module, so launches on another stream wait for the last one, of any plan
 * over the image; in a capture that is the caller's matter. */
TEST(test_variables_of_several_streams) {
  static const gen_operand from = {.from = GEN_FROM_ARG, .index = 2};
  const gen_launch fill = {.operands = &from, .n_operands = 1, .symbol = "table", .nbytes = 8};
  const uint64_t values[] = {1, 0, 0};
  const gen_plan plan = {.launches = &fill, .n = 1, .values = values};
  char x[8] = "1234567", one, two;
  rt_ptr px = (rt_ptr)(uintptr_t)x;
  const void *args[] = {NULL, NULL, &px};
  fake f;
  err e = {0};
  rt_loaded *a, *b;
  rt_device_ops able = fake_ops;
  able.variable = find_constant;
  able.stream_wait = count_waits;
  able.capturing = captured;
  fake_init(&f, look_only);
  f.device.ops = &able;
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &a, &e), 0);
  assert_int_equal(rt_loaded_new_from(a, &look_template, &plan, &b, &e), 0);
  const struct {
    rt_loaded *l;
    rt_stream s;
    int waits;
    bool captured;
  } launches[] = {{a, &one, 0, false}, {a, &one, 0, false}, {a, &two, 1, false},
                  {b, &two, 1, false}, {b, &one, 2, false}, {a, &two, 2, true}};
  for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
    is_captured = launches[i].captured;
    assert_int_equal(rt_loaded_launch(launches[i].l, launches[i].s, args, &e), 0);
    assert_int_equal(stream_waits, launches[i].waits);
  }
  assert_string_equal(constant_memory, "1234567");
  rt_loaded_free(a);
  rt_loaded_free(b);
  assert_int_equal(f.live, 0);
}

TEST(test_shared_image) {
  fake f;
  err e = {0};
  rt_loaded *one, *two;
  const gen_launch launch = {.kernel = "look",
                             .grid = {1, 1, 1},
                             .block = {1, 1, 1},
                             .operands = look_operands,
                             .n_operands = 0};
  const gen_plan plan = {.launches = &launch, .n = 1};
  fake_init(&f, look_only);
  assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &one, &e), 0);
  assert_int_equal(rt_loaded_new_from(one, &look_template, &plan, &two, &e), 0);
  assert_int_equal(f.live, 1);
  rt_loaded_free(one);
  assert_int_equal(f.live, 1);
  rt_loaded_free(two);
  assert_int_equal(f.live, 0);
  rt_loaded_free(NULL);
}

/* A launch that does not fit is refused with a message. */
TEST(test_limits) {
  fake f;
  static const struct {
    const char *kernel;
    uint32_t grid[3], block[3], smem;
    int code;
    const char *word;
  } bad[] = {{"look", {1, 1, 1}, {1024, 1, 1}, 0, ERR_LAUNCH, "1024 threads"},
             {"look", {1, 1, 1}, {64, 1, 1}, 232000, ERR_LAUNCH, "233024 bytes of shared memory"},
             {"look", {1, 70000, 1}, {64, 1, 1}, 0, ERR_LAUNCH, "65535"},
             {"nobody", {1, 1, 1}, {64, 1, 1}, 0, ERR_TEMPLATE, "no kernel 'nobody'"}};
  fake_init(&f, look_only);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    err e = {0};
    rt_loaded *l;
    gen_launch launch = {.kernel = bad[i].kernel, .smem = bad[i].smem, .operands = look_operands};
    memcpy(launch.grid, bad[i].grid, sizeof launch.grid);
    memcpy(launch.block, bad[i].block, sizeof launch.block);
    const gen_plan plan = {.launches = &launch, .n = 1};
    assert_int_equal(rt_loaded_new(&f.device, "x", 1, &look_template, &plan, &l, &e), bad[i].code);
    printf("  %s\n", e.message);
    assert_non_null(strstr(e.message, bad[i].word));
    assert_null(l);
    assert_int_equal(f.live, 0);
  }
}

TEST(test_nothing_to_launch) {
  fake f;
  err e = {0};
  rt_loaded *l;
  const gen_plan plan = {.n = 0};
  fake_init(&f, look_only);
  assert_int_equal(rt_loaded_new(&f.device, NULL, 0, &look_template, &plan, &l, &e), 0);
  assert_int_equal(rt_loaded_launch(l, NULL, NULL, &e), 0);
  rt_loaded_free(l);
  assert_int_equal(f.live, 0);
}

int main(void) {
  return tests_run();
}
