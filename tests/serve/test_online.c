/* test_online.c -- tuning while the program runs: it is off by default, every result is right, a
 * fast but wrong variant never serves, and the best one takes over and is stored; from any number
 * of threads. */
#define _GNU_SOURCE
#include "serve_fixture.h"

#include <pthread.h>

enum { N = 64, CALLS_MOST = 40000 };

/* y = 2 x + y. LOOPS only takes time; BUG=1 is fast and wrong in the last element; BUG=2 is wrong
 * only for small data. */
static const char slow[] =
    "return { name = 'slow', version = 1, brief = 'y = 2 x + y', cite = 'none',\n"
    "  problem = { { 'n', 0, 1000, default = 64 } },\n"
    "  args = { { 'n', 'i32', value = 'n' }, { 'a', 'f32', sample = 2 },\n"
    "    { 'x', 'f32', 'in', count = 'n', fill = { 'uniform', -1, 1 } },\n"
    "    { 'y', 'f32', 'inout', count = 'n', fill = { 'uniform', -1, 1 } } },\n"
    "  space = { { 'LOOPS', { 400, 100, 40, 10 } }, { 'BUG', { 0, 1, 2 } }, { 'BLOCK', { 64, 128 } "
    "} "
    "},\n"
    "  derive = {}, require = {}, default = { LOOPS = 400, BUG = 0, BLOCK = 64 },\n"
    "  stages = { { kernel = 'slow', grid = 'ceildiv(n, BLOCK)', block = 'BLOCK', args = { 'n', "
    "'a', "
    "'x', 'y' } } },\n"
    "  source = [[\n"
    "extern \"C\" __global__ void slow(int n, float a, const float *x, float *y) {\n"
    "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  float v = a;\n"
    "#pragma unroll 1\n"
    "  for (int k = 0; k < (BUG ? 1 : LOOPS); k++) v = v * 1.0f + (k < 0);\n"
    "  if (i < n) y[i] += v * x[i] + (i == n - 1 ? BUG == 1 ? 0.01f : BUG == 2 ? 1e-6f : 0 : 0);\n"
    "}\n]],\n"
    "  reference = { stages = { { kernel = 'plain', grid = 'ceildiv(n, 64)', block = 64,\n"
    "      args = { 'n', 'a', 'x', 'y' } } }, source = [[\n"
    "extern \"C\" __global__ void plain(int n, float a, const float *x, float *y) {\n"
    "  const int i = blockIdx.x * 64 + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n]] },\n"
    "  tolerance = { abs = 2^-20, rel = 2^-20 }, flops = '2 * n', bytes = '12 * n',\n"
    "  sizes = { emu = { 'n=64' }, test = { 'n=64' }, bench = { 'n=64' } } }\n";

typedef struct user { /* a program with data of its own */
  fixture *f;
  tuned_kernel *kernel;
  float *x, *y;
  float scale;
} user;

static void write_template(fixture *f) {
  char path[120];
  err e = {0};
  snprintf(path, sizeof path, "%s/slow.lua", f->folder);
  assert_ok(file_write(path, slow, sizeof slow - 1, &e), &e);
}

static float *vector(user *u) {
  float host[N];
  for (int i = 0; i < N; i++) {
    host[i] = u->scale * (float)(i + 1);
  }
  return vector_new(u->f, host, N);
}

static user user_new(fixture *f, float scale) {
  user u = {.f = f, .scale = scale};
  OK(f, tuned_find(f->ctx, "slow n=64", &u.kernel, &f->err));
  u.x = vector(&u);
  u.y = vector(&u);
  return u;
}

/* Makes a call and checks y = 2 x + y, where both x and y are scale (i + 1). */
static bool call_is_right(user *u, tuned_error *error) {
  float host[N];
  bool right = true;
  const float a = 2;
  const void *const args[] = {NULL, &a, &u->x, &u->y};
  for (int i = 0; i < N; i++) {
    host[i] = u->scale * (float)(i + 1);
  }
  right = !tuned_copy_to_device(u->f->ctx, u->y, host, sizeof host, error) &&
          !tuned_launch(u->kernel, NULL, args, error) &&
          !tuned_copy_to_host(u->f->ctx, host, u->y, sizeof host, error);
  for (int i = 0; i < N && right; i++) {
    const float expected = 3 * u->scale * (float)(i + 1);
    right = host[i] <= expected * 1.00001f && host[i] >= expected * 0.99999f;
  }
  return right;
}

static tuned_kernel_info now(user *u) {
  tuned_kernel_info info;
  OK(u->f, tuned_info(u->kernel, &info, &u->f->err));
  return info;
}

static bool is_settled(fixture *f, user *u) {
  (void)f;
  return !atomic_load(&u->kernel->detour);
}

/* Calls come with pauses, in which the tuning thread compiles. */
static int call_until_settled(user *u) {
  int calls = 0;
  for (; calls < CALLS_MOST && !is_settled(u->f, u); calls++) {
    if (!call_is_right(u, &u->f->err)) {
      fail_msg("call %d is wrong, served by %s: %s", calls, now(u).config, u->f->err.message);
    }
    usleep(500);
  }
  return calls;
}

CONTEXT_TEST(test_the_best_takes_over_and_is_stored) {
  write_template(f);
  reopen(f, f->folder);
  OK(f, tuned_online(f->ctx, 1, &f->err));
  user u = user_new(f, 1);
  assert_int_equal(now(&u).origin, TUNED_DEFAULT); /* served at once */
  const int calls = call_until_settled(&u);
  printf("settled after %d calls: %s\n", calls, now(&u).config);
  assert_true(calls < CALLS_MOST);
  tuned_kernel_info info = now(&u);
  assert_int_equal(info.origin, TUNED_ONLINE);
  assert_string_equal(tuned_origin_name(info.origin), "online");
  assert_null(strstr(info.config, "BUG=1"));
  assert_null(strstr(info.config, "LOOPS=400,BUG=0"));
  char config[100];
  snprintf(config, sizeof config, "%s", info.config);
  reopen(f, f->folder);
  info = info_of(f, "slow n=64");
  assert_int_equal(info.origin, TUNED_EXACT);
  assert_string_equal(info.config, config);
}

/* An absolute tolerance scales with the data: an error of 1e-6 is wrong where all values are
 * small. */
CONTEXT_TEST(test_small_data_hide_no_error) {
  write_template(f);
  reopen(f, f->folder);
  OK(f, tuned_online(f->ctx, 1, &f->err));
  user u = user_new(f, 0x1p-20f);
  call_until_settled(&u);
  assert_int_equal(now(&u).origin, TUNED_ONLINE);
  assert_non_null(strstr(now(&u).config, "BUG=0"));
}

CONTEXT_TEST(test_it_is_off_unless_asked_for) {
  write_template(f);
  reopen(f, f->folder);
  user u = user_new(f, 1);
  for (int i = 0; i < 20; i++) {
    assert_true(call_is_right(&u, &f->err));
  }
  assert_null(inside(f)->hooks);
  assert_int_equal(now(&u).origin, TUNED_DEFAULT);
  OK(f, tuned_online(f->ctx, 0, &f->err));
  assert_null(inside(f)->hooks);
  REFUSED(f, TUNED_E_USAGE, "between 0, off, and 1", tuned_online(f->ctx, 1.5, &f->err));
  REFUSED(f, TUNED_E_USAGE, "between 0, off, and 1", tuned_online(f->ctx, -1, &f->err));
}

/* With almost no share of the time nothing is tried; with a larger share tuning continues. */
CONTEXT_TEST(test_the_share_is_kept) {
  write_template(f);
  reopen(f, f->folder);
  user u = user_new(f, 1);
  OK(f, tuned_online(f->ctx, 1e-9, &f->err)); /* also for kernels found before */
  assert_non_null(atomic_load(&u.kernel->detour));
  for (int i = 0; i < 100; i++) {
    assert_true(call_is_right(&u, &f->err));
    usleep(1000);
  }
  assert_int_equal(now(&u).origin, TUNED_DEFAULT);
  OK(f, tuned_online(f->ctx, 1, &f->err));
  assert_true(call_until_settled(&u) < CALLS_MOST);
  assert_int_equal(now(&u).origin, TUNED_ONLINE);
}

CONTEXT_TEST(test_closing_does_not_wait_for_the_end) {
  write_template(f);
  reopen(f, f->folder);
  OK(f, tuned_online(f->ctx, 1, &f->err));
  user u = user_new(f, 1);
  for (int i = 0; i < 5; i++) {
    assert_true(call_is_right(&u, &f->err));
  }
  tuned_close(f->ctx);
  f->ctx = NULL;
}

typedef struct job {
  user u;
  int wrong;
} job;

static void *many_calls(void *arg) {
  job *j = arg;
  tuned_error error = {0};
  for (int i = 0; i < CALLS_MOST / 4 && !is_settled(j->u.f, &j->u); i++) {
    j->wrong += !call_is_right(&j->u, &error);
    usleep(1000);
  }
  return NULL;
}

CONTEXT_TEST(test_threads_may_all_call) {
  enum { THREADS = 4 };
  job jobs[THREADS];
  pthread_t threads[THREADS];
  write_template(f);
  reopen(f, f->folder);
  OK(f, tuned_online(f->ctx, 0.7, &f->err));
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){.u = user_new(f, (float)(i + 1))};
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, many_calls, &jobs[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(jobs[i].wrong, 0);
  }
  assert_int_equal(now(&jobs[0].u).origin, TUNED_ONLINE);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
