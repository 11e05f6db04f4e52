/* test_background.c -- calls do not wait for a compiler: what is at hand serves, the better kernel is
 * compiled behind and takes over, and neither closing a context nor the end of a program waits for
 * a compilation. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

#include "background.h"
#include "background_fixture.h"

static size_t count_threads(void) {
  size_t n = 0;
  DIR *d = opendir("/proc/self/task");
  assert_non_null(d);
  for (struct dirent *entry; (entry = readdir(d));) {
    n += entry->d_name[0] != '.';
  }
  closedir(d);
  return n;
}

static void *nothing(void *ud) {
  return ud;
}

/* The thread sanitizer adds a thread of its own to a program's first one. */
static void start_first_thread(void) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

CONTEXT_TEST(better_kernel_takes_over) {
  start_first_thread();
  reopen_default(f, (tuned_options){0});
  const size_t threads = count_threads();
  const tuned_kernel_info first = info_of(f, "saxpy n=1000");
  assert_non_null(strstr(first.config, "BLOCK=256"));
  assert_true(first.better_pending);
  assert_int_equal(count_threads(), threads + 1);
  assert_true(saxpy_is_right(f, 1000));
  assert_true(comes(f, "saxpy n=1000"));
  const tuned_kernel_info then = info_of(f, "saxpy n=1000");
  assert_non_null(strstr(then.config, "BLOCK=64,VEC=4"));
  assert_int_equal(then.origin, TUNED_EXACT);
  assert_true(saxpy_is_right(f, 1000));
}

CONTEXT_TEST(form_is_compiled_once_for_all_that_want_it) {
  reopen_default(f, (tuned_options){.threads = 4});
  assert_true(info_of(f, "saxpy n=1000").better_pending);
  assert_true(info_of(f, "saxpy n=1004").better_pending); /* its neighbour: the same source */
  assert_true(comes(f, "saxpy n=1000") && comes(f, "saxpy n=1004"));
  assert_true(has_config(f, "saxpy n=1000", "BLOCK=64"));
  assert_true(has_config(f, "saxpy n=1004", "BLOCK=64"));
  assert_true(saxpy_is_right(f, 1004));
  assert_int_equal(inside(f)->images.n, 3); /* the default's key and source, this form's source */
}

/* A second context finds the image in the cache. */
CONTEXT_TEST(next_program_has_it_at_once) {
  reopen_default(f, (tuned_options){0});
  assert_true(info_of(f, "saxpy n=1000").better_pending);
  assert_true(comes(f, "saxpy n=1000"));
  reopen_with(f, (tuned_options){0});
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_false(info.better_pending);
  assert_non_null(strstr(info.config, "BLOCK=64,VEC=4"));
  assert_null(inside(f)->compiler);
}

/* ---- options -------------------------------------------------------------------------------- */

static void waits(fixture *f, tuned_options o) {
  reopen_default(f, o);
  const size_t threads = count_threads();
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_false(info.better_pending);
  assert_non_null(strstr(info.config, "BLOCK=64,VEC=4"));
  assert_int_equal(count_threads(), threads);
}

CONTEXT_TEST(calls_wait_where_they_are_told_to) {
  setenv("TUNED_CACHE", "/dev/null/none", 1);
  waits(f, (tuned_options){.wait = 1});
  waits(f, (tuned_options){.threads = -1});
  setenv("TUNED_WAIT", "1", 1);
  waits(f, (tuned_options){0});
  setenv("TUNED_WAIT", "0", 1);
  setenv("TUNED_THREADS", "0", 1);
  waits(f, (tuned_options){0});
  unsetenv("TUNED_WAIT");
  unsetenv("TUNED_THREADS");
}

CONTEXT_TEST(first_kernel_is_kept) {
  reopen_default(f, (tuned_options){.keep_first = 1});
  const tuned_kernel_info info = info_of(f, "saxpy n=1000");
  assert_false(info.better_pending);
  background_wait(inside(f)->background);
  assert_true(has_config(f, "saxpy n=1000", "BLOCK=256"));
  assert_true(saxpy_is_right(f, 1000));
  reopen_with(f, (tuned_options){.keep_first = 1});
  assert_true(has_config(f, "saxpy n=1000", "BLOCK=64,VEC=4"));
}

static void refuses_threads(fixture *f, int threads, const char *environment, const char *words) {
  tuned_context *ctx;
  const tuned_options o = {.device = device_name, .database = f->db_path, .threads = threads};
  if (environment) {
    setenv("TUNED_THREADS", environment, 1);
  }
  REFUSED(f, TUNED_E_USAGE, words, tuned_open(&ctx, &o, &f->err));
  unsetenv("TUNED_THREADS");
}

CONTEXT_TEST(bad_numbers_of_threads_are_refused) {
  refuses_threads(f, -2, NULL, "tuned_options.threads is -2");
  refuses_threads(f, 65, NULL, "at most 64");
  refuses_threads(f, 0, "-1", "TUNED_THREADS is -1");
  refuses_threads(f, 0, "four", "TUNED_THREADS is four");
  refuses_threads(f, 0, "65", "at most 64");
}

/* ---- a list ahead --------------------------------------------------------------------------- */

CONTEXT_TEST(list_is_ready_ahead) {
  static const char *const list[] = {"saxpy n=1000", "saxpy n=2000", "saxpy n=1000"};
  store_results(f);
  reopen_with(f, (tuned_options){.threads = 2});
  OK(f, tuned_preload(f->ctx, list, 3, &f->err));
  assert_false(info_of(f, "saxpy n=1000").better_pending);
  assert_true(has_config(f, "saxpy n=1000", "BLOCK=64,VEC=4"));
  assert_true(has_config(f, "saxpy n=2000", "BLOCK=128,VEC=4"));
  reopen_with(f, (tuned_options){.wait = 1});
  OK(f, tuned_preload(f->ctx, list, 3, &f->err));
  OK(f, tuned_preload(f->ctx, NULL, 0, &f->err));
  assert_true(has_config(f, "saxpy n=2000", "BLOCK=128,VEC=4"));
}

CONTEXT_TEST(bad_list_is_refused_and_the_rest_made_ready) {
  static const char *const list[] = {"saxpi n=1000", "saxpy n=-1", "saxpy n=2000"};
  static const char *const hole[] = {"saxpy n=1000", NULL};
  store_results(f);
  reopen_with(f, (tuned_options){.threads = 2});
  REFUSED(f, TUNED_E_NOTFOUND, "saxpi", tuned_preload(f->ctx, list, 3, &f->err));
  assert_false(info_of(f, "saxpy n=2000").better_pending);
  assert_true(has_config(f, "saxpy n=2000", "BLOCK=128,VEC=4"));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_preload(f->ctx, NULL, 1, &f->err));
  REFUSED(f, TUNED_E_USAGE, "problem 1", tuned_preload(f->ctx, hole, 2, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL", tuned_preload(NULL, list, 1, &f->err));
}

/* ---- what cannot be compiled ---------------------------------------------------------------- */

static void write_brittle(fixture *f, const char *what) {
  char path[120];
  auto_str text = {0};
  err e = {0};
  str_addf(&text,
           "return { name = 'brittle', version = 1, brief = 'y = 2', cite = 'none',\n"
           "  problem = { { 'n', 0, 5000, default = 64 } },\n"
           "  args = { { 'n', 'i32', value = 'n' }, { 'y', 'f32', 'out', count = 'n' } },\n"
           "  space = { { 'BLOCK', { 32, 64, 128 } } },\n"
           "  derive = {}, require = {}, default = { BLOCK = 32 },\n"
           "  stages = { { kernel = 'two', grid = 'ceildiv(n, BLOCK)', block = 'BLOCK',\n"
           "    args = { 'n', 'y' } } },\n"
           "  source = [[\n"
           "%s\n"
           "extern \"C\" __global__ void two(int n, float *y) {\n"
           "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
           "  if (i < n) y[i] = 2;\n"
           "}\n]],\n"
           "  reference = { stages = { { kernel = 'two', grid = 'ceildiv(n, 64)', block = 64,\n"
           "      args = { 'n', 'y' } } }, source = [[\n"
           "extern \"C\" __global__ void two(int n, float *y) {\n"
           "  const int i = blockIdx.x * 64 + threadIdx.x;\n"
           "  if (i < n) y[i] = 2;\n"
           "}\n]] },\n"
           "  tolerance = { abs = 0, rel = 0 }, flops = 'n', bytes = '4 * n',\n"
           "  sizes = { emu = { 'n=64' }, test = { 'n=64' }, bench = { 'n=64' } } }\n",
           what);
  snprintf(path, sizeof path, "%s/brittle.lua", f->folder);
  assert_ok(file_write(path, text.p, text.n, &e), &e);
}

CONTEXT_TEST(next_candidate_follows_one_that_does_not_compile) {
  write_brittle(f, "static_assert(BLOCK != 128, \"broken\");");
  reopen(f, f->folder);
  store_put(f, &(stored){.problem = "brittle n=1000", .config = "BLOCK=128", .no_image = true});
  store_put(f, &(stored){.problem = "brittle n=1100", .config = "BLOCK=64", .no_image = true});
  reopen_with(f, (tuned_options){.templates = f->folder, .threads = 1});
  assert_true(has_config(f, "brittle n=1100", "BLOCK=64")); /* nothing was at hand: it waited */
  tuned_kernel_info info = info_of(f, "brittle n=1000");
  assert_true(info.better_pending);
  assert_true(comes(f, "brittle n=1000"));
  assert_true(has_config(f, "brittle n=1000", "BLOCK=64"));
}

/* The default goes on serving where no better kernel can be made. */
CONTEXT_TEST(without_a_compiler_what_is_at_hand_stays) {
  reopen_default(f, (tuned_options){0}); /* the default is in the cache now */
  const char *installed = getenv("AUTOTUNE_NVRTC");
  char *before = installed ? strdup(installed) : NULL;
  setenv("AUTOTUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
  reopen_with(f, (tuned_options){0});
  info_of(f, "saxpy n=1000");
  assert_true(comes(f, "saxpy n=1000"));
  assert_true(has_config(f, "saxpy n=1000", "BLOCK=256"));
  assert_true(saxpy_is_right(f, 1000));
  assert_false(info_of(f, "saxpy n=2000").better_pending); /* it does not try again */
  before ? setenv("AUTOTUNE_NVRTC", before, 1) : unsetenv("AUTOTUNE_NVRTC");
  free(before);
}

/* ---- graphs --------------------------------------------------------------------------------- */

static struct {
  const rt_device_ops *own;
  rt_function *launched; /* the last */
  bool captures;
} fake;

static bool fake_capturing(rt_device *d, rt_stream s) {
  (void)d, (void)s;
  return fake.captures;
}

static int fake_launch(rt_device *d, rt_function *f, const uint32_t grid[3],
                       const uint32_t block[3], uint32_t smem, rt_stream s, void **args, err *e) {
  fake.launched = f;
  return fake.own->launch(d, f, grid, block, smem, s, args, e);
}

static int fake_launch_overlapping(rt_device *d, rt_function *f, const uint32_t grid[3],
                                   const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                                   err *e) {
  fake.launched = f;
  return fake.own->launch_overlapping(d, f, grid, block, smem, s, args, e);
}

static void watch_launches(fixture *f) {
  static rt_device_ops ops;
  rt_device *d = inside(f)->device;
  fake.own = d->ops;
  fake.captures = false;
  ops = *d->ops;
  ops.capturing = fake_capturing;
  ops.launch = fake_launch;
  ops.launch_overlapping = ops.launch_overlapping ? fake_launch_overlapping : NULL;
  d->ops = &ops;
}

static void stop_watching(fixture *f) {
  inside(f)->device->ops = fake.own;
}

CONTEXT_TEST(capture_keeps_the_kernel_it_began_with) {
  reopen_default(f, (tuned_options){0});
  watch_launches(f);
  assert_true(info_of(f, "saxpy n=1000").better_pending);
  assert_true(saxpy_is_right(f, 1000));
  const rt_function *first = fake.launched;
  fake.captures = true;
  assert_true(comes(f, "saxpy n=1000"));
  assert_true(saxpy_is_right(f, 1000));
  assert_ptr_equal(fake.launched, first);
  fake.captures = false;
  assert_true(saxpy_is_right(f, 1000));
  assert_ptr_not_equal(fake.launched, first);
  fake.captures = true;
  assert_true(saxpy_is_right(f, 1000));
  assert_ptr_not_equal(fake.launched, first);
  stop_watching(f);
}

/* ---- scratch memory of the caller's own ---------------------------------------------------------- */

enum { SUMMED = 5000 };
static const char sum_problem[] = "reduce n=5000 op=sum dtype=i32";

/* The default is loaded; the better form needs more memory. */
static void reopen_sum(fixture *f) {
  unlink(f->db_path);
  store_put(f, &(stored){.problem = "copy n=1000", .config = "", .no_image = true});
  reopen_with(f, (tuned_options){0});
  float *y = vector_new(f, &(float){0}, 1);
  OK(f, tuned_reduce(f->ctx, NULL, "sum", "i32", 0, y, y, &f->err));
  store_put(f, &(stored){.problem = "reduce n=5000 op=sum dtype=i32 align=4 reproducible=any",
                         .config = "FINISH=last_block",
                         .no_image = true});
}

static int sum_in(fixture *f, const int *x, int *y, void *memory, size_t *nbytes) {
  return tuned_reduce_with(f->ctx, NULL, "sum", "i32", SUMMED, x, y, memory, nbytes, &f->err);
}

static void assert_sum_in(fixture *f, const int *x, void *memory, size_t nbytes) {
  int sum = -1, *y = (int *)vector_new(f, &(float){0}, 1);
  OK(f, sum_in(f, x, y, memory, &nbytes));
  OK(f, tuned_copy_to_host(f->ctx, &sum, y, sizeof sum, &f->err));
  assert_int_equal(sum, SUMMED / 2 * (SUMMED - 1));
}

static size_t sum_nbytes(fixture *f, const int *x) {
  size_t nbytes = 0;
  OK(f, sum_in(f, x, NULL, NULL, &nbytes));
  return nbytes;
}

/* Zero for the first kernel, and dirty behind. */
static void *new_memory(fixture *f, size_t zeroed, size_t nbytes) {
  void *memory;
  char *dirty = malloc(nbytes);
  memset(dirty, 0x5a, nbytes);
  memset(dirty, 0, zeroed);
  OK(f, tuned_alloc(f->ctx, nbytes, &memory, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, memory, dirty, nbytes, &f->err));
  free(dirty);
  return memory;
}

CONTEXT_TEST(better_kernel_takes_over_in_memory_of_the_caller) {
  enum { NBYTES = 1 << 16 };
  int host[SUMMED];
  for (int i = 0; i < SUMMED; i++) {
    host[i] = i;
  }
  reopen_sum(f);
  const int *x =
      (const int *)(const void *)vector_new(f, (const float *)(const void *)host, SUMMED);
  const size_t least = sum_nbytes(f, x);
  void *memory = new_memory(f, least, NBYTES), *captured = new_memory(f, least, NBYTES);
  assert_true(info_of(f, sum_problem).better_pending);
  watch_launches(f);
  assert_sum_in(f, x, memory, NBYTES);
  const rt_function *first = fake.launched;
  fake.captures = true;
  assert_sum_in(f, x, captured, NBYTES);
  fake.captures = false;
  assert_true(comes(f, sum_problem));
  assert_true(has_config(f, sum_problem, "FINISH=last_block"));

  assert_sum_in(f, x, memory, least); /* too small for the better one */
  assert_ptr_equal(fake.launched, first);
  const size_t nbytes = sum_nbytes(f, x);
  assert_true(nbytes > least && nbytes <= NBYTES);
  for (int i = 0; i < 3; i++) {
    assert_sum_in(f, x, memory, nbytes);
    assert_ptr_not_equal(fake.launched, first);
    assert_sum_in(f, x, captured, nbytes); /* a graph replays the first kernel there */
    assert_ptr_equal(fake.launched, first);
  }
  assert_int_equal(inside(f)->own_memory.n, 2);
  stop_watching(f);
}

/* ---- several threads ------------------------------------------------------------------------ */

typedef struct caller {
  fixture *f;
  size_t n_wrong;
} caller;

static void *call_all(void *ud) {
  caller *c = ud;
  for (size_t i = 0; i < 40; i++) {
    c->n_wrong += !saxpy_is_right(c->f, 990 + i % 20);
    c->n_wrong += !saxpy_is_right(c->f, 1990 + i % 20);
  }
  return NULL;
}

CONTEXT_TEST(threads_call_while_kernels_are_replaced) {
  enum { N = 4 };
  pthread_t threads[N];
  caller callers[N];
  reopen_default(f, (tuned_options){.threads = 2});
  for (int i = 0; i < N; i++) {
    callers[i] = (caller){.f = f};
    assert_int_equal(pthread_create(&threads[i], NULL, call_all, &callers[i]), 0);
  }
  for (int i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(callers[i].n_wrong, 0);
  }
  background_wait(inside(f)->background);
  assert_true(has_config(f, "saxpy n=1000", "BLOCK=64") &&
              has_config(f, "saxpy n=2000", "BLOCK=128"));
  assert_true(saxpy_is_right(f, 1000));
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Of NVRTC itself: BLOCK=128 takes it seconds. */
static void write_slow(fixture *f) {
  auto_str slow = {0};
  str_add(&slow, "@ if BLOCK == 128 then\n");
  for (int i = 0; i < 400; i++) {
    str_addf(&slow,
             "extern \"C\" __global__ void k%d(float *y) {\n"
             "  float x = *y;\n"
             "  for (int i = 0; i < %d; i++) x = sinf(x) + cosf(x * i) * tanf(x);\n"
             "  *y = x;\n}\n",
             i, i + 3);
  }
  str_add(&slow, "@ end");
  write_brittle(f, str_text(&slow));
  unsetenv("AUTOTUNE_NVRTC");
}

static void store_slow(fixture *f) {
  write_slow(f);
  reopen(f, f->folder);
  store_put(f, &(stored){.problem = "brittle n=1", .config = "BLOCK=32", .no_image = true});
  store_put(f, &(stored){.problem = "brittle n=1000", .config = "BLOCK=128", .no_image = true});
}

static void begin_to_compile(fixture *f) {
  reopen_with(f, (tuned_options){.templates = f->folder, .threads = 1});
  assert_true(has_config(f, "brittle n=1", "BLOCK=32")); /* waits for it */
  assert_true(info_of(f, "brittle n=1000").better_pending);
}

enum { LONG_MS = 400 }; /* for what should take 50, or 80, on a busy machine */

CONTEXT_TEST(closing_stops_a_compilation) {
  store_slow(f);
  begin_to_compile(f);
  usleep(150000);
  assert_true(info_of(f, "brittle n=1000").better_pending); /* it does take long */
  const double from = now_sec();
  tuned_close(f->ctx);
  f->ctx = NULL;
  assert_true(now_sec() - from < LONG_MS * 1e-3);
}

/* A thread of a context that was closed may be in NVRTC yet, whose locks a child would find taken. */
static void wait_for_threads_to_end(void) {
  const double until = now_sec() + SEC_MOST;
  while (count_threads() > 1 && now_sec() < until) {
    usleep(1000);
  }
}

/* What a program does that ends while a thread compiles. */
static int end_after(fixture *f, unsigned us) {
  fflush(NULL);
  const pid_t child = fork();
  if (!child) {
    f->ctx = NULL;
    begin_to_compile(f);
    usleep(us);
    exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

CONTEXT_TEST(end_of_the_program_stops_a_compilation) {
  store_slow(f);
  if (!inside(f)->device->info.modelled) {
    skip_because("a child of fork cannot use the GPU");
  }
  wait_for_threads_to_end();
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(end_after(f, i * 90000), 0);
  }
}

static int use_in_child(fixture *f) {
  tuned_close(f->ctx);
  f->ctx = NULL;
  begin_to_compile(f);
  tuned_close(f->ctx);
  return 0;
}

/* The child has no threads of its parent, and may start some. */
CONTEXT_TEST(fork_during_a_compilation) {
#ifdef __SANITIZE_THREAD__
  skip_because("the thread sanitizer ends a child of several threads that starts one");
#endif
  store_slow(f);
  begin_to_compile(f);
  if (!inside(f)->device->info.modelled) {
    skip_because("a child of fork cannot use the GPU");
  }
  fflush(NULL);
  const pid_t child = fork();
  if (!child) {
    exit(use_in_child(f));
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(info_of(f, "brittle n=1000").better_pending || comes(f, "brittle n=1000"));
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
