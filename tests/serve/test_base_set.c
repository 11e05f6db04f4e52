/* test_base_set.c -- where there is no NVRTC and nothing is tuned, typed calls are served from the base
 * set, at any size. It is made here, of a few families that compile quickly. Runs on any device:
 * test_base_set [--device NAME]; by default on emulated ones of three architectures. */
#define _GNU_SOURCE
#include "base_make.h"
#include "serve_fixture.h"

static const char *devices[] = {"emu:h200", "emu:a100", "emu:l40s"};
static int n_devices = 3;

static char base_folder[] = "/tmp/test_base.XXXXXX";
static char base_path[64];

static const char all_archs[] = "sm_80,sm_90a,compute_80,compute_90";

static bool is_emulated(void) {
  return !strncmp(device_name, "emu", 3);
}

static int make_base(void **state) {
  static const char *const families[] = {"saxpy", "transpose", "histogram", "segmented_reduce"};
  auto_arena a = {0};
  gen_options o = {0};
  base_result made;
  err e = {0};
  base_request r = {.path = base_path, .templates = &o, .families = families, .n_families = 4};
  (void)state;
  assert_non_null(mkdtemp(base_folder));
  snprintf(base_path, sizeof base_path, "%s/tuned.base", base_folder);
  assert_ok(base_archs_parse(is_emulated() ? "compute_90,compute_80" : all_archs, &a, &r, &e), &e);
  assert_ok(base_make(&r, &made, &e), &e);
  assert_int_equal(made.n_failed, 0);
  assert_int_equal(made.n_kept, 0);
  const size_t n_images = made.n_images;
  assert_ok(base_make(&r, &made, &e), &e); /* again: all are kept */
  assert_int_equal(made.n_kept, n_images);
  assert_int_equal(made.n_images, n_images);
  setenv("AUTOTUNE_NVRTC", "/nowhere", 1);
  return 0;
}

static int remove_base(void **state) {
  (void)state;
  nftw(base_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  return 0;
}

/* Presets and portfolios are those that are shipped. */
static void open_promising(fixture *f, const char *device, const char *promise) {
  const tuned_options o = {.device = device, .database = f->db_path, .reproducible = promise};
  tuned_close(f->ctx);
  setenv("TUNED_BASE", base_path, 1);
  OK(f, tuned_open(&f->ctx, &o, &f->err));
}

static void open_without_compiler(fixture *f, const char *device) {
  open_promising(f, device, NULL);
}

CONTEXT_TEST(saxpy_is_served) {
  for (int i = 0; i < n_devices; i++) {
    open_without_compiler(f, devices[i]);
    for (size_t n = 0; n < 70; n += 3) {
      assert_true(saxpy_is_right(f, n));
    }
    assert_true(saxpy_is_right(f, 10000));
  }
}

static void assert_transposes(fixture *f, int rows, int cols) {
  float x[rows * cols], y[rows * cols];
  fill(x, (size_t)(rows * cols), 1, 1);
  float *dx = vector_new(f, x, (size_t)(rows * cols)),
        *dy = vector_new(f, x, (size_t)(rows * cols));
  OK(f, tuned_transpose(f->ctx, NULL, "f32", rows, cols, 1, dx, dy, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, dy, sizeof y, &f->err));
  for (int i = 0; i < rows * cols; i++) {
    assert_true(y[i / cols + i % cols * rows] == x[i]);
  }
}

CONTEXT_TEST(transpose_is_served) {
  for (int i = 0; i < n_devices; i++) {
    open_without_compiler(f, devices[i]);
    assert_transposes(f, 33, 70);
    assert_transposes(f, 1, 5);
    assert_transposes(f, 64, 64);
  }
}

/* Bins that fit shared memory, and more than fit. */
static void assert_counts(fixture *f, int bins) {
  enum { N = 3000, LOWER = -40 };
  static float x[N];
  uint32_t *y = calloc((size_t)bins, sizeof *y), *expected = calloc((size_t)bins, sizeof *y);
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i * 7 % (2 * bins + 100) - 60);
    const float at = (x[i] - LOWER) / 2;
    if (at >= 0 && at < (float)bins) {
      expected[(int)at]++;
    }
  }
  float *dx = vector_new(f, x, N);
  void *dy = vector_new(f, (const float *)(const void *)y, (size_t)bins);
  OK(f, tuned_histogram(f->ctx, NULL, "f32", bins, LOWER, 2 * bins, N, dx, dy, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, dy, (size_t)bins * sizeof *y, &f->err));
  assert_memory_equal(y, expected, (size_t)bins * sizeof *y);
  free(y);
  free(expected);
}

CONTEXT_TEST(histogram_is_served) {
  for (int i = 0; i < n_devices; i++) {
    open_without_compiler(f, devices[i]);
    assert_counts(f, 1);
    assert_counts(f, 100);
    assert_counts(f, 99991);
  }
}

/* Segments of 3 and of 2994 numbers. */
static void assert_segment_sums(fixture *f) {
  enum { N = 3000, SEGMENTS = 3 };
  static const int32_t starts[SEGMENTS] = {0, 3, 2997};
  float x[N], y[SEGMENTS] = {0}, sums[SEGMENTS] = {0};
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i % 7);
    sums[(i >= starts[1]) + (i >= starts[2])] += x[i];
  }
  float *dx = vector_new(f, x, N), *dy = vector_new(f, y, SEGMENTS);
  int32_t *dstarts =
      (int32_t *)(void *)vector_new(f, (const float *)(const void *)starts, SEGMENTS);
  OK(f, tuned_segmented_reduce(f->ctx, NULL, "sum", "f32", N, SEGMENTS, dstarts, dx, dy, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, y, dy, sizeof y, &f->err));
  assert_memory_equal(y, sums, sizeof y);
}

CONTEXT_TEST(every_promise_is_kept) {
  static const char *const promises[] = {"any", "run", "shape"};
  for (size_t i = 0; i < 3; i++) {
    open_promising(f, devices[0], promises[i]);
    assert_segment_sums(f);
    assert_string_equal(strrchr(inside(f)->newest->info.problem, '=') + 1, promises[i]);
  }
}

/* A call that would wait for a compiler has none to wait for. */
CONTEXT_TEST(waiting_calls_are_served) {
  const tuned_options how[] = {{.wait = 1}, {.threads = -1}};
  setenv("TUNED_BASE", base_path, 1);
  for (size_t i = 0; i < 2; i++) {
    reopen_with(f, how[i]);
    assert_true(saxpy_is_right(f, 100));
    assert_transposes(f, 33, 70);
    assert_counts(f, 100);
    assert_counts(f, 99991);
  }
}

/* The message names what is missing. */
CONTEXT_TEST(what_the_set_lacks_is_refused) {
  float host[4] = {0};
  open_without_compiler(f, "emu:h200");
  float *p = vector_new(f, host, 4);
  REFUSED(f, TUNED_E_DEVICE, "NVRTC", tuned_reduce(f->ctx, NULL, "sum", "f32", 4, p, p, &f->err));
  open_without_compiler(f, "emu:t4"); /* PTX of 8.0 does not run there */
  REFUSED(f, TUNED_E_DEVICE, "NVRTC", tuned_saxpy(f->ctx, NULL, 3, 2, host, p, &f->err));
}

int main(int argc, char **argv) {
  device_name = device_argument(argc, argv, "emu");
  if (!is_emulated()) {
    devices[0] = device_name;
    n_devices = 1;
  }
  return tests_run_with(NULL, make_base, remove_base);
}
