/* test_families.c -- every built-in template: its default, its suggestions and a sample of its
 * space are built and compared with its reference, and the default is valid for any problem.
 *   build/tests/test_families [--device NAME] */
#define _GNU_SOURCE
#include "family_fixture.h"

/* clang-format off */
#define FAMILIES(X)                                                                                \
  X(argmax) X(bezier) X(bfs) X(box_blur) X(cmp_mu) X(conv1d) X(conv2d) X(conv3d) X(copy) X(coulomb) X(dot) X(fhd)   \
  X(gemm) X(gemm_batched) X(gemv) X(histogram) X(julia) X(merge) X(merge_sort) X(mri_q)            \
  X(quadtree) X(radix_sort) X(reduce) X(rgb_to_grey) X(ripple) X(saxpy) X(scan) X(segmented_reduce)            \
  X(segmented_scan) X(segmented_sort) X(sgemm) X(spmv) X(stencil) X(transpose) X(vector_add)
/* clang-format on */

#define IS_RIGHT(family)                                                                           \
  BED_TEST(family##_is_right) {                                                                    \
    check_family(b, #family);                                                                      \
  }
FAMILIES(IS_RIGHT)

DEVICE_TEST(every_family_is_tested) {
#define NAME(family) #family,
  static const char *const tested[] = {FAMILIES(NAME)};
  const char *const *names;
  size_t n;
  assert_ok(gen_families(NULL, &b->a, &names, &n, &b->e), &b->e);
  assert_int_equal(n, sizeof tested / sizeof *tested);
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(names[i], tested[i]);
  }
}

static const struct {
  const char *family, *problem;
} extremes[] = {
    {"saxpy", "n=0"},
    {"saxpy", "n=2^36"},
    {"saxpy", "n=3"},
    {"argmax", "n=0"},
    {"argmax", "n=2^36 op=min dtype=f64 align=1"},
    {"reduce", "n=2^36 op=product dtype=bf16 align=1 reproducible=run"},
    {"bezier", "curves=0"},
    {"bezier", "curves=2^26 max_points=2^12 align=1"},
    {"bfs", "vertices=0 edges=0"},
    {"bfs", "vertices=2147483616 edges=2147483647 graph=undirected parents=yes blocking=yes"},
    {"quadtree", "n=0 max_depth=0"},
    {"quadtree", "n=2^28 min_points=1 max_depth=15"},
    {"reduce", "n=0"},
    {"reduce", "n=2^36 op=min dtype=f64"},
    {"reduce", "n=5 align=1"},
    {"sgemm", "m=0 n=0 k=0"},
    {"sgemm", "m=1 n=1 k=0"},
    {"sgemm", "m=4096"},
    {"sgemm", "m=4095 n=1 k=77 ta=t"},
    {"sgemm", "m=2147483647 n=1 k=2147483647 tb=t"},
    {"sgemm", "m=1 n=2147483647 k=1"},
    {"sgemm", "m=16 n=16 k=10 align=1"},
    {"scan", "n=0"},
    {"scan", "n=2^36 dtype=f64 op=max align=1"},
    {"scan", "n=1 dtype=f16 kind=exclusive"},
    {"segmented_reduce", "n=0"},
    {"segmented_reduce", "n=1 segments=2147483647 dtype=f64"},
    {"segmented_reduce", "n=2147483647 segments=1 op=max align=1"},
    {"segmented_scan", "n=0"},
    {"segmented_scan", "n=1 segments=2147483647 dtype=f64"},
    {"segmented_scan", "n=2147483647 segments=1 op=max kind=exclusive"},
    {"histogram", "n=0 bins=1"},
    {"histogram", "n=4294967295 bins=2^24 dtype=u8 align=1"},
    {"merge", "m=0"},
    {"merge", "m=2^36 n=2^36 dtype=f64 value=8 align=1"},
    {"merge_sort", "n=0"},
    {"merge_sort", "n=5000 dtype=i8 align=1"},
    {"merge_sort", "n=2^36 dtype=f64 value=8 align=1"},
    {"transpose", "rows=0 cols=0"},
    {"transpose", "rows=2147483647 cols=1 dtype=u8 align=1"},
    {"transpose", "rows=1 cols=3 batch=2^20 dtype=f64"},
    {"radix_sort", "n=0 begin_bit=64 end_bit=0"},
    {"radix_sort", "n=2^36 dtype=u8"},
    {"radix_sort", "n=5 dtype=f64 value_bytes=8 order=descending end_bit=1"},
    {"radix_sort", "n=2^32 dtype=u64 value_bytes=8"},
    {"gemm", "m=0 n=0 k=0"},
    {"gemm", "m=2^30 n=1 k=2^30 ta=t dtype=f64"},
    {"gemm", "m=1 n=2^30 k=3 dtype=f16 ctype=f32"},
    {"gemm", "m=16 n=16 k=10 align=1"},
    {"gemm_batched", "m=0 n=0 batch=0"},
    {"gemm_batched", "m=128 n=128 k=32768 dtype=f64 layout=strided"},
    {"gemm_batched", "m=1 n=128 k=1 batch=2^30 ta=t tb=t"},
    {"gemm_batched", "m=5 n=7 k=0 layout=strided bias=row"},
    {"gemv", "m=0 n=0"},
    {"gemv", "m=2147352576 n=1 dtype=f64 align=1 unit=0"},
    {"gemv", "m=2147352576 n=3 trans=t dtype=bf16"},
    {"gemv", "m=1 n=2147352576 trans=t bias=row act=gelu"},
    {"stencil", "nx=0"},
    {"stencil", "nx=2147483647 ny=1 nz=1 steps=1000000 order=4 shape=box dtype=f64 align=1"},
    {"stencil", "nx=1 ny=2147483647 dims=2 border=periodic order=3"},
    {"stencil", "nx=1 ny=1 nz=2147483647 steps=0"},
    {"conv1d", "nx=0 rx=8191"},
    {"conv1d", "nx=2147352576 rx=8191 dtype=f64 border=mirror align=1"},
    {"conv2d", "nx=0 ny=0 rx=0"},
    {"conv2d", "nx=2147352576 ny=1 rx=127 border=valid rank=separable align=1"},
    {"conv2d", "nx=1 ny=2147352576 rx=127 border=mirror dtype=f64"},
    {"conv3d", "nx=0 ny=0 nz=0 rx=0"},
    {"conv3d", "nx=2147352576 ny=1 nz=1 rx=127 border=valid rank=separable align=1"},
    {"conv3d", "nx=1 ny=1 nz=2147352576 rx=127 border=mirror dtype=f64"},
    {"conv3d", "nx=1 ny=2147352576 nz=1 rx=127 border=replicate dtype=f16"},
    {"copy", "n=0 size=16 op=fill align=1"},
    {"copy", "n=2^36 size=16"},
    {"coulomb", "nx=0 n=0"},
    {"coulomb", "nx=65535 ny=65535 nz=65535 n=2^30 align=1"},
    {"coulomb", "nx=1 n=2^30 reach=2^15"},
    {"dot", "n=0 dtype=f16"},
    {"dot", "n=2^36 dtype=bf16 result_dtype=f64 align=1"},
    {"dot", "n=2^36 unit=0 reproducible=shape"},
    {"vector_add", "n=0 rows=0"},
    {"vector_add", "n=2^36 dtype=f64 align=1"},
    {"vector_add", "n=1 rows=2147483647 ld=7 dtype=f16"},
    {"rgb_to_grey", "width=0 height=0"},
    {"box_blur", "width=0 height=0 radius=65536"},
    {"box_blur", "width=1073741824 height=1073741824 radius=65536 dtype=f32 border=mirror"},
    {"box_blur", "width=3 height=1073741824 align=1"},
    {"rgb_to_grey", "width=1073741824 height=1073741824 channels=4 weights=any align=1"},
    {"julia", "width=0 iterations=0"},
    {"julia", "width=2^16 iterations=2^30 accuracy=fma"},
    {"ripple", "dim=0"},
    {"fhd", "m=0 nx=0"},
    {"fhd", "m=2147467264 places=grid nx=2147483584 ny=32 nz=1 given=data reproducible=run"},
    {"mri_q", "m=2147467264 nx=1 accuracy=fast"},
    {"cmp_mu", "m=2^36 align=1"},
    {"ripple", "dim=2^16 accuracy=fast align=1"},
    {"spmv", "rows=0 cols=0 nnz=0"},
    {"spmv", "rows=1 nnz=2^40 ptype=i64 dtype=f64 align=1 reproducible=shape"},
    {"spmv", "rows=2147418112 nnz=5 format=coo sums=f64 reproducible=run"},
};

/* The default is valid for any problem on any device, down to a small old one. */
DEVICE_TEST(defaults_are_always_valid) {
  for (size_t i = 0; i < RT_NUMBERS; i++) {
    if (!strcmp(b->limits[i].name, "dev_cc")) {
      b->limits[i].value = 75;
    } else if (!strcmp(b->limits[i].name, "dev_smem_block")) {
      b->limits[i].value = 48 << 10;
    } else if (!strcmp(b->limits[i].name, "dev_sms")) {
      b->limits[i].value = 1;
    }
  }
  for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
    bed_kernel s = bed_problem_open(b, NULL, extremes[i].family, extremes[i].problem);
    gen_config c;
    gen_config_default(s.t, &c);
    assert_ok(gen_config_check(s.g, &c, &b->e), &b->e);
    bed_kernel_close(&s);
  }
  rt_numbers(&b->d->info, b->limits);
}

/* The textbooks' launches of vector_add, and one that must not run: of 2048 threads a block. */
static const struct {
  const char *problem, *config;
  unsigned grid[2], block; /* grid 0: refused */
} forms[] = {
    {"n=1000", "ALG=one_to_one,BLOCK=256", {4, 1}, 256},
    {"n=100", "ALG=one_to_one,BLOCK=32", {4, 1}, 32},
    {"n=2000000", "ALG=one_to_one,BLOCK=256", {7813, 1}, 256},
    {"n=33792 dtype=i32", "ALG=one_to_one,BLOCK=1", {33792, 1}, 1},
    {"n=33792 dtype=i32", "ALG=one_to_one,BLOCK=128", {264, 1}, 128},
    {"n=33792 dtype=i32", "ALG=grid_stride,BLOCK=128,BLOCKS=1,PER=device", {1, 1}, 128},
    {"n=33792 dtype=i32", "ALG=grid_stride,BLOCK=128,BLOCKS=128,PER=device", {128, 1}, 128},
    {"n=16384 rows=16384", "BLOCK_X=32,BLOCK_Y=16", {512, 1024}, 32},
    {"n=16384 rows=16384", "BLOCK_X=256,BLOCK_Y=8", {0}, 0},
};

DEVICE_TEST(forms_of_vector_add_are_launched_as_printed) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    bed_kernel s = bed_problem_open(b, NULL, "vector_add", forms[i].problem);
    const gen_plan *p;
    gen_config c;
    assert_ok(gen_config_parse(s.t, forms[i].config, &c, &b->e), &b->e);
    const int rc = gen_config_check(s.g, &c, &b->e);
    assert_int_equal(rc != 0, forms[i].grid[0] == 0);
    if (rc) {
      assert_non_null(strstr(b->e.message, "exceeds the device's threads per block"));
      err_clear(&b->e);
    } else {
      assert_ok(gen_plan_make(s.g, &c, &b->a, &p, &b->e), &b->e);
      assert_int_equal(p->launches[0].grid[0], forms[i].grid[0]);
      assert_int_equal(p->launches[0].grid[1], forms[i].grid[1]);
      assert_int_equal(p->launches[0].block[0], forms[i].block);
    }
    bed_kernel_close(&s);
  }
}

/* Warps beside the border and one within, and strips that end within the image. */
BED_TEST(sums_of_box_blur_are_right) {
  static const part parts[] = {
      {"width=552 height=20 radius=3 border=mirror",
       "ALG=mma,PRODUCTS=halves,WARPS=1,STRIP=8,ROWS=2", 0},
      {"width=1540 height=29 radius=4", "ALG=packed,BLOCK=64,WORDS=4,STRIP=8,STORE=streaming", 0},
      {"width=301 height=11 radius=2 border=zero align=4", "ALG=packed,BLOCK=64,WORDS=1,STRIP=8",
       0},
  };
  CHECK_PARTS(b, "box_blur", 0, parts);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
