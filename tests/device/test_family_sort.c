/* test_family_sort.c -- chosen configurations of merge and merge_sort.
 *   build/tests/test_family_sort [--device NAME] */
#define _GNU_SOURCE
#include "family_fixture.h"

BED_TEST(merge_parts_are_right) {
  static const char *const configs[] = {
      "ALG=corank,PARTITION=thread,BLOCK=64,ITEMS=5,STORE=direct",
      "ALG=tiled,PARTITION=launch,BLOCK=64,ITEMS=7,TILES=4,STORE=direct",
      "ALG=circular,PARTITION=block,BLOCK=64,ITEMS=4,TILES=8,STORE=direct",
      "ALG=circular,PARTITION=launch,BLOCK=64,ITEMS=9,TILES=2,STORE=direct,CACHE=streaming",
      "ALG=merge_path,PARTITION=launch,BLOCK=64,ITEMS=7,STORE=block",
      "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=8,VEC=2,LOADER=cp_async,STORE=warp",
      "ALG=merge_path,PARTITION=block,BLOCK=128,ITEMS=12,VEC=2,STORE=block,CACHE=streaming",
      "ALG=merge_path,PARTITION=launch,BLOCK=64,ITEMS=4,VEC=2,LOADER=cp_async,STORE=direct",
  };
  static const char *const problems[] = {"m=3001 n=1999 keys=40 value=4"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    CHECK_CONFIGS(b, "merge", problems[i], configs);
  }
  static const char *const alone[] = {
      "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=8,MERGE=network,IMAD_EXCHANGES=2"};
  CHECK_CONFIGS(b, "merge", "m=3001 n=1999 dtype=f32", alone);
}

BED_TEST(merge_sort_parts_are_right) {
  static const char *const configs[] = {
      "SORT_BLOCK=64,SORT_ITEMS=5,NETWORK=odd_even,BLOCK=64,ITEMS=5,STORE=direct",
      "SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,WARP_MERGE=shuffle,BLOCK=128,ITEMS=4,"
      "PARTITION=block,VEC=2,STORE=warp",
      "SORT_BLOCK=128,SORT_ITEMS=4,NETWORK=batcher,WAYS=4,BLOCK=64,ITEMS=4,VEC=2,LOADER=cp_async",
      "SORT_BLOCK=64,SORT_ITEMS=4,NETWORK=batcher,WARP_MERGE=shuffle,WAYS=4,BLOCK=64,ITEMS=16,"
      "PARTITION=block,STORE=direct",
      "ALG=tasks,SORT_BLOCK=64,SORT_ITEMS=7,NETWORK=odd_even,WAYS=4,BLOCK=64,ITEMS=7,"
      "PARTITION=block",
      "ALG=tasks,SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,WARP_MERGE=shuffle,BLOCK=64,ITEMS=4,"
      "PARTITION=block,VEC=2,LOADER=cp_async,STORE=warp,CACHE=streaming",
      "ALG=sample_sort,SORT_BLOCK=128,SORT_ITEMS=11,CLUSTER=4,CLUSTERS=7,SAMPLES=256,BINS=32",
  };
  static const char *const problems[] = {"n=5000 dtype=u64 keys=7 value=8"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    CHECK_CONFIGS(b, "merge_sort", problems[i], configs);
  }
  static const char *const alone[] = {
      "SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,WARP_MERGE=mixed,MERGE=network,"
      "IMAD_EXCHANGES=2,WAYS=4,BLOCK=64,ITEMS=4",
      "SORT_BLOCK=64,SORT_ITEMS=4,NETWORK=batcher,WARP_MERGE=shuffle,MERGE=network,"
      "IMAD_EXCHANGES=1,WAYS=4,BLOCK=64,ITEMS=16,PARTITION=block,VEC=4,LOADER=bulk,STAGES=2",
  };
  CHECK_CONFIGS(b, "merge_sort", "n=5003 keys=7", alone);
  CHECK_CONFIGS(b, "merge_sort", "n=8192 dtype=f32", alone);
}

BED_TEST(merge_sort_buckets_are_right) {
  static const char *const configs[] = {
      "ALG=sample_passes,SORT_BLOCK=64,SORT_ITEMS=16,NETWORK=batcher,WARP_MERGE=mixed,LEVELS=1,"
      "SPLITTERS=32,OVERSAMPLE=32,FILL=6,BLOCK=64,ITEMS=8",
      "ALG=bitonic,SORT_BLOCK=128,SORT_ITEMS=16,CLUSTER=4",
  };
  CHECK_CONFIGS(b, "merge_sort", "n=5003 dtype=u8 keys=100 align=1", configs);
  CHECK_CONFIGS(b, "merge_sort", "n=5003 dtype=i64 value=8 keys=40", configs);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
