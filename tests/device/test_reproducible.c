/* test_reproducible.c -- reproducible=shape: equal bits of the same element in problems of other sizes, layouts
 * and alignments, by whatever configuration:
 *   build/tests/test_reproducible [--device NAME] */
#define _GNU_SOURCE
#include "reproducible_fixture.h"

/* ---- shape: bits expected in every problem that holds the window ----------------------------- */

typedef struct expected {
  char bits[WINDOW * 8];
  const char *words; /* NULL: none yet */
  int differ;        /* configurations or problems with other bits; -1: none may have */
} expected;

static void compare(bed *b, const call *c, bed_kernel *k, const gen_config *config, void *self) {
  expected *x = self;
  char bits[sizeof x->bits];
  const size_t nbytes = c->n_window * size_of(c->type);
  load(b, k, config);
  launch(b, c, k->t, k->l);
  get_window(b, c, bits);
  unload(k);
  if (!x->words) {
    x->words = words_of(b, k, c, config);
    memcpy(x->bits, bits, nbytes);
  } else if (memcmp(x->bits, bits, nbytes) != 0) {
    if (x->differ < 0) {
      fail_msg("other bits by\n%s\nthan by\n%s", words_of(b, k, c, config), x->words);
    }
    x->differ++;
  }
}

enum { NONE_MAY = -1 };

/* ---- products --------------------------------------------------------------------------------- */

static void compare_products(bed *b, const char *family, const char *fields, const char *type,
                             int64_t k, double beta, const product *products, size_t n,
                             expected *x) {
  for (size_t i = 0; i < n; i++) {
    call c = product_call(b, family, fields, type, k, beta, &products[i]);
    for_each_config(b, &c, products[i].config, compare, x);
    call_clear(b, &c);
  }
}
static const product SINGLE[] = {
    {8, 8, 0, 0, "n", "n"},
    {8, 8, 0, 0, "t", "t", .pad = 3},
    {70, 41, 33, 20, "n", "t", .pad = 4},
    {41, 70, 30, 33, "t", "n"},
    {8, 72, 0, 64, "n", "n", .pad = 1},
    {72, 8, 64, 0, "t", "n", .pad = 4},
};

BED_TEST(elements_of_sgemm_do_not_depend_on_the_other_sizes) {
  for (int zero = 0; zero < 2; zero++) {
    expected x = {.differ = NONE_MAY};
    compare_products(b, "sgemm", "reproducible=shape", "f32", 75, zero ? 0 : 0.3671875, SINGLE,
                     zero ? 3 : N_OF(SINGLE), &x);
  }
}

BED_TEST(elements_of_sgemm_have_one_epilogue) {
  static const product some[] = {{8, 8, 0, 0, "n", "n"}, {70, 41, 33, 20, "n", "t", .pad = 4}};
  expected x = {.differ = NONE_MAY};
  compare_products(b, "sgemm", "act=gelu reproducible=shape", "f32", 40, 0.5, some, N_OF(some), &x);
}

BED_TEST(elements_of_gemm_do_not_depend_on_the_other_sizes) {
  static const char *const types[][2] = {{"bf16", "dtype=bf16 ctype=bf16 reproducible=shape"},
                                         {"f16", "dtype=f16 ctype=f16 reproducible=shape"},
                                         {"f64", "dtype=f64 ctype=f64 reproducible=shape"}};
  bed_needs(b, 80);
  for (size_t i = 0; i < N_OF(types); i++) {
    expected x = {.differ = NONE_MAY};
    compare_products(b, "gemm", types[i][1], types[i][0], 75, 0.3671875, SINGLE + i, 3, &x);
  }
}

BED_TEST(elements_of_gemm_batched_do_not_depend_on_the_other_sizes) {
  static const product small[] = {
      {8, 8, 0, 0, "n", "n", "packed"},     {8, 8, 0, 0, "t", "t", "strided", 3},
      {20, 23, 10, 12, "n", "t", "packed"}, {41, 9, 30, 1, "t", "n", "strided", 4},
      {8, 40, 0, 32, "n", "n", "packed"},
  };
  for (int zero = 0; zero < 2; zero++) {
    expected x = {.differ = NONE_MAY};
    compare_products(b, "gemm_batched", "dtype=f32 reproducible=shape", "f32", 36,
                     zero ? 0 : 0.3671875, small, zero ? 3 : N_OF(small), &x);
  }
}

BED_TEST(elements_of_products_may_differ_otherwise) {
  static const product splits[] = {
      {8, 8, 0, 0, "n", "n", .config = "ALG=ffma"},
      {8, 8, 0, 0, "n", "n",
       .config = "ALG=ffma,BM=16,BN=16,TM=1,TN=1,BK=16,SPLITK=2,LM=16,EDGE=guarded"}};
  expected x = {0};
  compare_products(b, "sgemm", "", "f32", 75, 0, splits, N_OF(splits), &x);
  assert_int_equal(x.differ, 1);
}

/* ---- gemv ------------------------------------------------------------------------------------- */

BED_TEST(elements_of_gemv_do_not_depend_on_the_other_sizes) {
  static const vector_product some[] = {
      {8, 0, 0, 1}, {300, 71, 3, 1}, {64, 40, 4, 2}, {120, 111, 0, 1}};
  static const struct {
    const char *trans, *type;
    int64_t depth;
  } kinds[] = {{"n", "f32", 50},
               {"t", "f32", 2600},
               {"n", "f32", 2600},
               {"t", "bf16", 300},
               {"n", "f64", 530}};
  for (size_t i = 0; i < N_OF(kinds); i++) {
    expected x = {.differ = NONE_MAY};
    for (size_t j = i % 2; j < N_OF(some); j++) {
      call c = gemv_call(b, kinds[i].trans, kinds[i].type, kinds[i].depth, "shape", &some[j]);
      for_each_config(b, &c, NULL, compare, &x);
      call_clear(b, &c);
    }
  }
}

/* ---- reduce, scan ------------------------------------------------------------------------------ */

BED_TEST(sums_do_not_depend_on_the_alignment) {
  static const char *const fields[] = {"align=4 reproducible=shape", "align=1 reproducible=shape",
                                       "align=2 op=sum reproducible=shape"};
  expected x = {.differ = NONE_MAY};
  for (size_t i = 0; i < N_OF(fields); i++) {
    call c = reduce_call(b, fields[i], "f32", 9001);
    for_each_config(b, &c, NULL, compare, &x);
    call_clear(b, &c);
  }
}

BED_TEST(dot_products_do_not_depend_on_increments) {
  static const char *const finishes[] = {"FINISH=wait", "FINISH=last_block", "FINISH=two_launch"};
  expected x = {.differ = NONE_MAY};
  for (int i = 0; i < 3; i++) {
    call c = dot_call(b, i == 1 ? "align=1 reproducible=shape" : "align=4 reproducible=shape",
                      "f64", 9001, i / 2 + 1);
    for_each_config(b, &c, finishes[i], compare, &x);
    call_clear(b, &c);
  }
}

BED_TEST(sums_may_differ_otherwise) {
  static const char *const configs[] = {"BLOCK=64,VEC=1", "BLOCK=256,VEC=2",
                                        "BLOCK=1024,BLOCKS=2,VEC=1"};
  expected x = {0};
  call c = reduce_call(b, "op=product", "f64", 200);
  for (size_t i = 0; i < N_OF(configs); i++) {
    for_each_config(b, &c, configs[i], compare, &x);
  }
  call_clear(b, &c);
  assert_true(x.differ > 0);
}

BED_TEST(prefix_sums_do_not_depend_on_what_follows) {
  static const int64_t n[] = {4000, 4096, 9001, 20011};
  static const char *const fields[] = {"align=16 reproducible=shape", "align=1 reproducible=shape"};
  for (size_t longer = 0; longer < 2; longer++) {
    expected x = {.differ = NONE_MAY};
    for (size_t i = 2 * longer; i < N_OF(n); i++) {
      call c = scan_call(b, fields[i % 2], "f32", n[i], longer ? 8999 : 3999);
      for_each_config(b, &c, NULL, compare, &x);
      call_clear(b, &c);
    }
  }
}

BED_TEST(prefix_sums_may_differ_otherwise) {
  static const char *const configs[] = {"ALG=reduce_scan",
                                        "ALG=chained,BLOCK=64,ITEMS=8,EXCHANGE=warp"};
  expected x = {0};
  call c = scan_call(b, "", "f32", 9001, 8999);
  for (size_t i = 0; i < N_OF(configs); i++) {
    for_each_config(b, &c, configs[i], compare, &x);
  }
  call_clear(b, &c);
  assert_int_equal(x.differ, 1);
}

/* ---- segments ----------------------------------------------------------------------------------- */

static void compare_segments(bed *b, const char *family, const char *value,
                             const char *const *configs, size_t n_configs, int64_t n, expected *x) {
  static const surroundings some[] = {{0, 0}, {21, 7}, {400, 1}, {1500, 500}, {3000, 1500}};
  for (size_t i = 0; i < N_OF(some); i++) {
    call c = segments_call(b, family, value, n, &some[i]);
    for (size_t j = 0; j < n_configs; j++) {
      for_each_config(b, &c, configs[j], compare, x);
    }
    call_clear(b, &c);
  }
}

BED_TEST(segments_do_not_depend_on_their_surroundings) {
  static const char *const families[] = {"segmented_reduce", "segmented_scan"}, *const several[] = {
                                                                                    NULL};
  static const int64_t n[] = {5, 100, 1024, 2500};
  for (size_t i = 0; i < N_OF(families); i++) {
    for (size_t j = 0; j < N_OF(n); j++) {
      expected x = {.differ = NONE_MAY};
      compare_segments(b, families[i], "shape", several, 1, n[j], &x);
    }
  }
}

BED_TEST(segments_may_differ_otherwise) {
  static const char *const reduce[] = {"ALG=block,BLOCK=128,VEC=4", "ALG=tiles,LANES=8,BLOCK=64"};
  static const char *const scan[] = {"ALG=block,BLOCK=64,ITEMS=4", "ALG=block,BLOCK=256,ITEMS=1"};
  expected x = {0}, y = {0};
  compare_segments(b, "segmented_reduce", "any", reduce, N_OF(reduce), 2500, &x);
  compare_segments(b, "segmented_scan", "any", scan, N_OF(scan), 2500, &y);
  assert_true(x.differ > 0 && y.differ > 0);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
