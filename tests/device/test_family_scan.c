/* test_family_scan.c -- chosen configurations of scans, reductions and histograms.
 *   build/tests/test_family_scan [--device NAME] */
#define _GNU_SOURCE
#include "family_fixture.h"

BED_TEST(scan_parts_are_right) {
  static const char *const configs[] = {
      "ALG=one_block,SECTION=kogge_stone,BLOCK=1024,ITEMS=1,EXCHANGE=none",
      "ALG=one_block,SECTION=double_buffered,BLOCK=128,ITEMS=4,EXCHANGE=block",
      "ALG=three_launch,SECTION=brent_kung,BLOCK=64,ITEMS=2,EXCHANGE=none,VEC=2",
      "ALG=reduce_scan,SECTION=shuffle,BLOCK=192,ITEMS=6,EXCHANGE=warp",
      "ALG=chained,SECTION=kogge_stone,BLOCK=64,ITEMS=8,EXCHANGE=block,VEC=2,DELAY=32",
      "ALG=lookback,SECTION=double_buffered,BLOCK=64,ITEMS=1,EXCHANGE=none",
      "ALG=lookback,SECTION=shuffle,BLOCK=64,ITEMS=4,EXCHANGE=warp,VEC=2,DELAY=128",
      "ALG=gather,SECTION=brent_kung,BLOCK=64,ITEMS=4,EXCHANGE=block,CACHE=streaming",
  };
  static const char *const problems[] = {"n=5003 kind=exclusive", "n=5003 dtype=i64",
                                         "n=5003 op=max dtype=f64 kind=exclusive",
                                         "n=5003 dtype=f32"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    CHECK_CONFIGS(b, "scan", problems[i], configs);
  }
  static const char *const stays[] = {
      "ALG=pipelined,BLOCK=64,VEC=4,ITEMS=4,LOADS=1,LAG=6,BLOCKS=1",
      "ALG=pipelined,BLOCK=192,VEC=4,ITEMS=12,LOADS=3,LAG=1,BLOCKS=2",
  };
  static const char *const wide[] = {"ALG=pipelined,BLOCK=64,VEC=2,ITEMS=6,LOADS=1,LAG=3"};
  static const char *const narrow[] = {"ALG=pipelined,BLOCK=64,VEC=16,ITEMS=16,LOADS=1,LAG=3"};
  CHECK_CONFIGS(b, "scan", "n=50003 dtype=f32 kind=exclusive", stays);
  CHECK_CONFIGS(b, "scan", "n=4097", stays);
  CHECK_CONFIGS(b, "scan", "n=20003 dtype=i64", wide);
  CHECK_CONFIGS(b, "scan", "n=50003 dtype=i8 kind=exclusive", narrow);
}

BED_TEST(segments_are_right) {
  static const char *const reduces[] = {"ALG=thread",
                                        "ALG=warp,LANES=2",
                                        "ALG=warp,LANES=32,VEC=4",
                                        "ALG=block,BLOCK=32,VEC=2,COARSE=4",
                                        "ALG=block,BLOCK=256,VEC=4",
                                        "ALG=tiles,LANES=8,BLOCK=64,SPAN=8,VEC=4,COARSE=2",
                                        "ALG=tiles,LANES=32,BLOCK=256,SPAN=16"};
  static const char *const scans[] = {"ALG=thread,ITEMS=2",
                                      "ALG=warp,LANES=2",
                                      "ALG=warp,LANES=32,ITEMS=2",
                                      "ALG=block,BLOCK=32,ITEMS=8",
                                      "ALG=block,BLOCK=256",
                                      "ALG=lookback,BLOCK=64,ITEMS=8",
                                      "ALG=lookback,BLOCK=512,ITEMS=1,DELAY=32"};
  static const char *const spread[] = {"ALG=tiles,LANES=2,BLOCK=64,SPAN=8"};
  CHECK_CONFIGS(b, "segmented_reduce", "n=5003 segments=70", reduces);
  CHECK_CONFIGS(b, "segmented_scan", "n=5003 segments=70 dtype=f32 kind=exclusive", scans);
  /* segments over many tiles; tiles in which none begins; only empty ones at the end */
  CHECK_CONFIGS(b, "segmented_reduce", "n=9000 segments=2 dtype=f64", spread);
  CHECK_CONFIGS(b, "segmented_reduce", "n=4096 segments=9000 dtype=i32", spread);
  check_configs(b, "segmented_scan", "n=9000 segments=2 dtype=i64 op=max", scans + 5, 2);
}

BED_TEST(reduce_parts_are_right) {
  static const char *const sums[] = {
      "BLOCK=64,COARSE=1,FINISH=accumulate,LOAD=constant",
      "BLOCK=64,COARSE=1,FINISH=accumulate,CLUSTER=4,FOLD=shared",
      "BLOCK=256,BLOCKS=1,COARSE=2,FINISH=cluster,CLUSTER=8,LOAD=streaming",
      "BLOCK=64,BLOCKS=1,COARSE=2,VEC=2,FINISH=cluster,CLUSTER=16,FOLD=simple"};
  static const char *const most[] = {"BLOCK=64,COARSE=1,FINISH=last_block,CLUSTER=16",
                                     "BLOCK=128,COARSE=2,FINISH=two_launch,CLUSTER=2",
                                     "BLOCK=256,BLOCKS=1,FINISH=cluster,CLUSTER=4,COARSE=2"};
  CHECK_CONFIGS(b, "reduce", "n=20011", sums);
  CHECK_CONFIGS(b, "reduce", "n=15001 op=max dtype=i64", most);
}

BED_TEST(histogram_parts_are_right) {
  static const char *const configs[] = {
      "ALG=global,AGGREGATE=run,VEC=2,COARSE=4,PARTITION=contiguous",
      "ALG=global_private,COPIES=4,FINISH=two_launch,AGGREGATE=match",
      "ALG=global_private,COPIES=2,FINISH=last_block",
      "ALG=shared,COPIES=8,SPREAD=lanes,VEC=4,FINISH=last_block",
      "ALG=shared,COPIES=4,SPREAD=warps,FINISH=two_launch,AGGREGATE=match",
      "ALG=shared,COUNTER=16,BLOCK=1024,BLOCKS=1,VEC=4,COARSE=8,AGGREGATE=run",
      "ALG=shared,COUNTER=16,BLOCK=1024,BLOCKS=1,VEC=4,COARSE=8,FINISH=two_launch",
  };
  static const char *const apart[] = {"ALG=shared,PARTS=2,BLOCKS=1,VEC=4,FINISH=last_block",
                                      "ALG=shared,PARTS=2,BLOCKS=1,AGGREGATE=match",
                                      "ALG=shared,COUNTER=16,BLOCKS=1,FINISH=two_launch",
                                      "ALG=cluster,PARTS=2,BLOCKS=1,VEC=4",
                                      "ALG=cluster,PARTS=3,BLOCKS=1,AGGREGATE=run,COARSE=2",
                                      "ALG=cluster,PARTS=16,FINISH=two_launch,AGGREGATE=match"};
  CHECK_CONFIGS(b, "histogram", "n=20001 bins=1500 span=3001 lower=-1 used=1700", configs);
  CHECK_CONFIGS(b, "histogram", "n=4001 bins=41001", apart);
}

DEVICE_TEST(histogram_counters_are_emptied) {
  static const char *const configs[] = {
      "ALG=shared,COUNTER=16,BLOCK=1024,BLOCKS=1,VEC=4,COARSE=8,FINISH=atomic",
      "ALG=shared,COUNTER=16,BLOCK=1024,BLOCKS=1,VEC=4,COARSE=8,FINISH=two_launch,AGGREGATE=run"};
  int64_t before = set_sms(b, 1); /* so that one block counts all elements */
  CHECK_CONFIGS(b, "histogram", "n=200003 bins=1024 used=1", configs);
  set_sms(b, before);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
