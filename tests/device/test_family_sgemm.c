/* test_family_sgemm.c -- chosen configurations of sgemm without tensor cores.
 *   build/tests/test_family_sgemm [--device NAME] */
#define _GNU_SOURCE
#include "family_fixture.h"

BED_TEST(sgemm_has_a_space) {
  auto_space *space = NULL;
  bed_kernel s = bed_problem_open(b, NULL, "sgemm", "m=4096 n=4096 k=4096");
  assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
  assert_in_range(gen_space_count(space), 20001, 2000000);
  bed_kernel_close(&s);
}

/* Suggestions serve untuned problems and begin each search. */
DEVICE_TEST(sgemm_is_suggested) {
  static const struct {
    const char *problem, *config;
  } list[] = {{"m=3072 n=1 k=1024", "SWAP=no.VEC=4.VECTORS=1.X=cached"},
              {"m=512 n=1 k=500000", "SWAP=no.VEC=4.VECTORS=1.X=cached"},
              {"m=1 n=3070 k=1022", "SWAP=yes.VEC=2.VECTORS=1.X=cached"},
              {"m=1 n=3071 k=1024 tb=t", "SWAP=yes.VEC=1.VECTORS=1.X=cached"},
              {"m=7680 n=4 k=2560 ta=t tb=t", "SWAP=no.VEC=4.VECTORS=4.X=cached"},
              {"m=7680 n=2 k=2560", "SWAP=no.VEC=4.VECTORS=2.X=shared"},
              {"m=100000 n=3 k=20000", "SWAP=no.VEC=4.VECTORS=4.X=cached"},
              {"m=1 n=500 k=800 ta=t align_a=1", "SWAP=yes.VEC=4.VECTORS=1.X=shared"},
              {"m=1 n=1 k=1", "SWAP=no.VEC=1.VECTORS=1.X=cached"},
              {"m=3001 n=1801 k=20", "SCHEDULE=stationary_a.STORE=1.PAD=4.WRITEBACK=coalesced"},
              {"m=3001 n=801 k=200 tb=t", "SCHEDULE=tiles.STORE=1.PAD=0.WRITEBACK=coalesced"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (b->d->info.cc < 80 && strstr(list[i].config, "coalesced")) {
      continue; /* asynchronous copies */
    }
    bed_kernel s = bed_problem_open(b, NULL, "sgemm", list[i].problem);
    gen_config c;
    bool suggested;
    auto_str text = {0};
    char wanted[80], *rest = wanted;
    assert_ok(gen_config_untuned(s.g, &c, &suggested, &b->e), &b->e);
    if (!suggested) {
      fail_msg("nothing is suggested for %s", list[i].problem);
    }
    gen_config_text(s.t, &c, &text);
    snprintf(wanted, sizeof wanted, "%s", list[i].config);
    for (char *one; (one = strsep(&rest, "."));) {
      if (!strstr(str_text(&text), one)) {
        fail_msg("%s is suggested %s, not %s", list[i].problem, str_text(&text), one);
      }
    }
    bed_kernel_close(&s);
  }
}

BED_TEST(sgemm_parts_are_right) {
  static const char *const configs[] = {
      "BM=32,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES=interleaved,VEC=4,PAD=4,KLANES=8,BK=16,UNROLL=16,"
      "LOADER=cp_async,STAGES=3,FRAGMENTS=2",
      "BM=32,BN=16,TM=2,TN=2,STORE=2,LM=8,VEC=4,PAD=4,KLANES=8,BK=32,SLICEK=4,UNROLL=8,SPLITK=3,"
      "FINISH=last_block,LOADER=cp_async,STAGES=2",
      "BM=32,BN=32,TM=4,TN=2,STORE=4,LM=4,VEC=4,PAD=4,KLANES=8,BK=16,SPLITK=8,FINISH=two_launch,"
      "STAGES=2",
      "BM=32,BN=32,TM=2,TN=4,STORE=2,LM=8,VEC=4,PAD=4,KLANES=8,BK=8,UNROLL=8,SPLITK=4,FINISH="
      "atomic",
  };
  CHECK_CONFIGS(b, "sgemm", "m=72 n=40 k=260 ta=t align=4", configs);
}

BED_TEST(sgemm_loading_warps_are_right) {
  static const part parts[] = {
      {"m=256 n=128 k=72", "BM=256,BN=128,TM=16,TN=8,ORDER=snake,STORE=4,LM=8,LANES=rows,BK=8,EDGE="
                           "whole,UNROLL=8,VEC=4,PAD=4,LOADER=cp_async_warps,STAGES=3,KLANES=8"},
      {"m=132 n=116 k=76 ta=t",
       "BM=128,BN=128,TM=8,TN=8,ORDER=snake,STORE=4,LM=4,LANES=interleaved,SPLITK=2,FINISH=two_"
       "launch,VEC=4,PAD=4,LOADER=cp_async_warps,STAGES=2,KLANES=8"},
      {"m=129 n=119 k=74 tb=t", "BM=128,BN=128,TM=8,TN=8,STORE=1,LM=8,LANES=rows,SPLITK=2,FINISH="
                                "atomic,VEC=1,LOADER=cp_async_warps,STAGES=2"},
      {"m=129 n=119 k=74",
       "BM=128,BN=128,TM=8,TN=8,STORE=1,LM=8,LANES=rows,WRITEBACK=coalesced,VEC=1,PAD=4,"
       "LOADER=cp_async_warps,STAGES=2,KLANES=8"},
      {"m=384 n=128 k=44 tb=t",
       "BM=128,BN=128,TM=16,TN=8,ORDER=columns,STORE=4,LM=4,LANES=rows,EDGE=k,MINBLOCKS=2,VEC=4,"
       "LOADER=cp_async_warps,STAGES=3"},
      {"m=64 n=32 k=44", "BM=32,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES=rows,BK=8,EDGE=k,UNROLL=8,VEC=4,"
                         "PAD=4,LOADER=cp_async,STAGES=3,KLANES=8"},
  };
  bed_needs_sm90a(b);
  CHECK_PARTS(b, "sgemm", 2, parts); /* elsewhere large tiles are for large products only */
}

/* Base configurations take any alignment, and whole tiles too. */
BED_TEST(sgemm_base_tiles_are_right) {
  static const part parts[] = {
      {"m=256 n=256 k=37 ta=t",
       "BM=128,BN=128,TM=8,TN=8,LM=8,BK=16,UNROLL=16,STAGES=2,PAD=4,MINBLOCKS=2"},
      {"m=301 n=250 k=33 tb=t",
       "BM=128,BN=128,TM=8,TN=8,LM=8,BK=16,UNROLL=16,STAGES=2,PAD=4,MINBLOCKS=2"},
      {"m=70 n=68 k=300 ta=t tb=t",
       "BM=64,BN=64,TM=8,TN=4,LM=8,BK=16,UNROLL=16,STAGES=2,PAD=4,SPLITK=8", 8},
      {"m=128 n=7 k=300", "ALG=gemv,SWAP=no,VECTORS=8,LX=32"},
      {"m=7 n=132 k=300", "ALG=gemv,SWAP=yes,VECTORS=8,LX=32"},
  };
  CHECK_PARTS(b, "sgemm", 2, parts);
}

/* Adapted to a short k, a kernel keeps more stages than there are tiles along k. */
BED_TEST(sgemm_with_spare_stages_is_right) {
  static const part parts[] = {
      {"m=60 n=30 k=12", "BM=32,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES=rows,BK=8,UNROLL=8,VEC=4,"
                         "PAD=4,LOADER=cp_async,STAGES=5,KLANES=8"},
      {"m=35 n=33 k=5", "BM=32,BN=32,TM=4,TN=4,LM=8,LANES=rows,BK=8,UNROLL=4,VEC=1,PAD=4,"
                        "LOADER=cp_async,STAGES=4,KLANES=8,SLICEK=2"},
      {"m=129 n=119 k=10", "BM=128,BN=128,TM=8,TN=8,STORE=1,LM=8,LANES=rows,VEC=1,PAD=4,"
                           "LOADER=cp_async_warps,STAGES=3,KLANES=8"},
      {"m=260 n=116 k=12", "LOADER=tma,BM=128,BN=64,TM=8,TN=8,ORDER=columns,STORE=4,LM=8,"
                           "LANES=rows,BK=8,UNROLL=8,MINBLOCKS=2,VEC=4,STAGES=4"},
      {"m=260 n=116 k=24 ta=t", "LOADER=tma,SCHEDULE=stream_k,BM=128,BN=128,TM=8,TN=8,ORDER=snake,"
                                "LM=4,LANES=interleaved,BK=16,VEC=4,STAGES=4"},
      {"m=40 n=40 k=36 ta=t align=4",
       "BM=32,BN=32,TM=2,TN=4,STORE=2,LM=8,VEC=4,PAD=4,KLANES=8,BK=8,UNROLL=8,SPLITK=2,FINISH="
       "atomic,LOADER=cp_async,STAGES=4"},
  };
  bed_needs_sm90a(b);
  CHECK_PARTS(b, "sgemm", 2, parts);
}

/* Tensor maps of operands along k and across, packed or not; stream-K shares the last wave among
 * the blocks. */
BED_TEST(sgemm_maps_and_streams_are_right) {
  static const part parts[] = {
      {"m=260 n=116 k=76", "LOADER=tma,BM=128,BN=64,TM=8,TN=8,ORDER=columns,STORE=4,LM=8,"
                           "LANES=rows,BK=8,UNROLL=8,MINBLOCKS=2,VEC=4,STAGES=3"},
      {"m=260 n=116 k=76 tb=t",
       "LOADER=tma,WRITEBACK=coalesced,BM=128,BN=64,TM=8,TN=8,ORDER=columns,STORE=4,LM=8,"
       "LANES=rows,BK=8,UNROLL=8,MINBLOCKS=2,VEC=4,STAGES=3"},
      {"m=260 n=116 k=76 ta=t", "LOADER=tma,SCHEDULE=stream_k,BM=128,BN=128,TM=8,TN=8,ORDER=snake,"
                                "LM=4,LANES=interleaved,BK=16,VEC=4,STAGES=3"},
      {"m=640 n=116 k=76 ta=t tb=t",
       "LOADER=tma,SCHEDULE=stream_k,BM=128,BN=128,TM=8,TN=8,"
       "ORDER=columns,LM=8,LANES=rows,BK=32,UNROLL=32,VEC=4,STAGES=2"},
      {"m=259 n=15 k=77 tb=t", "LOADER=tma,PACK=yes,SCHEDULE=stream_k,BM=256,BN=16,TM=8,TN=4,LM=8,"
                               "LANES=rows,BK=16,MINBLOCKS=2,STAGES=3"},
      {"m=129 n=119 k=74 ta=t", "LOADER=tma,PACK=yes,BM=128,BN=128,TM=8,TN=8,ORDER=columns,LM=8,"
                                "LANES=rows,SPLITK=2,FINISH=atomic,VEC=2,STAGES=2"},
      /* One operand is aligned along k and not packed; the other is packed. */
      {"m=35 n=260 k=76", "LOADER=tma,PACK=unaligned,BM=48,BN=128,TM=12,TN=4,LM=4,LANES="
                          "interleaved,BK=16,MINBLOCKS=2,VEC=1,STAGES=3"},
      {"m=260 n=67 k=76 ta=t tb=t", "LOADER=tma,PACK=unaligned,BM=128,BN=64,TM=8,TN=8,LM=8,LANES="
                                    "rows,BK=32,UNROLL=32,MINBLOCKS=2,VEC=1,STAGES=2"},
      {"m=35 n=260 k=76 ta=t", "LOADER=tma,BM=48,BN=128,TM=12,TN=4,LM=4,LANES=interleaved,BK=16,"
                               "MINBLOCKS=2,VEC=4,STAGES=3"},
      {"m=180 n=20 k=70",
       "LOADER=cp_async,SCHEDULE=stream_k,BM=64,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES="
       "interleaved,SLICEK=2,UNROLL=8,VEC=2,PAD=4,STAGES=3"},
      {"m=300 n=20 k=20",
       "LOADER=cp_async,SCHEDULE=stream_k,BM=64,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES="
       "interleaved,VEC=4,PAD=4,STAGES=2"},
      {"m=129 n=119 k=74",
       "LOADER=register,SCHEDULE=stream_k,BM=64,BN=128,TM=8,TN=8,LM=4,LANES=rows,"
       "PAD=4,STAGES=2"},
      {"m=260 n=116 k=76 tb=t",
       "LOADER=cp_async_warps,SCHEDULE=stream_k,BM=128,BN=128,TM=8,TN=8,ORDER=snake,STORE=4,LM=4,LANES=rows,"
       "BK=8,UNROLL=8,VEC=4,STAGES=3"},
      {"m=260 n=116 k=76",
       "LOADER=tma,PACK=yes,SCHEDULE=stream_k,BM=128,BN=128,TM=8,TN=8,ORDER=snake,STORE=4,LM=4,"
       "LANES=interleaved,BK=16,VEC=4,STAGES=3"},
  };
  bed_needs_sm90a(b);
  CHECK_PARTS(b, "sgemm", 2, parts); /* so that blocks have several tiles */
}

/* C written in whole sectors where its rows are not aligned, incomplete tiles along k, stationary
 * A. */
BED_TEST(sgemm_writes_lean_and_in_strips) {
  static const part parts[] = {
      {"m=131 n=70 k=19",
       "LOADER=cp_async,WRITEBACK=coalesced,K_TAIL=exact,BM=64,BN=64,TM=4,TN=8,LM=16,LANES="
       "interleaved,BK=8,UNROLL=8,PAD=4,STAGES=3,KLANES=8,FRAGMENTS=2"},
      {"m=134 n=70 k=37 ta=t tb=t",
       "WRITEBACK=coalesced,K_TAIL=exact,BM=64,BN=64,TM=8,TN=4,STORE=2,LM=8,LANES="
       "interleaved,BK=16,PAD=4,STAGES=2,KLANES=8"},
      {"m=132 n=40 k=200 tb=t align=1 align_a=4 align_b=4",
       "LOADER=cp_async,WRITEBACK=coalesced,BM=128,BN=32,TM=4,TN=8,LM=32,LANES=rows,BK=16,SPLITK=2,FINISH=two_"
       "launch,STAGES=2"},
      {"m=67 n=70 k=200 bias=row act=relu",
       "WRITEBACK=coalesced,BM=64,BN=64,TM=8,TN=8,LM=4,LANES=rows,PAD=4,"
       "SPLITK=2,STAGES=2"},
      {"m=259 n=119 k=74",
       "SCHEDULE=stream_k,WRITEBACK=coalesced,BM=64,BN=128,TM=8,TN=8,LM=8,LANES=rows,PAD=4,"
       "STAGES=2"},
      {"m=131 n=150 k=19 bias=row scale=column",
       "SCHEDULE=stationary_a,LOADER=cp_async,WRITEBACK=coalesced,BM=64,BN=64,TM=4,TN=8,LM=16,LANES=interleaved,BK=8,"
       "UNROLL=4,PAD=4,STAGES=2,KLANES=8"},
      {"m=134 n=150 k=37 ta=t tb=t",
       "SCHEDULE=stationary_a,LOADER=cp_async,WRITEBACK=coalesced,BM=64,BN=64,TM=8,TN=8,STORE=2,LM=8,LANES=rows,BK="
       "16,UNROLL=8,PAD=4,STAGES=2,KLANES=16,MINBLOCKS=2"},
      {"m=132 n=148 k=16 tb=t",
       "SCHEDULE=stationary_a,LOADER=cp_async,WRITEBACK=coalesced,BM=64,BN=64,TM=8,TN=4,STORE=4"
       ",LM=8,LANES=interleaved,BK=8,UNROLL=8,VEC=4,STAGES=2"},
  };
  bed_needs(b, 80);
  CHECK_PARTS(b, "sgemm", 2, parts); /* so that blocks have several tiles */
}

/* In the last wave every block needs a part of k; a block without one would keep the others
 * waiting. */
BED_TEST(sgemm_streams_have_parts_for_all) {
  static const char config[] =
      "SCHEDULE=stream_k,BM=32,BN=32,TM=4,TN=4,STORE=1,LM=8,LANES=rows,PAD=4,"
      "MINBLOCKS=2,STAGES=2";
  const int64_t sms = set_sms(b, 3); /* six blocks at a time */
  for (int k = 80; k <= 96; k += 16) {
    char problem[64];
    snprintf(problem, sizeof problem, "m=31 n=223 k=%d", k); /* seven tiles */
    bed_kernel s = bed_problem_open(b, NULL, "sgemm", problem);
    gen_config c;
    assert_ok(gen_config_parse(s.t, config, &c, &b->e), &b->e);
    if (k == 80) {
      assert_fails(gen_config_check(s.g, &c, &b->e), &b->e, ERR_USAGE,
                   "needs a tile along k for each block");
    } else {
      assert_ok(gen_config_check(s.g, &c, &b->e), &b->e);
    }
    bed_kernel_close(&s);
  }
  const char *const one = config;
  check_configs(b, "sgemm", "m=31 n=223 k=96", &one, 1);
  set_sms(b, sms);
}

/* A matrix times vectors: either operand may be the matrix, contiguous along the sum or not;
 * vectors beyond the edge of C, split k, and several loads at once. */
BED_TEST(sgemm_of_vectors_is_right) {
  static const part parts[] = {
      {"m=300 n=1 k=260",
       "ALG=gemv,VEC=4,VECTORS=1,BLOCK=64,LX=16,LOADS=2,LOADS_ACROSS=4,BLOCKS=1,AHEAD=1"},
      {"m=301 n=3 k=270 tb=t",
       "ALG=gemv,VEC=1,VECTORS=4,BLOCK=128,LX=32,LOADS=1,LOADS_ACROSS=2,BLOCKS=4,X=shared,"
       "FINISH=atomic"},
      {"m=300 n=7 k=260 bias=column act=relu",
       "ALG=gemv,VEC=4,VECTORS=8,BLOCK=256,LX=16,LOADS=1,LOADS_ACROSS=2,BLOCKS=4,X=shared,LOAD=plain"},
      {"m=64 n=5 k=300 tb=t",
       "ALG=gemv,VEC=4,VECTORS=8,BLOCK=64,LX=16,LOADS=1,LOADS_ACROSS=1,BLOCKS=4,AHEAD=1"},
      {"m=130 n=2 k=1030 ta=t",
       "ALG=gemv,VEC=2,VECTORS=2,BLOCK=128,LX=64,LOADS=2,LOADS_ACROSS=4,BLOCKS=1"},
      {"m=130 n=6 k=1032 ta=t tb=t scale=row",
       "ALG=gemv,VEC=4,VECTORS=8,BLOCK=64,LX=8,LOADS=1,LOADS_ACROSS=2,BLOCKS=3,AHEAD=1,X=shared"},
      {"m=1 n=99 k=1500 ta=t align_a=1",
       "ALG=gemv,SWAP=yes,VEC=4,VECTORS=1,BLOCK=128,LX=128,LOADS=1,LOADS_ACROSS=2,"
       "BLOCKS=1,X=shared"},
      {"m=1 n=299 k=1500",
       "ALG=gemv,SWAP=yes,VEC=4,VECTORS=1,BLOCK=128,LX=128,LOADS=1,LOADS_ACROSS=2,BLOCKS=1,"
       "AHEAD=1"},
      {"m=3 n=300 k=257 ta=t tb=t bias=row",
       "ALG=gemv,SWAP=yes,VEC=4,VECTORS=4,BLOCK=64,LX=32,LOADS=1,LOADS_ACROSS=2,BLOCKS=4,X=shared"},
      {"m=2 n=30 k=1000 ta=t",
       "ALG=gemv,SWAP=yes,VEC=4,VECTORS=2,BLOCK=64,LX=32,LOADS=1,LOADS_ACROSS=2,BLOCKS=4,"
       "FINISH=atomic,LOAD=plain"},
  };
  CHECK_PARTS(b, "sgemm", 8, parts); /* so that not every k is split */
}

/* Large configurations build; emulating them would take long. */
BED_TEST(samples_build) {
  static const char *const problems[] = {"m=4096", "m=1023 ta=t", "m=1760 n=16 k=1760 tb=t"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    bed_kernel s = bed_problem_open(b, NULL, "sgemm", problems[i]);
    auto_space *space = NULL;
    gen_config c;
    rt_image image;
    assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
    gen_space_at(space, random_below(&b->random, gen_space_count(space)), &c);
    family_build(b, &s, &c, "sm_90a", 1, &image);
    assert_true(image.n_kernels >= 1);
    for (size_t k = 0; k < image.n_kernels; k++) {
      assert_in_range(image.kernels[k].regs, 1, 255);
      assert_true(image.kernels[k].smem_static <= 48 << 10);
    }
    rt_image_clear(&image);
    bed_kernel_close(&s);
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
