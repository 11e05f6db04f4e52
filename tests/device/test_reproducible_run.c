/* test_reproducible_run.c -- reproducible=run: equal bits in every launch; and what both values exclude:
 *   build/tests/test_reproducible_run [--device NAME]
 * On the emulated device launches differ in the number of host threads that run blocks. */
#define _GNU_SOURCE
#include "emu.h"
#include "reproducible_fixture.h"

enum { LAUNCHES_EMU = 4, LAUNCHES_GPU = 20 };

/* Other work between two launches, so that blocks do not meet the same times again. */
static void disturb(bed *b, const call *c, int i) {
  static const int threads[] = {1, 2, 5, 16};
  if (rt_emu_is(b->d)) {
    rt_emu_set_threads(b->d, threads[i % 4]);
    return;
  }
  char *bytes = malloc(c->n_out * size_of(c->type));
  assert_non_null(bytes);
  for (int j = 0; j < i % 3; j++) {
    bed_get(b, bytes, c->out, c->n_out * size_of(c->type));
  }
  free(bytes);
}

static void launch_often(bed *b, const call *c, bed_kernel *k, const gen_config *config,
                         void *self) {
  const size_t nbytes = c->n_out * size_of(c->type);
  char *first = malloc(nbytes), *bits = malloc(nbytes);
  assert_true(first && bits);
  (void)self;
  load(b, k, config);
  for (int i = 0; i < (rt_emu_is(b->d) ? LAUNCHES_EMU : LAUNCHES_GPU); i++) {
    disturb(b, c, i);
    launch(b, c, k->t, k->l);
    bed_get(b, i ? bits : first, c->out, nbytes);
    if (i && memcmp(first, bits, nbytes) != 0) {
      fail_msg("launch %d has other bits: %s", i, words_of(b, k, c, config));
    }
  }
  unload(k);
  free(first);
  free(bits);
  if (rt_emu_is(b->d)) {
    rt_emu_set_threads(b->d, 0);
  }
}

static void check_run(bed *b, call c, const char *const *configs, size_t n) {
  for_each_config(b, &c, NULL, launch_often, NULL);
  for (size_t i = 0; i < n; i++) {
    for_each_config(b, &c, configs[i], launch_often, NULL);
  }
  call_clear(b, &c);
}

BED_TEST(launches_of_products_have_equal_bits) {
  static const product p = {40, 24, 0, 0, "n", "n", "packed"};
  static const char *const sgemm[] = {"ALG=ffma,SPLITK=2", "ALG=ffma,SPLITK=4,FINISH=two_launch"};
  static const char *const gemm[] = {
      "ALG=mma,BM=32,BN=32,WM=16,WN=16,BK=16,SPLITK=3,VEC=8",
      "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,SPLITK=2"}; /* the latter for compute capability 9.0 */
  check_run(b, product_call(b, "sgemm", "reproducible=run", "f32", 256, 0.5, &p), sgemm,
            N_OF(sgemm));
  check_run(b, product_call(b, "gemm_batched", "reproducible=run", "f32", 40, 0.5, &p), NULL, 0);
  if (b->d->info.cc >= 80) {
    check_run(
        b, product_call(b, "gemm", "dtype=bf16 ctype=bf16 reproducible=run", "bf16", 256, 0.5, &p),
        gemm, N_OF(gemm) - (b->d->info.cc != 90));
  }
}

BED_TEST(launches_of_gemv_have_equal_bits) {
  static const vector_product p = {100, 0, 0, 1};
  static const char *const splits[] = {"BLOCK=256,LX=32,FINISH=last_block",
                                       "BLOCK=256,LX=32,FINISH=two_launch"};
  check_run(b, gemv_call(b, "n", "f32", 700, "run", &p), splits, N_OF(splits));
  check_run(b, gemv_call(b, "t", "f32", 700, "run", &p), splits, N_OF(splits));
}

BED_TEST(launches_of_sums_have_equal_bits) {
  static const char *const reduce[] = {"FINISH=last_block,BLOCK=64", "FINISH=two_launch,BLOCK=64"};
  static const char *const scan[] = {"ALG=chained,BLOCK=64,ITEMS=8", "ALG=gather,BLOCK=64,ITEMS=8"};
  static const surroundings p = {3000, 750};
  static const char *const tiles[] = {"ALG=tiles,LANES=8,BLOCK=64"};
  static const char *const dot[] = {"FINISH=wait,BLOCK=64,COARSE=1"};
  check_run(b, reduce_call(b, "reproducible=run", "f32", 90001), reduce, N_OF(reduce));
  check_run(b, dot_call(b, "reproducible=run", "f64", 90001, 1), dot, N_OF(dot));
  check_run(b, scan_call(b, "reproducible=run", "f32", 20011, 0), scan, N_OF(scan));
  check_run(b, segments_call(b, "segmented_reduce", "run", 2500, &p), tiles, N_OF(tiles));
  check_run(b, segments_call(b, "segmented_scan", "run", 2500, &p), NULL, 0);
}

/* ---- what is excluded --------------------------------------------------------------------------- */

static void assert_excluded(bed *b, const char *family, const char *problem, const char *config) {
  static const char *const values[] = {"any", "run", "shape"};
  for (size_t i = 0; i < N_OF(values); i++) {
    gen_config c;
    bed_kernel k = bed_problem_open(b, NULL, family,
                                    arena_format(&b->a, "%s reproducible=%s", problem, values[i]));
    OK(b, gen_config_parse(k.t, config, &c, &b->e));
    const int rc = gen_config_check(k.g, &c, &b->e);
    assert_int_equal(rc != 0, i > 0);
    if (rc) {
      assert_non_null(strstr(b->e.message, "reproducible="));
    }
    err_clear(&b->e);
    bed_kernel_close(&k);
  }
}

BED_TEST(sums_in_the_order_of_arrival_are_excluded) {
  assert_excluded(b, "reduce", "n=9000", "FINISH=atomic");
  assert_excluded(b, "reduce", "n=9000", "FINISH=accumulate");
  assert_excluded(b, "dot", "n=9000", "FINISH=atomic");
  assert_excluded(b, "dot", "n=9000", "FINISH=accumulate");
  assert_excluded(b, "scan", "n=90000 dtype=f32", "ALG=lookback");
  assert_excluded(b, "segmented_scan", "n=9000 segments=10 dtype=f32",
                  "ALG=lookback,BLOCK=256,ITEMS=4");
  assert_excluded(b, "gemv", "m=100 n=700", "FINISH=atomic");
  assert_excluded(b, "sgemm", "m=40 n=24 k=256", "SPLITK=2,FINISH=atomic");
  if (b->d->info.cc >= 90) {
    assert_excluded(b, "scan", "n=90000 dtype=f32",
                    "ALG=pipelined,BLOCK=64,ITEMS=12,VEC=4,BLOCKS=1,LOADS=2,LAG=3");
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
