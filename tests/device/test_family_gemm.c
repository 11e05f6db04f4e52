/* test_family_gemm.c -- chosen configurations of matrix products: on tensor cores, batched, and
 * with a vector.
 *   build/tests/test_family_gemm [--device NAME] */
#define _GNU_SOURCE
#include "family_fixture.h"

/* Every path through tensor.cuh: operands along k or not, in registers or shared memory, complete
 * or cut off at the edges, split k, and every epilogue. */
BED_TEST(sgemm_on_tensor_cores_is_right) {
  static const part parts[] = {
      {"m=128 n=128 k=512 accuracy=fp32", "ALG=tf32x3,EDGE=whole,VEC=4,TENSOR_STAGES=3"},
      {"m=100 n=67 k=1028 ta=t tb=t accuracy=fp32 bias=row act=gelu",
       "ALG=tf32x3,VEC=1,SWAP=yes,TENSOR_STAGES=2,PROMOTE=2"},
      {"m=100 n=72 k=524 tb=t accuracy=fp32",
       "ALG=tf32x3,GROUPS=1,TILE=64,SWAP=yes,VEC=4,TENSOR_STAGES=2"},
      {"m=130 n=130 k=514 ta=t accuracy=fp32",
       "ALG=tf32x3,GROUPS=3,TILE=96,VEC=2,TENSOR_STAGES=2,SPLITK=3,FINISH=two_launch"},
      {"m=100 n=130 k=514 accuracy=fp32",
       "ALG=tf32x3,TILE=160,VEC=2,SPLITK=2,FINISH=atomic,TENSOR_STAGES=2"},
      {"m=256 n=128 k=320 accuracy=tf32", "ALG=tf32,EDGE=whole,VEC=4,TENSOR_STAGES=4,PROMOTE=8"},
  };
  bed_needs_sm90a(b);
  CHECK_PARTS(b, "sgemm", 3, parts); /* elsewhere large tiles are for large products only */
}

/* The same of tensor80.cuh. */
BED_TEST(sgemm_on_tensor_cores_by_warps_is_right) {
  static const part parts[] = {
      {"m=128 n=128 k=512 accuracy=fp32", "ALG=tf32x3_mma,EDGE=whole,VEC=4,TENSOR_STAGES=3"},
      {"m=130 n=67 k=516 ta=t tb=t accuracy=fp32 bias=row act=gelu",
       "ALG=tf32x3_mma,VEC=1,SWAP=yes,TENSOR_STAGES=2"},
      {"m=100 n=72 k=524 tb=t accuracy=fp32",
       "ALG=tf32x3_mma,GROUPS=1,TILE=64,SWAP=yes,VEC=4,TENSOR_STAGES=2"},
      {"m=130 n=130 k=514 ta=t accuracy=fp32",
       "ALG=tf32x3_mma,GROUPS=3,TILE=96,VEC=2,TENSOR_STAGES=2,SPLITK=3,FINISH=last_block"},
  };
  bed_needs(b, 80);
  CHECK_PARTS(b, "sgemm", 3, parts);
}

/* Warpgroups: both operands along k and across, edges of odd lengths, tiles that two blocks share,
 * several tiles of one block. */
BED_TEST(gemm_warpgroups_are_right) {
  static const part parts[] = {
      {"m=264 n=200 k=136 align=8", "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=4,CLUSTER=rows",
       4},
      {"m=136 n=260 k=72 align=8 tb=t", "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=3", 1},
      {"m=136 n=200 k=520 align=8",
       "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=3,SPLITK=4,CLUSTER=rows", 12},
      {"m=80 n=16 k=520 ta=t act=relu", "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,SPLITK=3"},
      {"m=75 n=131 k=73 tb=t dtype=f16 bias=row",
       "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=3,START=early"},
      {"m=201 n=99 k=261 ta=t ctype=f32",
       "ALG=wgmma,BM=128,BN=64,GROUPS=1,WGMMA_STAGES=3,SPLITK=2"},
      {"m=72 n=136 k=88", "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,CLUSTER=columns"},
      {"m=136 n=72 k=136 ta=t tb=t ctype=f32",
       "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,CLUSTER=rows"},
      {"m=75 n=130 k=72 tb=t dtype=f16 align=8 bias=row act=relu",
       "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=3"},
      {"m=130 n=192 k=200 ta=t align=8", "ALG=wgmma,BM=128,BN=192,GROUPS=3,WGMMA_STAGES=4"},
      {"m=200 n=72 k=64 tb=t scale=column", "ALG=wgmma,BM=256,BN=64,GROUPS=1,WGMMA_STAGES=3"},
      {"m=72 n=200 k=64 ctype=f32 align=8", "ALG=wgmma,BM=64,BN=256,GROUPS=2,WGMMA_STAGES=3"},
      /* more stages than tiles along k */
      {"m=136 n=260 k=40 align=8", "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=5", 1},
      {"m=72 n=136 k=88 ta=t", "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=6,CLUSTER=columns"},
      {"m=80 n=16 k=520", "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=8,SPLITK=4"},
      /* blocks share the k of the last round's tile */
      {"m=136 n=40 k=520 align=8 ta=t", "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,TAIL=2", 2},
      {"m=264 n=40 k=520 ctype=f32 align=8 beta_is=1",
       "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,CLUSTER=rows,TAIL=2,READ_C=map", 4},
      /* and of all tiles, in a cluster */
      {"m=136 n=70 k=520 align=8 beta_is=any",
       "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=3,SPLITK=4,FINISH=cluster"},
      {"m=67 n=65 k=260 ta=t ctype=f32 act=relu",
       "ALG=wgmma,BM=128,BN=64,GROUPS=1,WGMMA_STAGES=3,SPLITK=2,FINISH=cluster,START=early"},
      /* C is copied to shared memory, of several tiles, of more panels than there is room for */
      {"m=264 n=200 k=72 align=8 beta_is=any",
       "ALG=wgmma,BM=64,BN=128,GROUPS=2,WGMMA_STAGES=3,CLUSTER=rows,READ_C=map,START=early", 4},
      {"m=133 n=70 k=72 align=8 ctype=f32 beta_is=1 bias=row",
       "ALG=wgmma,BM=192,BN=64,GROUPS=1,WGMMA_STAGES=3,PANELS=4,READ_C=map"},
      {"m=200 n=136 k=264 dtype=f16 beta_is=any",
       "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,SPLITK=2,MINBLOCKS=2,READ_C=map", 12},
  };
  bed_needs_sm90a(b);
  CHECK_PARTS(b, "gemm", 0, parts);
}

BED_TEST(gemm_parts_are_right) {
  static const part parts[] = {
      {"m=72 n=40 k=440",
       "ALG=mma,BM=64,BN=64,WM=32,WN=32,BK=32,VEC=8,STAGES=3,LAYOUT=swizzled,STORE=shared"},
      {"m=72 n=40 k=440 ta=t dtype=f16",
       "ALG=mma,BM=32,BN=64,WM=32,WN=16,BK=64,VEC=8,LAYOUT=swizzled,FRAGMENTS=2,SPLITK=3"},
      {"m=72 n=40 k=440 tb=t", "ALG=mma,BM=64,BN=32,WM=16,WN=32,BK=16,VEC=8,STAGES=4,SPLITK=4,"
                               "FINISH=two_launch,STORE=shared"},
      {"m=64 n=64 k=128 ta=t tb=t ctype=f32",
       "ALG=mma,BM=64,BN=64,WM=64,WN=32,BK=32,EDGE=whole,VEC=8,LAYOUT=swizzled,STORE=shared"},
      {"m=36 n=40 k=134 dtype=f64",
       "ALG=mma,BM=32,BN=32,WM=16,WN=32,BK=16,STEP=4,VEC=2,STAGES=3,STORE=direct"},
      {"m=36 n=40 k=134 dtype=f64 ta=t tb=t",
       "ALG=mma,BM=64,BN=32,WM=32,WN=16,BK=8,STEP=8,VEC=2,SPLITK=3,STORE=shared"},
      {"m=36 n=40 k=134 dtype=f64 tb=t", "ALG=mma,BM=32,BN=64,WM=32,WN=16,BK=32,STEP=16,VEC=2,"
                                         "FRAGMENTS=2,SPLITK=2,FINISH=two_launch"}};
  CHECK_PARTS(b, "gemm", 0, parts);
}

BED_TEST(gemm_clusters_are_right) {
  static const part parts[] = {
      {"m=37 n=20 k=270 dtype=f64 beta_is=any",
       "ALG=mma,BM=16,BN=32,WM=16,WN=16,BK=32,STEP=8,SPLITK=4,FINISH=cluster"},
      {"m=72 n=40 k=528 beta_is=1 ctype=f32 bias=row act=relu",
       "ALG=mma,BM=64,BN=32,WM=32,WN=16,BK=32,VEC=8,STAGES=3,LAYOUT=swizzled,SPLITK=8,FINISH=cluster"}};
  bed_needs(b, 90);
  CHECK_PARTS(b, "gemm", 0, parts);
}

/* Doubles by tensor maps or, where nothing is aligned, element by element: layouts, edges, blocks that share k or
 * copies, several tiles of a block. */
BED_TEST(gemm_of_doubles_by_maps_is_right) {
  static const part parts[] = {
      {"m=75 n=40 k=90 dtype=f64 ta=t align=2 beta_is=any",
       "ALG=dmma,BM=32,BN=32,WM=16,WN=16,STAGES=3,START=early", 2},
      {"m=40 n=36 k=68 dtype=f64 tb=t bias=row act=relu",
       "ALG=dmma,BM=64,BN=32,WM=32,WN=16,STAGES=2,SPLITK=2"},
      {"m=72 n=40 k=34 dtype=f64 ta=t tb=t",
       "ALG=dmma,BM=32,BN=64,WM=16,WN=32,STAGES=2,CLUSTER=rows"},
      {"m=33 n=68 k=34 dtype=f64 align=2",
       "ALG=dmma,BM=64,BN=32,WM=32,WN=16,STAGES=3,CLUSTER=columns"},
      {"m=130 n=66 k=34 dtype=f64", "ALG=dmma,BM=128,BN=128,WM=64,WN=32,STAGES=3"},
      {"m=41 n=79 k=67 dtype=f64 beta_is=any",
       "ALG=dmma,BM=64,BN=64,WM=32,WN=32,STAGES=2,SPLITK=2"},
      {"m=72 n=20 k=520 dtype=f64", "ALG=dmma,BM=32,BN=32,WM=16,WN=16,STAGES=4,TAIL=2", 2},
      {"m=71 n=19 k=67 dtype=f64 ta=t tb=t beta_is=1", "ALG=dmma,BM=32,BN=32,WM=16,WN=16,STAGES=3",
       2},
  };
  bed_needs_sm90a(b);
  CHECK_PARTS(b, "gemm", 0, parts);
}

/* Base configurations take any alignment, and whole tiles too. */
BED_TEST(gemm_base_tiles_are_right) {
  static const part parts[] = {
      {"m=136 n=136 k=136 ta=t",
       "ALG=mma,BM=128,BN=128,WM=64,WN=32,BK=32,VEC=8,STAGES=3,LAYOUT=swizzled"},
      {"m=64 n=64 k=64 tb=t", "ALG=mma,BM=64,BN=64,WM=32,WN=32,BK=32,VEC=1,LAYOUT=swizzled"},
      {"m=70 n=33 k=67 dtype=f64", "ALG=mma,BM=64,BN=64,WM=32,WN=32,BK=16,STEP=4,VEC=1"}};
  CHECK_PARTS(b, "gemm", 2, parts);
}

BED_TEST(gemm_batched_by_tensor_cores_is_right) {
  static const part parts[] = {
      {"m=33 n=20 k=41 batch=3 dtype=f64 ta=t beta_is=any", "ALG=mma,PM=2,PN=2"},
      {"m=44 k=30 batch=2 dtype=f64 tb=t layout=pointers align=2 beta_is=1 bias=row act=relu",
       "ALG=mma,PM=1,PN=3"},
      {"m=17 n=18 k=16 batch=9 dtype=f64 ta=t tb=t layout=strided beta_is=any",
       "ALG=mma,PM=1,PN=2,BLOCKS=2", 2}};
  bed_needs(b, 90);
  CHECK_PARTS(b, "gemm_batched", 0, parts);
}

DEVICE_TEST(gemm_batched_parts_are_right) {
  static const part parts[] = {
      {"m=16 batch=53 ta=t", "PM=4,PN=4,GROUP=8,ALG=shared,UNROLL=16,KV=4,PAD=4,SKEW=4,VEC=4,"
                             "LOADER=cp_async,BLOCKS=1,STAGES=3,STORE=direct"},
      {"m=16 batch=53 ta=t tb=t layout=strided",
       "PM=8,PN=2,GROUP=4,ALG=shared,UNROLL=16,KV=1,PAD=1,VEC=1,LOADER=cp_async,BLOCKS=2,STAGES=2,"
       "STORE=shared"},
      {"m=16 batch=53", "PM=4,PN=4,GROUP=4,ALG=shared,UNROLL=16,KV=2,VEC=4,BLOCKS=1,STORE=shared"},
      /* vectors of C across columns and matrices, and a last group that ends within one */
      {"m=7 n=5 k=3 batch=53 scale=row bias=column act=relu",
       "PM=7,PN=5,GROUP=4,ALG=shared,UNROLL=4,VEC=4,LOADER=cp_async,BLOCKS=2,STAGES=2,STORE=shared"},
      {"m=16 batch=53 ta=t", "PM=2,PN=8,GROUP=8,ALG=direct,UNROLL=16,KV=4,BLOCKS=1,STORE=direct"},
      {"m=16 batch=53 tb=t layout=pointers",
       "PM=16,PN=16,GROUP=1,ALG=direct,EXACT=0,KV=1,UNROLL=4,STORE=shared"},
      {"m=40 k=32 batch=9", "PM=8,PN=8,GROUP=2,ALG=shared,SLICE=16,UNROLL=16,KV=2,PAD=2,VEC=2,"
                            "LOADER=cp_async,BLOCKS=1,STAGES=3,STORE=direct"},
      {"m=40 k=32 batch=9 ta=t layout=strided",
       "PM=8,PN=8,GROUP=1,ALG=shared,SLICE=8,UNROLL=8,KV=4,PAD=4,VEC=4,STORE=shared"}};
  CHECK_PARTS(b, "gemm_batched", 2, parts); /* so that a block has several groups */
}

BED_TEST(gemv_parts_are_right) {
  static const part parts[] = {
      {"m=500 n=300", "BLOCK=64,LX=8,VEC=4,ROWS=2,COLS=2,AHEAD=1,X=shared,BLOCKS=1"},
      {"m=500 n=300",
       "BLOCK=128,LX=64,VEC=4,ROWS=1,COLS=4,LOAD=streaming,BLOCKS=1,FINISH=two_launch"},
      {"m=901 n=203 unit=0", "BLOCK=128,LX=64,VEC=1,ROWS=1,COLS=2,BLOCKS=2,FINISH=atomic"},
      {"m=5000 n=44 trans=t", "BLOCK=256,LX=16,VEC=4,ROWS=1,COLS=2,X=shared,BLOCKS=1,"
                              "FINISH=atomic"},
      {"m=5000 n=44 trans=t", "BLOCK=64,LX=32,VEC=4,ROWS=4,COLS=1,AHEAD=1,LOAD=second,BLOCKS=1,"
                              "FINISH=two_launch"},
      {"m=901 n=103 unit=0 trans=t", "BLOCK=64,LX=8,VEC=1,ROWS=2,COLS=4,AHEAD=1,X=shared,BLOCKS=1"},
  };
  CHECK_PARTS(b, "gemv", 0, parts);
}

BED_TEST(gemv_clusters_are_right) {
  static const part parts[] = {
      {"m=500 n=300",
       "BLOCK=64,LX=8,VEC=4,ROWS=2,COLS=2,AHEAD=1,X=shared,FINISH=cluster,CLUSTER=4"},
      {"m=900 n=103 trans=t bias=row act=relu",
       "BLOCK=64,LX=16,VEC=4,ROWS=1,COLS=2,FINISH=cluster,CLUSTER=8"},
  };
  bed_needs(b, 90);
  CHECK_PARTS(b, "gemv", 0, parts);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
