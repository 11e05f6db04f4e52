/* test_emu_mma.c -- mma.sync, ldmatrix, stmatrix and movmatrix: layouts by the manual's formulas
 * (tests/emu/mma.cu), results by a plain product of numbers whose sums are exact. */
#include "emu_fixture.h"

static fixture k;

static int open_all(void **state) {
  (void)state;
  fixture_open(&k, "");
  fixture_cuda_file(&k, "tests/emu/mma.cu");
  return 0;
}

static int close_all(void **state) {
  (void)state;
  fixture_close(&k);
  return 0;
}

/* m x k times k x n, both operands row by row along k, in the element type; c as double */
static void product(const char *kernel, dtype in, dtype out, int m, int n, int depth) {
  unsigned char a[16 * 32 * 8], b[16 * 32 * 8], c[16 * 8 * 8];
  size_t size = dtype_nbytes(in), wide = dtype_nbytes(out);
  for (int i = 0; i < m * depth; i++) {
    uint64_t bits = dtype_encode(in, (double)(i * 7 % 23 - 11));
    memcpy(a + (size_t)i * size, &bits, size);
  }
  for (int i = 0; i < n * depth; i++) {
    uint64_t bits = dtype_encode(in, (double)(i * 5 % 19 - 9));
    memcpy(b + (size_t)i * size, &bits, size);
  }
  rt_ptr pa = fixture_copy(&k, a, (size_t)(m * depth) * size),
         pb = fixture_copy(&k, b, (size_t)(n * depth) * size);
  rt_ptr pc = fixture_alloc(&k, (size_t)(m * n) * wide);
  void *args[] = {&pa, &pb, &pc};
  fixture_ok(&k, fixture_launch(&k, kernel, 1, 32, 0, args));
  fixture_read(&k, c, pc, (size_t)(m * n) * wide);
  for (int i = 0; i < m * n; i++) {
    double sum = 1;
    uint64_t bits = 0;
    for (int p = 0; p < depth; p++) {
      sum += (double)((i / n * depth + p) * 7 % 23 - 11) * ((i % n * depth + p) * 5 % 19 - 9);
    }
    memcpy(&bits, c + (size_t)i * wide, wide);
    assert_true(dtype_decode(out, bits) == sum);
  }
}

TEST(products) {
  product("half_k16", DTYPE_f16, DTYPE_f32, 16, 8, 16);
  product("bytes_k32", DTYPE_i8, DTYPE_i32, 16, 8, 32);
  product("tensor_k8", DTYPE_f32, DTYPE_f32, 16, 8, 8);
  product("double_k4", DTYPE_f64, DTYPE_f64, 8, 8, 4);
}

TEST(transposes) {
  uint16_t x[64], y[64];
  for (int i = 0; i < 64; i++) {
    x[i] = (uint16_t)(i * 771 + 5);
  }
  rt_ptr px = fixture_copy(&k, x, sizeof x), py = fixture_alloc(&k, sizeof y);
  void *args[] = {&px, &py};
  fixture_ok(&k, fixture_launch(&k, "transposes", 1, 32, 0, args));
  fixture_read(&k, y, py, sizeof y);
  for (int i = 0; i < 64; i++) {
    assert_int_equal(y[i], x[i % 8 * 8 + i / 8]);
  }
}

int main(void) {
  return tests_run_with(NULL, open_all, close_all);
}
