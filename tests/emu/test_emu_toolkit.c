/* test_emu_toolkit.c -- kernels from the installed toolkit's headers (CUB, cooperative groups, half
 * precision, mma.h), compiled and run with all checks on. */
#include "emu_fixture.h"

enum { THREADS = 128, ITEMS = 4, N = THREADS * ITEMS };

static void fill(int *x) {
  uint32_t v = 12345;
  for (int i = 0; i < N; i++) {
    v = v * 1664525u + 1013904223u;
    x[i] = (int)(v >> 8) % 1000 - 300;
  }
}

static void run(fixture *k, const char *kernel, const int *in, int *out) {
  rt_ptr x = fixture_copy(k, in, N * sizeof *in), y = fixture_alloc(k, N * sizeof *out);
  fixture_ok(k, k->d->ops->set(k->d, y, 0xee, N * sizeof *out, NULL, &k->e));
  void *args[] = {&x, &y};
  fixture_ok(k, fixture_launch(k, kernel, 1, THREADS, 0, args));
  fixture_read(k, out, y, N * sizeof *out);
  k->d->ops->release(k->d, x);
  k->d->ops->release(k->d, y);
}

static int ascending(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

static void check_reduce(fixture *k, const int *in) {
  int out[N], sum = 0;
  for (int i = 0; i < N; i++) {
    sum += in[i];
  }
  run(k, "reduce_raking", in, out);
  assert_int_equal(out[0], sum);
  run(k, "reduce_warps", in, out);
  assert_int_equal(out[0], sum);
}

static void check_scan(fixture *k, const int *in, const char *kernel) {
  int out[N], sum = 0;
  run(k, kernel, in, out);
  for (int i = 0; i < N; i++) {
    assert_int_equal(out[i], sum);
    sum += in[i];
  }
}

static void check_sort(fixture *k, const int *in) {
  int out[N], expected[N];
  memcpy(expected, in, sizeof expected);
  qsort(expected, N, sizeof *expected, ascending);
  run(k, "sort", in, out);
  assert_memory_equal(out, expected, sizeof out);
  run(k, "merge_sort", in, out);
  assert_memory_equal(out, expected, sizeof out);
}

static void check_histogram(fixture *k, const int *in, const char *kernel) {
  int out[N], bins[64] = {0};
  for (int i = 0; i < N; i++) {
    bins[in[i] & 63]++;
  }
  run(k, kernel, in, out);
  assert_memory_equal(out, bins, sizeof bins);
}

static void check_warps(fixture *k, const int *in) {
  int out[N];
  run(k, "warp_sums", in, out);
  for (int w = 0; w < THREADS / 32; w++) {
    int sum = 0;
    for (int i = 0; i < 32; i++) {
      sum += in[32 * w + i];
    }
    assert_int_equal(out[w], sum);
  }
  run(k, "warp_scan16", in, out);
  for (int i = 0, sum = 0; i < THREADS; i++) {
    sum = (i % 16 ? sum : 0) + in[i];
    assert_int_equal(out[i], sum);
  }
}

ON_EMU(cub) {
  int in[N], out[N];
  fixture_cuda_file(k, "tests/emu/cub.cu");
  fill(in);
  check_reduce(k, in);
  check_scan(k, in, "scan_raking");
  check_scan(k, in, "scan_warps");
  check_sort(k, in);
  check_histogram(k, in, "histogram_atomic");
  check_histogram(k, in, "histogram_sort");
  check_warps(k, in);
  run(k, "exchange", in, out);
  assert_memory_equal(out, in, sizeof out);
}

static int open_groups(void **state) {
  fixture_set_up(state);
  fixture_cuda_file(*state, "tests/emu/groups.cu");
  return 0;
}

#define GROUPS_TEST(name) TEST_ON(name, fixture, k, state_of, open_groups, fixture_tear_down)

GROUPS_TEST(groups) {
  int in[N], out[N], rank = 0;
  fill(in);
  run(k, "tiles", in, out);
  for (int i = 0; i < THREADS; i++) {
    int tile = 0, whole = 0;
    for (int j = 0; j < 32; j++) {
      tile += j < 8 ? in[i / 8 * 8 + j] : 0;
      whole += in[i / 32 * 32 + j];
    }
    rank = i % 32 ? rank : 0;
    assert_int_equal(out[i], tile);
    assert_int_equal(out[THREADS + i], whole);
    assert_int_equal(out[2 * THREADS + i], in[i] & 1 ? rank : -1);
    rank += in[i] & 1;
  }
}

GROUPS_TEST(wide_tiles) {
  int in[N], out[N], sums[2] = {0};
  fill(in);
  run(k, "wide_tiles", in, out);
  for (int i = 0; i < THREADS; i++) {
    sums[i / 64] += in[i];
  }
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(out[i], sums[i / 64]);
    assert_int_equal(out[THREADS + i], 64 * (sums[0] + sums[1]) + i / 64);
    assert_int_equal(out[2 * THREADS + i], in[i / 64 * 64 + 40]);
  }
}

GROUPS_TEST(grid_barrier) {
  enum { BLOCKS = 6, ROUNDS = 3 };
  int in[BLOCKS], out[ROUNDS * BLOCKS] = {0};
  for (int i = 0; i < BLOCKS; i++) {
    in[i] = i * i;
  }
  rt_ptr from = fixture_copy(k, in, sizeof in), to = fixture_copy(k, out, sizeof out);
  void *args[] = {&from, &to};
  for (int launch = 0; launch < 2; launch++) {
    fixture_ok(k, fixture_launch_cooperative(k, "grid_barrier", BLOCKS, 64, args));
  }
  fixture_read(k, out, to, sizeof out);
  for (int i = 0; i < ROUNDS * BLOCKS; i++) {
    const int before = i < BLOCKS ? 0 : out[i / BLOCKS * BLOCKS - BLOCKS + (i + 1) % BLOCKS];
    assert_int_equal(out[i], in[i % BLOCKS] + before);
  }
}

/* An H200 has room for 32 blocks of 64 threads on each of 132 multiprocessors. */
GROUPS_TEST(grid_is_not_resident) {
  void *args[] = {NULL, NULL};
  assert_int_equal(fixture_launch_cooperative(k, "grid_barrier", 32 * 132 + 1, 64, args),
                   ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k->d)->check, EMU_NOT_RESIDENT);
  assert_non_null(strstr(k->e.message, "4225 blocks, of which 32 fit on each of 132"));
  err_clear(&k->e);
}

static float half(uint16_t h) {
  return (float)dtype_decode(DTYPE_f16, h);
}
static uint16_t to_half(float f) {
  return (uint16_t)dtype_encode(DTYPE_f16, f);
}

static uint16_t half_formula(uint16_t a, float b) {
  /* fma(a, b, a * a) with a * a rounded first; then max with -a */
  float square = half(to_half(half(a) * half(a))), r = half(to_half(half(a) * b + square));
  return to_half(r > -half(a) ? r : -half(a));
}

GROUPS_TEST(halves) {
  uint16_t x[64], y[64];
  int n = 32;
  for (int i = 0; i < 64; i++) {
    x[i] = to_half((float)(i * 37 % 64 - 30) / 8);
  }
  rt_ptr px = fixture_copy(k, x, sizeof x), py = fixture_alloc(k, sizeof y);
  void *args[] = {&px, &py, &n};
  fixture_ok(k, fixture_launch(k, "halves", 1, 32, 0, args));
  fixture_read(k, y, py, sizeof y);
  for (int i = 0; i < 32; i++) {
    uint16_t low = half_formula(x[2 * i], 0.5f), high = half_formula(x[2 * i + 1], 0.5f);
    bool swap = half(x[2 * i]) < half(x[2 * i + 1]);
    assert_int_equal(y[2 * i], to_half(half(swap ? high : low) + half(x[2 * i])));
    assert_int_equal(y[2 * i + 1], to_half(half(swap ? low : high) + half(x[2 * i + 1])));
  }
}

GROUPS_TEST(brains) {
  float x[64], y[64];
  int n = 32;
  for (int i = 0; i < 64; i++) {
    x[i] = (float)(i - 20) / 16;
  }
  rt_ptr px = fixture_copy(k, x, sizeof x), py = fixture_alloc(k, sizeof y);
  void *args[] = {&px, &py, &n};
  fixture_ok(k, fixture_launch(k, "brains", 1, 32, 0, args));
  fixture_read(k, y, py, sizeof y);
  for (int i = 0; i < 64; i++) {
    double exact = (double)x[i] * x[i] + x[i];
    assert_float_equal(y[i], (float)dtype_decode(DTYPE_bf16, dtype_encode(DTYPE_bf16, exact)), 0);
  }
}

GROUPS_TEST(fragments) {
  uint16_t a[256], b[256];
  signed char ia[256], ib[256];
  float c[256];
  int ic[256];
  for (int i = 0; i < 256; i++) {
    a[i] = to_half((float)(i * 7 % 31 - 15) / 4);
    b[i] = to_half((float)(i * 11 % 29 - 14) / 8);
    ia[i] = (signed char)(i * 7 % 255 - 127);
    ib[i] = (signed char)(i * 13 % 251 - 125);
  }
  rt_ptr pa = fixture_copy(k, a, sizeof a), pb = fixture_copy(k, b, sizeof b),
         pc = fixture_alloc(k, sizeof c);
  rt_ptr pia = fixture_copy(k, ia, sizeof ia), pib = fixture_copy(k, ib, sizeof ib),
         pic = fixture_alloc(k, sizeof ic);
  void *args[] = {&pa, &pb, &pc}, *bytes[] = {&pia, &pib, &pic};
  fixture_ok(k, fixture_launch(k, "wmma_half", 1, 32, 0, args));
  fixture_ok(k, fixture_launch(k, "wmma_bytes", 1, 32, 0, bytes));
  fixture_read(k, c, pc, sizeof c);
  fixture_read(k, ic, pic, sizeof ic);
  for (int i = 0; i < 256; i++) {
    int row = i / 16, column = i % 16, integer = 1;
    double sum = 1; /* all of it is exact in f32 */
    for (int p = 0; p < 16; p++) {
      sum += (double)half(a[row * 16 + p]) * half(b[column * 16 + p]);
      integer += ia[p * 16 + row] * ib[p * 16 + column];
    }
    assert_float_equal(c[i], (float)(2 * sum), 0);
    assert_int_equal(ic[i], 2 * integer);
  }
}

/* ---- kernels that launch kernels ---- */

enum { CHILDREN_N = 128 };

static void load_children(fixture *k) {
  auto_str text = {0};
  auto_str body = fixture_read_file("tests/emu/children.cu");
  str_addf(&text, "// compiler options: -rdc=true\n#line 1 \"tests/emu/children.cu\"\n%s",
           str_text(&body));
  rt_compiler *c;
  rt_image image;
  auto_arena a = {0};
  const rt_source source = {str_text(&text), 0, k->d->info.arch, 1};
  rt_image_init(&image);
  fixture_ok(k, rt_compiler_open(&c, &k->e));
  fixture_ok(k, rt_compile(c, &source, &a, &image, &k->e));
  fixture_ok(k, k->d->ops->module_load(k->d, image.ptx.p, image.ptx.n, &k->m, &k->e));
  rt_image_clear(&image);
  rt_compiler_close(c);
}

static const struct child_case {
  const char *kernel;
  int n;
  rt_emu_check check;
  const char *says;        /* the message, or the mark of the line */
  int at_0, at_1, at_last; /* of x */
} child_cases[] = {
    {"parent", 64, EMU_NO_FINDING, NULL, 70, 7, 0},
    {"tree", 5, EMU_NO_FINDING, NULL, 1, 2, 0},
    {"chain", 100, EMU_NO_FINDING, NULL, 100, 0, 0},
    {"many", 2048, EMU_NO_FINDING, NULL, 2048, 2048, 0},
    {"many", 2049, EMU_CALL, "pending", 0, 0, 0},
    {"deep", 25, EMU_NO_FINDING, NULL, 25, 0, 0},
    {"deep", 26, EMU_CALL, "25 levels deep", 0, 0, 0},
    {"wide", 2000, EMU_CALL, "exceeds the limits", 0, 0, 0},
    {"beyond", 32, EMU_NO_FINDING, NULL, 0, 0, 1},
    {"beyond", 31, EMU_GLOBAL_BOUNDS, "[kernel add", 0, 0, 0},
};

static void check_child(fixture *k, const struct child_case *c) {
  int x[CHILDREN_N] = {0}, n = c->n, root = 0;
  rt_ptr p = fixture_copy(k, x, sizeof x);
  void *args[] = {&p, &n, &root};
  int rc = fixture_launch(k, c->kernel, 1, 32, 0, args);
  fixture_assert_finding(k, rc, c->kernel, c->check, NULL, NULL);
  if (c->says) {
    assert_non_null(strstr(k->e.message, c->says));
  } else {
    fixture_read(k, x, p, sizeof x);
    assert_int_equal(x[0], c->at_0);
    assert_int_equal(x[1], c->at_1);
    assert_int_equal(x[CHILDREN_N - 1], c->at_last);
  }
  k->d->ops->release(k->d, p);
}

ON_EMU(children) {
  load_children(k);
  for (size_t i = 0; i < sizeof child_cases / sizeof *child_cases; i++) {
    check_child(k, &child_cases[i]);
  }
}

/* A conditional handle is the address of a word of the device's memory. */
ON_EMU(conditional_handle) {
  uint32_t word = 7;
  int n = 2;
  load_children(k);
  rt_ptr p = fixture_copy(k, &word, sizeof word);
  void *args[] = {&p, &n};
  for (int i = 0; i < 2; i++, n++) {
    fixture_ok(k, fixture_launch(k, "condition", 1, 1, 0, args));
    fixture_read(k, &word, p, sizeof word);
    assert_int_equal(word, n < 3);
  }
  p = 1;
  assert_int_equal(fixture_launch(k, "condition", 1, 1, 0, args), ERR_LAUNCH);
}

int main(void) {
  return tests_run();
}
