/* test_emu.c -- CUDA C++ on the emulated device: calls, divergence, atomics, printf, and the host
 * interface. The kernels are in tests/emu/language.cu. */
#include "emu_fixture.h"

static fixture k; /* one module for all tests */

static int open_all(void **state) {
  (void)state;
  fixture_open(&k, "");
  fixture_cuda_file(&k, "tests/emu/language.cu");
  return 0;
}

static int close_all(void **state) {
  (void)state;
  fixture_close(&k);
  return 0;
}

/* Launches with n zeros as first argument and reads them back. */
static void run(const char *kernel, uint32_t grid, uint32_t block, int *out, int n) {
  rt_ptr p = fixture_alloc(&k, (size_t)n * 4);
  fixture_ok(&k, k.d->ops->set(k.d, p, 0, (size_t)n * 4, NULL, &k.e));
  int number = 10;
  void *args[] = {&p, &number};
  fixture_ok(&k, fixture_launch(&k, kernel, grid, block, 0, args));
  fixture_read(&k, out, p, (size_t)n * 4);
  k.d->ops->release(k.d, p);
}

TEST(variables) {
  static const int numbers[] = {3, 1, 4, 1}, weights[] = {8, 4, 2};
  int out[64];
  run("variables", 1, 32, out, 64);
  for (int i = 0; i < 32; i++) {
    assert_int_equal(out[i], numbers[i & 3] + 4);
    assert_int_equal(out[32 + i], weights[i % 3]);
  }
  run("variables", 1, 32, out, 64); /* the first launch has moved the pointer */
  assert_int_equal(out[0], 3 + 3);
}

static int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

TEST(calls) {
  int out[64];
  run("recursion", 1, 64, out, 64);
  for (int i = 0; i < 64; i++) {
    assert_int_equal(out[i], ackermann(i % 3, i % 4));
  }
  run("indirect", 1, 64, out, 64);
  for (int i = 0; i < 64; i++) {
    assert_int_equal(out[i], i % 2 ? i * i : 2 * i);
  }
}

TEST(parameters) {
  struct {
    char c;
    double d;
    short s[5];
    int i;
  } data = {1, 20, {1, 2, 3, 4, 5}, 1000};
  char tag = 3;
  short last = 7;
  int out[32];
  rt_ptr p = fixture_alloc(&k, sizeof out);
  void *args[] = {&p, &tag, &data, &last};
  fixture_ok(&k, fixture_launch(&k, "structs", 1, 32, 0, args));
  fixture_read(&k, out, p, sizeof out);
  for (int i = 0; i < 32; i++) {
    assert_int_equal(out[i], 3 + 1 + 20 + i % 5 + 1 + 1000 + 7);
  }
}

TEST(local_memory) {
  int out[40];
  run("local_array", 1, 40, out, 40);
  for (int t = 0; t < 40; t++) {
    int a[32];
    unsigned sum = 0;
    for (int i = 0; i < 32; i++) {
      a[i] = i * i;
    }
    for (int i = 0; i < 10; i++) {
      a[(i * 7 + t) % 32] += a[(i * 3) % 32];
    }
    for (int i = 0; i < 32; i++) {
      sum = sum * 3 + (unsigned)a[i];
    }
    assert_int_equal(out[t], (int)sum);
  }
}

TEST(divergence) {
  int out[96];
  run("divergence", 1, 96, out, 96);
  for (int t = 0; t < 96; t++) {
    int v = t, steps = 0;
    for (; v != 1 && v != 0; steps++) {
      v = v % 4 == 0 ? v / 4 : v % 4 == 2 ? v / 2 : 3 * v + 1;
    }
    assert_int_equal(out[t], steps);
  }
}

TEST(atomics) {
  int in[6] = {0, -100, 100, 0, 0, 0}, out[6], total;
  float zero = 0, sum;
  uint64_t none = 0, wide;
  rt_ptr p = fixture_copy(&k, in, sizeof in), q = fixture_copy(&k, &zero, 4),
         r = fixture_copy(&k, &none, 8);
  void *args[] = {&p, &q, &r};
  fixture_ok(&k, fixture_launch(&k, "atomics", 50, 96, 0, args));
  fixture_read(&k, out, p, sizeof out);
  fixture_read(&k, &sum, q, 4);
  fixture_read(&k, &wide, r, 8);
  assert_int_equal(out[1], 95);
  assert_int_equal(out[2], -5);
  assert_int_equal(out[3], 0);
  assert_int_equal(out[4], 4800 % 7);
  assert_int_equal(out[5], 9600);
  assert_float_equal(sum, 2400, 0);
  assert_true(wide == UINT64_C(4800) << 33);
  run("count", 1, 1, &total, 1);
  assert_int_equal(total, 4800);
}

TEST(progress) {
  int out;
  run("spin", 2, 64, &out, 1);
  assert_int_equal(out, 128);
  run("grid_barrier", 40, 64, &out, 1);
  assert_int_equal(out, 40);
}

TEST(shapes) {
  uint32_t grid[3] = {3, 2, 2}, block[3] = {5, 3, 4};
  rt_function *f;
  static int out[12 * 60];
  rt_ptr p = fixture_alloc(&k, sizeof out);
  void *args[] = {&p};
  fixture_ok(&k, k.d->ops->function(k.d, k.m, "shape", &f, &k.e));
  fixture_ok(&k, k.d->ops->launch(k.d, f, grid, block, 0, NULL, args, &k.e));
  fixture_read(&k, out, p, sizeof out);
  for (int i = 0; i < 12 * 60; i++) {
    assert_int_equal(out[i], i % 60 * 100 + i / 60);
  }
}

TEST(votes) {
  int out[176];
  run("votes", 1, 32, out, 176);
  for (int t = 0; t < 32; t++) {
    assert_int_equal(out[t], 0x49249249);
    assert_int_equal(out[32 + t], (int)(0xfu << (t / 4 * 4)));
    assert_int_equal(out[64 + t], 496);
    assert_int_equal(out[96 + t], 1);
    assert_int_equal(out[128 + t], 16 + 0 + 1);
    if (t < 16) {
      assert_int_equal(out[160 + t], 15 - t);
    }
  }
}

static void note(void *context, const char *text) {
  str_add(context, text);
}

TEST(printing) {
  auto_str text = {0};
  int n = -7;
  void *args[] = {&n};
  rt_emu_set_print(k.d, note, &text);
  fixture_ok(&k, fixture_launch(&k, "print", 1, 32, 0, args));
  assert_string_equal(str_text(&text), "-7  2.50|text  |z 123456789abc %\n");
  rt_emu_set_print(k.d, NULL, NULL);
  assert_int_equal(fixture_launch(&k, "verify", 1, 32, 0, args), ERR_LAUNCH);
  assert_int_equal(rt_emu_last_finding(k.d)->check, EMU_ASSERT);
  assert_non_null(strstr(k.e.message, "n == 1"));
  n = 1;
  fixture_ok(&k, fixture_launch(&k, "verify", 1, 32, 0, args));
}

TEST(wide_arithmetic) {
  uint64_t a = 0xfedcba9876543210u, b = 0x8123456789abcdefu, out[7];
  unsigned __int128 pair = (unsigned __int128)b << 64 | a, product = (unsigned __int128)a * b;
  unsigned __int128 sum = product + pair, difference = pair - product;
  rt_ptr p = fixture_alloc(&k, sizeof out);
  void *args[] = {&p, &a, &b};
  fixture_ok(&k, fixture_launch(&k, "carry", 1, 1, 0, args));
  fixture_read(&k, out, p, sizeof out);
  assert_true(out[0] == (uint64_t)product && out[1] == (uint64_t)(product >> 64));
  assert_true(out[2] == (uint64_t)sum && out[3] == (uint64_t)(sum >> 64));
  assert_true(out[4] == (uint64_t)difference && out[5] == (uint64_t)(difference >> 64));
  assert_true(out[6] == (a & 0xffffffff) + (b & 0xffffffff));
}

TEST(device_heap) {
  int out[64];
  int64_t before, later;
  fixture_ok(&k, k.d->ops->memory_free(k.d, &before, &k.e));
  run("heap", 1, 64, out, 64);
  for (int t = 0; t < 64; t++) {
    assert_int_equal(out[t], 16 * t + 120);
  }
  fixture_ok(&k, k.d->ops->memory_free(k.d, &later, &k.e));
  assert_true(before == later);
}

TEST(generic_addresses) {
  static const int numbers[] = {3, 1, 4, 1};
  int out[32];
  run("generic", 1, 32, out, 32);
  for (int t = 0; t < 32; t++) {
    assert_int_equal(out[t], t % 3 == 0 ? 10 * t : t % 3 == 1 ? 10 + (t & 3) : numbers[t & 3]);
  }
}

/* results are independent of the number of host threads */
TEST(host_threads) {
  int one[96], many[96];
  rt_emu_set_threads(k.d, 1);
  run("divergence", 1, 96, one, 96);
  rt_emu_set_threads(k.d, 7);
  run("divergence", 1, 96, many, 96);
  rt_emu_set_threads(k.d, 0);
  assert_memory_equal(one, many, sizeof one);
}

TEST(refusals) {
  rt_function *f;
  rt_device *d;
  rt_ptr p;
  int data[4] = {0};
  uint32_t grid[3] = {1, 1, 1}, block[3] = {2048, 1, 1}, zero[3] = {0, 1, 1};
  void *args[] = {&p};
  err_clear(&k.e);
  fixture_ok(&k, k.d->ops->function(k.d, k.m, "count", &f, &k.e));
  assert_int_equal(k.d->ops->launch(k.d, f, grid, block, 0, NULL, args, &k.e), ERR_LAUNCH);
  block[0] = 32;
  assert_int_equal(k.d->ops->launch(k.d, f, zero, block, 0, NULL, args, NULL), ERR_LAUNCH);
  assert_int_equal(k.d->ops->launch(k.d, f, grid, block, 60000, NULL, args, NULL), ERR_LAUNCH);
  assert_int_equal(k.d->ops->function_smem(k.d, f, 1 << 20, NULL), ERR_LAUNCH);
  assert_int_equal(k.d->ops->function(k.d, k.m, "absent", &f, NULL), ERR_NOTFOUND);
  assert_int_equal(k.d->ops->copy_in(k.d, 12345, data, sizeof data, NULL, NULL), ERR_DEVICE);
  fixture_ok(&k, k.d->ops->alloc(k.d, 8, &p, &k.e));
  assert_int_equal(k.d->ops->copy_out(k.d, data, p, sizeof data, NULL, NULL), ERR_DEVICE);
  assert_int_equal(k.d->ops->alloc(k.d, (size_t)1 << 50, &p, NULL), ERR_NOMEM);
  assert_int_equal(rt_emu_open("nosuchcard", &d, NULL), ERR_DEVICE);
}

TEST(memory_bound) {
  fixture own;
  rt_ptr p[4];
  fixture_open(&own, "t4,memory=1048576");
  for (int round = 0; round < 50; round++) { /* addresses are reused when they run out */
    for (int i = 0; i < 4; i++) {
      fixture_ok(&own, own.d->ops->alloc(own.d, 1 << 18, &p[i], &own.e));
      assert_true(p[i] % 256 == 0);
    }
    rt_ptr more;
    assert_int_equal(own.d->ops->alloc(own.d, 1, &more, NULL), ERR_NOMEM);
    for (int i = 0; i < 4; i++) {
      own.d->ops->release(own.d, p[(i + round) % 4]);
    }
  }
  fixture_close(&own);
}

int main(void) {
  return tests_run_with(NULL, open_all, close_all);
}
