/* test_templates -- every template that comes with the library: its default and a sample of its
 * space are built and compared with its reference.
 *
 * On the emulator (the default) the problems are the templates' emu sizes, on a GPU (--device 0)
 * their test sizes. Without NVRTC only what needs no compiler is tested.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "device_fixture.h"
#include "gen.h"
#include "run.h"

enum { SAMPLE_EMU = 5, SAMPLE_GPU = 40, SAMPLE_BUILD = 3 };

typedef struct bed { /* what every test lies on */
  const char *device_name;
  rt_device *d;
  rt_compiler *c;
  rt_tools *tools;
  gen_number limits[RT_NUMBERS];
  uint64_t random;
  arena a;
  err e;
} bed;

typedef struct subject { /* a family with a problem on the bed's device */
  gen_template *t;
  gen_instance *g;
} subject;

static size_t draw(bed *b, size_t n) { /* Knuth's generator, the upper bits */
  b->random = b->random * 6364136223846793005u + 1442695040888963407u;
  return (size_t)((b->random >> 33) % n);
}

static int open_bed(bed *b) {
  TRY(kit_open(b->device_name, &b->d, b->limits, &b->c, &b->e));
  return b->c ? rt_tools_new(b->d, b->c, &b->tools, &b->e) : 0;
}

static void close_bed(bed *b) {
  rt_tools_free(b->tools);
  rt_compiler_close(b->c);
  b->d->ops->close(b->d);
  arena_clear(&b->a);
}

static subject open_subject(bed *b, const gen_options *o, const char *family, const char *problem) {
  subject s = {0};
  gen_problem p;
  assert_ok(gen_open(o, family, &s.t, &b->e), &b->e);
  assert_ok(gen_problem_parse(s.t, problem, &p, &b->e), &b->e);
  assert_ok(gen_instance_new(s.t, &p, b->limits, RT_NUMBERS, &s.g, &b->e), &b->e);
  return s;
}

static void close_subject(subject *s) {
  gen_instance_free(s->g);
  gen_close(s->t);
}

/* ---- from a configuration to a verdict ------------------------------------------------------- */

static void build(bed *b, subject *s, const gen_config *c, const char *arch, int lineinfo,
                  rt_image *image) {
  str text = {0};
  size_t body;
  assert_ok(gen_source_make(s->g, c, &text, &body, &b->e), &b->e);
  rt_source source = {.text = str_text(&text), .body = body, .arch = arch, .lineinfo = lineinfo};
  rt_image_init(image);
  if (rt_compile(b->c, &source, &b->a, image, &b->e)) {
    fail_msg("%.400s\n%s (%s)", str_text(&text), b->e.message, b->e.place);
  }
  str_clear(&text);
}

static int check(bed *b, subject *s, rt_bench *bench, const gen_config *c, int lineinfo) {
  rt_image image;
  rt_loaded *l;
  rt_check verdict;
  const gen_plan *plan;
  build(b, s, c, b->d->info.arch, lineinfo, &image);
  const str *code = b->d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  assert_ok(gen_plan_make(s->g, c, &b->a, &plan, &b->e), &b->e);
  assert_ok(rt_loaded_new(b->d, code->p, code->n, s->t, plan, &l, &b->e), &b->e);
  int rc = rt_bench_check(bench, l, &verdict, &b->e);
  rt_loaded_free(l);
  rt_image_clear(&image);
  return rc;
}

/* Lines of the source are a sixth of a compilation: only a finding needs them. */
static void assert_right(bed *b, subject *s, rt_bench *bench, const gen_problem *p,
                         const gen_config *c) {
  if (!check(b, s, bench, c, 0)) {
    return;
  }
  err first = b->e;
  err_clear(&b->e);
  if (!check(b, s, bench, c, 1)) {
    b->e = first; /* wrong once is wrong */
  }
  str words = {0};
  gen_problem_text(s->t, p, &words);
  str_add(&words, " --config ");
  gen_config_text(s->t, c, &words);
  fail_msg("%s: %s %s", str_text(&words), b->e.message, b->e.place);
}

/* The default, what serves the problem untuned, then points drawn from the space. */
static void check_problem(bed *b, const char *family, const char *problem, size_t n_points) {
  subject s = open_subject(b, NULL, family, problem);
  gen_problem p;
  gen_config c;
  gen_space *space;
  rt_bench *bench;
  bool suggested;
  assert_ok(gen_problem_parse(s.t, problem, &p, &b->e), &b->e);
  assert_ok(rt_bench_new(b->d, b->c, b->tools, s.t, s.g, &bench, &b->e), &b->e);
  assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
  gen_config_default(s.t, &c);
  assert_right(b, &s, bench, &p, &c);
  assert_ok(gen_config_untuned(s.g, &c, &suggested, &b->e), &b->e);
  if (suggested) {
    assert_right(b, &s, bench, &p, &c);
  }
  for (size_t i = suggested; i < n_points; i++) {
    gen_space_at(space, draw(b, gen_space_count(space)), &c);
    assert_right(b, &s, bench, &p, &c);
  }
  gen_space_free(space);
  rt_bench_free(bench);
  close_subject(&s);
}

static void check_family(bed *b, const char *family) {
  gen_template *t;
  if (!b->c) {
    skip_because("no NVRTC");
  }
  assert_ok(gen_open(NULL, family, &t, &b->e), &b->e);
  const bool emu = b->d->info.format == RT_PTX;
  const char *const *sizes = emu ? t->sizes_emu : t->sizes_test;
  const size_t n = emu ? t->n_sizes_emu : t->n_sizes_test;
  assert_true(n > 0);
  for (size_t i = 0; i < n; i++) {
    check_problem(b, family, sizes[i], emu ? SAMPLE_EMU : SAMPLE_GPU);
  }
  gen_close(t);
}

static void argmax_is_right(void **state) {
  check_family(*state, "argmax");
}
static void copy_is_right(void **state) {
  check_family(*state, "copy");
}
static void gemm_is_right(void **state) {
  check_family(*state, "gemm");
}
static void gemm_batched_is_right(void **state) {
  check_family(*state, "gemm_batched");
}
static void gemv_is_right(void **state) {
  check_family(*state, "gemv");
}
static void histogram_is_right(void **state) {
  check_family(*state, "histogram");
}
static void radix_sort_is_right(void **state) {
  check_family(*state, "radix_sort");
}
static void merge_is_right(void **state) {
  check_family(*state, "merge");
}
static void merge_sort_is_right(void **state) {
  check_family(*state, "merge_sort");
}
static void reduce_is_right(void **state) {
  check_family(*state, "reduce");
}
static void saxpy_is_right(void **state) {
  check_family(*state, "saxpy");
}
static void scan_is_right(void **state) {
  check_family(*state, "scan");
}
static void segmented_reduce_is_right(void **state) {
  check_family(*state, "segmented_reduce");
}
static void segmented_scan_is_right(void **state) {
  check_family(*state, "segmented_scan");
}
static void segmented_sort_is_right(void **state) {
  check_family(*state, "segmented_sort");
}
static void sgemm_is_right(void **state) {
  check_family(*state, "sgemm");
}
static void transpose_is_right(void **state) {
  check_family(*state, "transpose");
}

/* A family without a test above is no accident of the alphabet. */
static void every_family_is_tested(void **state) {
  static const char *const tested[] = {"argmax",
                                       "copy",
                                       "gemm",
                                       "gemm_batched",
                                       "gemv",
                                       "histogram",
                                       "merge",
                                       "merge_sort",
                                       "radix_sort",
                                       "reduce",
                                       "saxpy",
                                       "scan",
                                       "segmented_reduce",
                                       "segmented_scan",
                                       "segmented_sort",
                                       "sgemm",
                                       "transpose"};
  bed *b = *state;
  const char *const *names;
  size_t n;
  assert_ok(gen_families(NULL, &b->a, &names, &n, &b->e), &b->e);
  assert_int_equal(n, sizeof tested / sizeof *tested);
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(names[i], tested[i]);
  }
}

/* What each family can do in several ways, by name: the samples above may miss one. */
static void check_configs(bed *b, const char *family, const char *problem,
                          const char *const *configs, size_t n) {
  if (!b->c) {
    skip_because("no NVRTC");
  }
  subject s = open_subject(b, NULL, family, problem);
  gen_problem p;
  gen_config c;
  rt_bench *bench;
  assert_ok(gen_problem_parse(s.t, problem, &p, &b->e), &b->e);
  assert_ok(rt_bench_new(b->d, b->c, b->tools, s.t, s.g, &bench, &b->e), &b->e);
  for (size_t i = 0; i < n; i++) {
    assert_ok(gen_config_parse(s.t, configs[i], &c, &b->e), &b->e);
    assert_ok(gen_config_check(s.g, &c, &b->e), &b->e);
    assert_right(b, &s, bench, &p, &c);
  }
  rt_bench_free(bench);
  close_subject(&s);
}

/* Multiprocessors that the templates take the device to have; returns those before. */
static int64_t set_sms(bed *b, int64_t n) {
  gen_number *sms = NULL;
  for (size_t i = 0; i < RT_NUMBERS; i++) {
    sms = strcmp(b->limits[i].name, "dev_sms") ? sms : &b->limits[i];
  }
  int64_t before = sms->value;
  sms->value = n;
  return before;
}

static void sgemm_parts_are_right(void **state) {
  static const char *const configs[] = {
      "BM=32,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES=interleaved,VEC=4,PAD=4,KLANES=8,BK=16,UNROLL=16,"
      "LOADER=cpasync,STAGES=3,FRAGMENTS=2",
      "BM=32,BN=16,TM=2,TN=2,STORE=2,LM=8,VEC=4,PAD=4,KLANES=8,BK=32,SLICEK=4,UNROLL=8,SPLITK=3,"
      "FINISH=last_block,LOADER=cpasync,STAGES=2",
      "BM=32,BN=32,TM=4,TN=2,STORE=4,LM=4,VEC=4,PAD=4,KLANES=8,BK=16,SPLITK=8,FINISH=two_launch,"
      "STAGES=2",
      "BM=32,BN=32,TM=2,TN=4,STORE=2,LM=8,VEC=4,PAD=4,KLANES=8,BK=8,UNROLL=8,SPLITK=4,FINISH="
      "atomic",
  };
  check_configs(*state, "sgemm", "m=72 n=40 k=260 ta=t align=4", configs,
                sizeof configs / sizeof *configs);
}

/* What nobody tuned is served well, and a search begins with it. */
static void sgemm_is_suggested(void **state) {
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
              {"m=3001 n=1801 k=20", "SCHEDULE=strips.STORE=1.PAD=4.PUT=lean"},
              {"m=3001 n=801 k=200 tb=t", "SCHEDULE=tiles.STORE=1.PAD=0.PUT=lean"}};
  bed *b = *state;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (b->d->info.cc < 80 && strstr(list[i].config, "lean")) {
      continue; /* asynchronous copies */
    }
    subject s = open_subject(b, NULL, "sgemm", list[i].problem);
    gen_config c;
    bool suggested;
    str text = {0};
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
    str_clear(&text);
    close_subject(&s);
  }
}

/* Warpgroups: both operands along k and across, edges of odd lengths, what two blocks share,
 * several tiles of a block one after the other. */
static void gemm_warpgroups_are_right(void **state) {
  static const struct {
    const char *problem, *config;
    int64_t sms;
  } list[] = {
      {"m=264 n=200 k=264 align=8", "BM=64,BN=128,GROUPS=2,QUEUE=4,CLUSTER=rows", 4},
      {"m=136 n=260 k=72 align=8 tb=t", "BM=64,BN=128,GROUPS=2,QUEUE=3", 1},
      {"m=136 n=200 k=520 align=8", "BM=64,BN=128,GROUPS=2,QUEUE=3,SPLITK=4,CLUSTER=rows", 12},
      {"m=80 n=16 k=520 ta=t act=relu", "BM=64,BN=64,GROUPS=1,QUEUE=3,SPLITK=3"},
      {"m=75 n=131 k=73 tb=t dtype=f16 bias=row", "BM=64,BN=128,GROUPS=2,QUEUE=3"},
      {"m=201 n=99 k=333 ta=t ctype=f32", "BM=128,BN=64,GROUPS=1,QUEUE=3,SPLITK=2"},
      {"m=72 n=136 k=88", "BM=64,BN=64,GROUPS=1,QUEUE=3,CLUSTER=columns"},
      {"m=136 n=72 k=136 ta=t tb=t ctype=f32", "BM=64,BN=64,GROUPS=1,QUEUE=3,CLUSTER=rows"},
      {"m=75 n=130 k=72 tb=t dtype=f16 align=8 bias=row act=relu", "BM=64,BN=128,GROUPS=2,QUEUE=3"},
      {"m=130 n=192 k=200 ta=t align=8", "BM=128,BN=192,GROUPS=3,QUEUE=4"},
      {"m=200 n=72 k=64 tb=t scale=column", "BM=256,BN=64,GROUPS=1,QUEUE=3"},
      {"m=72 n=200 k=64 ctype=f32 align=8", "BM=64,BN=256,GROUPS=2,QUEUE=3"},
  };
  bed *b = *state;
  if (b->d->info.cc != 90) {
    skip_because("needs a GPU of compute capability 9.0");
  }
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    char config[128];
    const char *const one = config;
    snprintf(config, sizeof config, "ALG=wgmma,%s", list[i].config);
    const int64_t sms = list[i].sms ? set_sms(b, list[i].sms) : 0;
    check_configs(b, "gemm", list[i].problem, &one, 1);
    if (sms) {
      set_sms(b, sms);
    }
  }
}

static void scan_parts_are_right(void **state) {
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
    check_configs(*state, "scan", problems[i], configs, sizeof configs / sizeof *configs);
  }
  static const char *const stays[] = {
      "ALG=pipelined,BLOCK=64,VEC=4,ITEMS=4,LOADS=1,LAG=6,BLOCKS=1",
      "ALG=pipelined,BLOCK=192,VEC=4,ITEMS=12,LOADS=3,LAG=1,BLOCKS=2",
  };
  static const char *const wide[] = {"ALG=pipelined,BLOCK=64,VEC=2,ITEMS=6,LOADS=1,LAG=3"};
  static const char *const narrow[] = {"ALG=pipelined,BLOCK=64,VEC=16,ITEMS=16,LOADS=1,LAG=3"};
  check_configs(*state, "scan", "n=50003 dtype=f32 kind=exclusive", stays, 2);
  check_configs(*state, "scan", "n=4097", stays, 2);
  check_configs(*state, "scan", "n=20003 dtype=i64", wide, 1);
  check_configs(*state, "scan", "n=50003 dtype=i8 kind=exclusive", narrow, 1);
}

static void merge_parts_are_right(void **state) {
  static const char *const configs[] = {
      "ALG=corank,PARTITION=thread,BLOCK=64,ITEMS=5,STORE=direct",
      "ALG=tiled,PARTITION=launch,BLOCK=64,ITEMS=7,TILES=4,STORE=direct",
      "ALG=circular,PARTITION=block,BLOCK=64,ITEMS=4,TILES=8,STORE=direct",
      "ALG=circular,PARTITION=launch,BLOCK=64,ITEMS=9,TILES=2,STORE=direct,CACHE=streaming",
      "ALG=merge_path,PARTITION=launch,BLOCK=64,ITEMS=7,STORE=block",
      "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=8,VEC=2,LOADER=cpasync,STORE=warp",
      "ALG=merge_path,PARTITION=block,BLOCK=128,ITEMS=12,VEC=2,STORE=block,CACHE=streaming",
      "ALG=merge_path,PARTITION=launch,BLOCK=64,ITEMS=4,VEC=2,LOADER=cpasync,STORE=direct",
  };
  static const char *const problems[] = {"m=3001 n=1999 keys=40 value=4"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    check_configs(*state, "merge", problems[i], configs, sizeof configs / sizeof *configs);
  }
  static const char *const alone[] = {
      "ALG=merge_path,PARTITION=block,BLOCK=64,ITEMS=8,MERGE=network,MADS=2"};
  check_configs(*state, "merge", "m=3001 n=1999 dtype=f32", alone, 1);
}

static void merge_sort_parts_are_right(void **state) {
  static const char *const configs[] = {
      "SORT_BLOCK=64,SORT_ITEMS=5,NETWORK=odd_even,BLOCK=64,ITEMS=5,STORE=direct",
      "SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,LANES=bitonic,BLOCK=128,ITEMS=4,PARTITION=block,"
      "VEC=2,"
      "STORE=warp",
      "SORT_BLOCK=128,SORT_ITEMS=4,NETWORK=batcher,WAYS=4,BLOCK=64,ITEMS=4,VEC=2,LOADER=cpasync",
      "SORT_BLOCK=64,SORT_ITEMS=4,NETWORK=batcher,LANES=bitonic,WAYS=4,BLOCK=64,ITEMS=16,"
      "PARTITION=block,STORE=direct",
      "ALG=tasks,SORT_BLOCK=64,SORT_ITEMS=7,NETWORK=odd_even,WAYS=4,BLOCK=64,ITEMS=7,PARTITION="
      "block",
      "ALG=tasks,SORT_BLOCK=64,SORT_ITEMS=16,NETWORK=batcher,LANES=bitonic,BLOCK=64,ITEMS=8,"
      "PARTITION=block,VEC=2,LOADER=cpasync,STORE=warp,CACHE=streaming",
      "ALG=samples,SORT_BLOCK=128,SORT_ITEMS=11,CLUSTER=4,CLUSTERS=7,SAMPLES=256,LOCAL=32",
  };
  static const char *const problems[] = {"n=5000 dtype=u64 keys=7 value=8"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    check_configs(*state, "merge_sort", problems[i], configs, sizeof configs / sizeof *configs);
  }
  static const char *const alone[] = {
      "SORT_BLOCK=64,SORT_ITEMS=8,NETWORK=batcher,LANES=window,MERGE=network,MADS=2,WAYS=4,BLOCK="
      "64,"
      "ITEMS=4",
      "SORT_BLOCK=64,SORT_ITEMS=4,NETWORK=batcher,LANES=bitonic,MERGE=network,MADS=1,WAYS=4,BLOCK="
      "64,"
      "ITEMS=16,PARTITION=block,VEC=4,LOADER=bulk,STAGES=2",
  };
  check_configs(*state, "merge_sort", "n=5003 keys=7", alone, 2);
  check_configs(*state, "merge_sort", "n=8192 dtype=f32", alone, 2);
}

static void segments_are_right(void **state) {
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
  check_configs(*state, "segmented_reduce", "n=5003 segments=70", reduces, 7);
  check_configs(*state, "segmented_scan", "n=5003 segments=70 dtype=f32 kind=exclusive", scans, 7);
  /* through many tiles; none begins in a tile; nothing but empty ones behind the last */
  check_configs(*state, "segmented_reduce", "n=9000 segments=2 dtype=f64", spread, 1);
  check_configs(*state, "segmented_reduce", "n=4096 segments=9000 dtype=i32", spread, 1);
  check_configs(*state, "segmented_scan", "n=9000 segments=2 dtype=i64 op=max", scans + 5, 2);
}

static void reduce_parts_are_right(void **state) {
  static const char *const sums[] = {
      "BLOCK=64,COARSE=1,FINISH=accumulate,LOAD=constant",
      "BLOCK=64,COARSE=1,FINISH=accumulate,CLUSTER=4,FOLD=shared",
      "BLOCK=256,BLOCKS=1,COARSE=2,FINISH=cluster,CLUSTER=8,LOAD=streaming",
      "BLOCK=64,BLOCKS=1,COARSE=2,VEC=2,FINISH=cluster,CLUSTER=16,FOLD=simple"};
  static const char *const most[] = {"BLOCK=64,COARSE=1,FINISH=last_block,CLUSTER=16",
                                     "BLOCK=128,COARSE=2,FINISH=two_launch,CLUSTER=2",
                                     "BLOCK=256,BLOCKS=1,FINISH=cluster,CLUSTER=4,COARSE=2"};
  check_configs(*state, "reduce", "n=20011", sums, sizeof sums / sizeof *sums);
  check_configs(*state, "reduce", "n=15001 op=max dtype=i64", most, sizeof most / sizeof *most);
}

static void histogram_parts_are_right(void **state) {
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
  check_configs(*state, "histogram", "n=20001 bins=1500 span=3001 lower=-1 used=1700", configs,
                sizeof configs / sizeof *configs);
  check_configs(*state, "histogram", "n=4001 bins=41001", apart, sizeof apart / sizeof *apart);
}

/* Counters of 16 bits overflow unless they are emptied in time: the fill is one bin. */
typedef struct part { /* a way to do it, with a problem that it suits */
  const char *problem, *config;
} part;

static void check_parts(bed *b, const char *family, const part *parts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    check_configs(b, family, parts[i].problem, &parts[i].config, 1);
  }
}

/* Every way through tensor.cuh: operands along k or not, held or shared, whole or cut off at the
 * edges, sums over parts of k, and what becomes of an element last. */
static void sgemm_on_tensor_cores_is_right(void **state) {
  static const part parts[] = {
      {"m=256 n=128 k=512 accuracy=fp32", "ALG=tf32x3,EDGE=whole,VEC=4,QUEUE=3"},
      {"m=130 n=67 k=1028 ta=t tb=t accuracy=fp32 bias=row act=gelu",
       "ALG=tf32x3,VEC=1,SWAP=yes,QUEUE=2,PROMOTE=2"},
      {"m=100 n=72 k=524 tb=t accuracy=fp32", "ALG=tf32x3,GROUPS=1,TILE=64,SWAP=yes,VEC=4,QUEUE=2"},
      {"m=130 n=130 k=514 ta=t accuracy=fp32",
       "ALG=tf32x3,GROUPS=3,TILE=96,VEC=2,QUEUE=2,SPLITK=3,FINISH=two_launch"},
      {"m=130 n=130 k=514 accuracy=fp32",
       "ALG=tf32x3,TILE=160,VEC=2,SPLITK=2,FINISH=atomic,QUEUE=2"},
      {"m=256 n=256 k=640 accuracy=tf32", "ALG=tf32,EDGE=whole,VEC=4,QUEUE=4,PROMOTE=8"},
  };
  bed *b = *state;
  if (b->d->info.cc != 90) {
    skip_because("needs a GPU of compute capability 9.0");
  }
  const int64_t sms = set_sms(b, 6); /* large tiles are for large products, elsewhere */
  check_parts(b, "sgemm", parts, sizeof parts / sizeof *parts);
  set_sms(b, sms);
}

/* The same of tensor80.cuh. */
static void sgemm_on_tensor_cores_by_warps_is_right(void **state) {
  static const part parts[] = {
      {"m=256 n=128 k=512 accuracy=fp32", "ALG=tf32x3_mma,EDGE=whole,VEC=4,QUEUE=3"},
      {"m=130 n=67 k=1028 ta=t tb=t accuracy=fp32 bias=row act=gelu",
       "ALG=tf32x3_mma,VEC=1,SWAP=yes,QUEUE=2"},
      {"m=100 n=72 k=524 tb=t accuracy=fp32",
       "ALG=tf32x3_mma,GROUPS=1,TILE=64,SWAP=yes,VEC=4,QUEUE=2"},
      {"m=130 n=130 k=514 ta=t accuracy=fp32",
       "ALG=tf32x3_mma,GROUPS=3,TILE=96,VEC=2,QUEUE=2,SPLITK=3,FINISH=last_block"},
  };
  bed *b = *state;
  if (b->d->info.cc < 80) {
    skip_because("needs a GPU of compute capability 8.0");
  }
  const int64_t sms = set_sms(b, 6);
  check_parts(b, "sgemm", parts, sizeof parts / sizeof *parts);
  set_sms(b, sms);
}

static void sgemm_loading_warps_are_right(void **state) {
  static const part parts[] = {
      {"m=256 n=128 k=72", "BM=256,BN=128,TM=16,TN=8,ORDER=snake,STORE=4,LM=8,LANES=rows,BK=8,EDGE="
                           "whole,UNROLL=8,VEC=4,PAD=4,LOADER=warps,STAGES=3,KLANES=8"},
      {"m=132 n=116 k=76 ta=t",
       "BM=128,BN=128,TM=8,TN=8,ORDER=snake,STORE=4,LM=4,LANES=interleaved,SPLITK=2,FINISH=two_"
       "launch,VEC=4,PAD=4,LOADER=warps,STAGES=2,KLANES=8"},
      {"m=129 n=119 k=74 tb=t", "BM=128,BN=128,TM=8,TN=8,STORE=1,LM=8,LANES=rows,SPLITK=2,FINISH="
                                "atomic,VEC=1,LOADER=warps,STAGES=2"},
      {"m=129 n=119 k=74", "BM=128,BN=128,TM=8,TN=8,STORE=1,LM=8,LANES=rows,PUT=lean,VEC=1,PAD=4,"
                           "LOADER=warps,STAGES=2,KLANES=8"},
      {"m=384 n=128 k=44 tb=t",
       "BM=128,BN=128,TM=16,TN=8,ORDER=columns,STORE=4,LM=4,LANES=rows,EDGE=k,MINBLOCKS=2,VEC=4,"
       "LOADER=warps,STAGES=3"},
      {"m=64 n=32 k=44", "BM=32,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES=rows,BK=8,EDGE=k,UNROLL=8,VEC=4,"
                         "PAD=4,LOADER=cpasync,STAGES=3,KLANES=8"},
  };
  bed *b = *state;
  if (b->d->info.cc != 90) {
    skip_because("needs a GPU of compute capability 9.0");
  }
  const int64_t sms = set_sms(b, 2); /* large tiles are for large products, elsewhere */
  check_parts(b, "sgemm", parts, sizeof parts / sizeof *parts);
  set_sms(b, sms);
}

/* Tensor maps of operands along k and across, packed or not; blocks that share the last wave's k.
 */
static void sgemm_maps_and_streams_are_right(void **state) {
  static const part parts[] = {
      {"m=260 n=116 k=76", "LOADER=tensor,BM=128,BN=64,TM=8,TN=8,ORDER=columns,STORE=4,LM=8,"
                           "LANES=rows,BK=8,UNROLL=8,MINBLOCKS=2,VEC=4,STAGES=3"},
      {"m=260 n=116 k=76 tb=t",
       "LOADER=tensor,PUT=lean,BM=128,BN=64,TM=8,TN=8,ORDER=columns,STORE=4,LM=8,"
       "LANES=rows,BK=8,UNROLL=8,MINBLOCKS=2,VEC=4,STAGES=3"},
      {"m=260 n=116 k=76 ta=t", "LOADER=tensor,SCHEDULE=stream,BM=128,BN=128,TM=8,TN=8,ORDER=snake,"
                                "LM=4,LANES=interleaved,BK=16,VEC=4,STAGES=3"},
      {"m=640 n=116 k=76 ta=t tb=t",
       "LOADER=tensor,SCHEDULE=stream,BM=128,BN=128,TM=8,TN=8,"
       "ORDER=columns,LM=8,LANES=rows,BK=32,UNROLL=32,VEC=4,STAGES=2"},
      {"m=259 n=15 k=77 tb=t", "LOADER=tensor,PACK=yes,SCHEDULE=stream,BM=256,BN=16,TM=8,TN=4,LM=8,"
                               "LANES=rows,BK=16,MINBLOCKS=2,STAGES=3"},
      {"m=129 n=119 k=74 ta=t", "LOADER=tensor,PACK=yes,BM=128,BN=128,TM=8,TN=8,ORDER=columns,LM=8,"
                                "LANES=rows,SPLITK=2,FINISH=atomic,VEC=2,STAGES=2"},
      /* One operand is aligned and stays where it is, along k; the other is packed. */
      {"m=35 n=260 k=76", "LOADER=tensor,PACK=unaligned,BM=48,BN=128,TM=12,TN=4,LM=4,LANES="
                          "interleaved,BK=16,MINBLOCKS=2,VEC=1,STAGES=3"},
      {"m=260 n=67 k=76 ta=t tb=t",
       "LOADER=tensor,PACK=unaligned,BM=128,BN=64,TM=8,TN=8,LM=8,LANES="
       "rows,BK=32,UNROLL=32,MINBLOCKS=2,VEC=1,STAGES=2"},
      {"m=35 n=260 k=76 ta=t", "LOADER=tensor,BM=48,BN=128,TM=12,TN=4,LM=4,LANES=interleaved,BK=16,"
                               "MINBLOCKS=2,VEC=4,STAGES=3"},
      {"m=180 n=20 k=70", "LOADER=cpasync,SCHEDULE=stream,BM=64,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES="
                          "interleaved,SLICEK=2,UNROLL=8,VEC=2,PAD=4,STAGES=3"},
      {"m=300 n=20 k=20", "LOADER=cpasync,SCHEDULE=stream,BM=64,BN=32,TM=4,TN=4,STORE=4,LM=8,LANES="
                          "interleaved,VEC=4,PAD=4,STAGES=2"},
      {"m=129 n=119 k=74", "LOADER=register,SCHEDULE=stream,BM=64,BN=128,TM=8,TN=8,LM=4,LANES=rows,"
                           "PAD=4,STAGES=2"},
      {"m=260 n=116 k=76 tb=t",
       "LOADER=warps,SCHEDULE=stream,BM=128,BN=128,TM=8,TN=8,ORDER=snake,STORE=4,LM=4,LANES=rows,"
       "BK=8,UNROLL=8,VEC=4,STAGES=3"},
      {"m=260 n=116 k=76",
       "LOADER=tensor,PACK=yes,SCHEDULE=stream,BM=128,BN=128,TM=8,TN=8,ORDER=snake,STORE=4,LM=4,"
       "LANES=interleaved,BK=16,VEC=4,STAGES=3"},
  };
  bed *b = *state;
  if (b->d->info.cc != 90) {
    skip_because("needs a GPU of compute capability 9.0");
  }
  const int64_t sms = set_sms(b, 2); /* so that blocks have several tiles */
  check_parts(b, "sgemm", parts, sizeof parts / sizeof *parts);
  set_sms(b, sms);
}

/* C in whole sectors where its rows are not aligned, incomplete tiles along k, strips of A. */
static void sgemm_writes_lean_and_in_strips(void **state) {
  static const part parts[] = {
      {"m=131 n=70 k=19", "LOADER=cpasync,PUT=lean,HEAD=exact,BM=64,BN=64,TM=4,TN=8,LM=16,LANES="
                          "interleaved,BK=8,UNROLL=8,PAD=4,STAGES=3,KLANES=8,FRAGMENTS=2"},
      {"m=134 n=70 k=37 ta=t tb=t", "PUT=lean,HEAD=exact,BM=64,BN=64,TM=8,TN=4,STORE=2,LM=8,LANES="
                                    "interleaved,BK=16,PAD=4,STAGES=2,KLANES=8"},
      {"m=132 n=40 k=200 tb=t align=1 align_a=4 align_b=4",
       "LOADER=cpasync,PUT=lean,BM=128,BN=32,TM=4,TN=8,LM=32,LANES=rows,BK=16,SPLITK=2,FINISH=two_"
       "launch,STAGES=2"},
      {"m=67 n=70 k=200 bias=row act=relu", "PUT=lean,BM=64,BN=64,TM=8,TN=8,LM=4,LANES=rows,PAD=4,"
                                            "SPLITK=2,STAGES=2"},
      {"m=259 n=119 k=74", "SCHEDULE=stream,PUT=lean,BM=64,BN=128,TM=8,TN=8,LM=8,LANES=rows,PAD=4,"
                           "STAGES=2"},
      {"m=131 n=150 k=19 bias=row scale=column",
       "SCHEDULE=strips,LOADER=cpasync,PUT=lean,BM=64,BN=64,TM=4,TN=8,LM=16,LANES=interleaved,BK=8,"
       "UNROLL=4,PAD=4,STAGES=2,KLANES=8"},
      {"m=134 n=150 k=37 ta=t tb=t",
       "SCHEDULE=strips,LOADER=cpasync,PUT=lean,BM=64,BN=64,TM=8,TN=8,STORE=2,LM=8,LANES=rows,BK="
       "16,UNROLL=8,PAD=4,STAGES=2,KLANES=16,MINBLOCKS=2"},
      {"m=132 n=148 k=16 tb=t",
       "SCHEDULE=strips,LOADER=cpasync,PUT=lean,BM=64,BN=64,TM=8,TN=4,STORE=4"
       ",LM=8,LANES=interleaved,BK=8,UNROLL=8,VEC=4,STAGES=2"},
  };
  bed *b = *state;
  if (b->d->info.cc < 80) {
    skip_because("needs a GPU of compute capability 8.0");
  }
  const int64_t sms = set_sms(b, 2); /* so that blocks have several tiles */
  check_parts(b, "sgemm", parts, sizeof parts / sizeof *parts);
  set_sms(b, sms);
}

static void gemm_parts_are_right(void **state) {
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
  check_parts(*state, "gemm", parts, sizeof parts / sizeof *parts);
}

static void gemm_batched_parts_are_right(void **state) {
  static const part parts[] = {
      {"m=16 batch=53 ta=t", "PM=4,PN=4,GROUP=8,ALG=shared,UNROLL=16,KV=4,PAD=4,SKEW=4,VEC=4,"
                             "LOADER=cpasync,BLOCKS=1,STAGES=3,STORE=direct"},
      {"m=16 batch=53 ta=t tb=t layout=strided",
       "PM=8,PN=2,GROUP=4,ALG=shared,UNROLL=16,KV=1,PAD=1,VEC=1,LOADER=cpasync,BLOCKS=2,STAGES=2,"
       "STORE=shared"},
      {"m=16 batch=53", "PM=4,PN=4,GROUP=4,ALG=shared,UNROLL=16,KV=2,VEC=4,BLOCKS=1,STORE=shared"},
      /* vectors of C across columns and matrices, and a last group that ends within one */
      {"m=7 n=5 k=3 batch=53 scale=row bias=column act=relu",
       "PM=7,PN=5,GROUP=4,ALG=shared,UNROLL=4,VEC=4,LOADER=cpasync,BLOCKS=2,STAGES=2,STORE=shared"},
      {"m=16 batch=53 ta=t", "PM=2,PN=8,GROUP=8,ALG=direct,UNROLL=16,KV=4,BLOCKS=1,STORE=direct"},
      {"m=16 batch=53 tb=t layout=pointers",
       "PM=16,PN=16,GROUP=1,ALG=direct,EXACT=0,KV=1,UNROLL=4,STORE=shared"},
      {"m=40 k=32 batch=9", "PM=8,PN=8,GROUP=2,ALG=shared,SLICE=16,UNROLL=16,KV=2,PAD=2,VEC=2,"
                            "LOADER=cpasync,BLOCKS=1,STAGES=3,STORE=direct"},
      {"m=40 k=32 batch=9 ta=t layout=strided",
       "PM=8,PN=8,GROUP=1,ALG=shared,SLICE=8,UNROLL=8,KV=4,PAD=4,VEC=4,STORE=shared"}};
  bed *b = *state;
  int64_t before = set_sms(b, 2); /* so that blocks go on to further groups */
  check_parts(b, "gemm_batched", parts, sizeof parts / sizeof *parts);
  set_sms(b, before);
}

/* Of a last wave with fewer tiles along k than blocks, some blocks would have no part, and the
 * others would wait for them to arrive. */
static void sgemm_streams_have_parts_for_all(void **state) {
  static const char config[] =
      "SCHEDULE=stream,BM=32,BN=32,TM=4,TN=4,STORE=1,LM=8,LANES=rows,PAD=4,"
      "MINBLOCKS=2,STAGES=2";
  bed *b = *state;
  const int64_t sms = set_sms(b, 3); /* six blocks at a time */
  for (int k = 80; k <= 96; k += 16) {
    char problem[64];
    snprintf(problem, sizeof problem, "m=31 n=223 k=%d", k); /* seven tiles */
    subject s = open_subject(b, NULL, "sgemm", problem);
    gen_config c;
    assert_ok(gen_config_parse(s.t, config, &c, &b->e), &b->e);
    if (k == 80) {
      assert_fails(gen_config_check(s.g, &c, &b->e), &b->e, ERR_USAGE, "fewer tiles along k");
    } else {
      assert_ok(gen_config_check(s.g, &c, &b->e), &b->e);
    }
    close_subject(&s);
  }
  const char *const one = config;
  check_configs(b, "sgemm", "m=31 n=223 k=96", &one, 1);
  set_sms(b, sms);
}

/* A matrix and vectors: which operand is which, contiguous along the sum or not, vectors that C has
 * not, parts of k, and what of the vectors is read at once. */
static void sgemm_of_vectors_is_right(void **state) {
  static const part parts[] = {
      {"m=300 n=1 k=260", "VEC=4,VECTORS=1,BLOCK=64,LX=16,LOADS=2,LINES=4,BLOCKS=1,AHEAD=1"},
      {"m=301 n=3 k=270 tb=t", "VEC=1,VECTORS=4,BLOCK=128,LX=32,LOADS=1,LINES=2,BLOCKS=4,X=shared,"
                               "FINISH=atomic"},
      {"m=300 n=7 k=260 bias=column act=relu",
       "VEC=4,VECTORS=8,BLOCK=256,LX=16,LOADS=1,LINES=2,BLOCKS=4,X=shared,LOAD=plain"},
      {"m=64 n=5 k=300 tb=t", "VEC=4,VECTORS=8,BLOCK=64,LX=16,LOADS=1,LINES=1,BLOCKS=4,AHEAD=1"},
      {"m=130 n=2 k=1030 ta=t", "VEC=2,VECTORS=2,BLOCK=128,LX=64,LOADS=2,LINES=4,BLOCKS=1"},
      {"m=130 n=6 k=1032 ta=t tb=t scale=row",
       "VEC=4,VECTORS=8,BLOCK=64,LX=8,LOADS=1,LINES=2,BLOCKS=3,AHEAD=1,X=shared"},
      {"m=1 n=99 k=1500 ta=t align_a=1",
       "SWAP=yes,VEC=4,VECTORS=1,BLOCK=128,LX=128,LOADS=1,LINES=2,"
       "BLOCKS=1,X=shared"},
      {"m=1 n=299 k=1500", "SWAP=yes,VEC=4,VECTORS=1,BLOCK=128,LX=128,LOADS=1,LINES=2,BLOCKS=1,"
                           "AHEAD=1"},
      {"m=3 n=300 k=257 ta=t tb=t bias=row",
       "SWAP=yes,VEC=4,VECTORS=4,BLOCK=64,LX=32,LOADS=1,LINES=2,BLOCKS=4,X=shared"},
      {"m=2 n=30 k=1000 ta=t", "SWAP=yes,VEC=4,VECTORS=2,BLOCK=64,LX=32,LOADS=1,LINES=2,BLOCKS=4,"
                               "FINISH=atomic,LOAD=plain"},
  };
  bed *b = *state;
  const int64_t sms = set_sms(b, 8); /* so that not every k is split */
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char config[200];
    const char *const one = config;
    snprintf(config, sizeof config, "ALG=gemv,%s", parts[i].config);
    check_configs(b, "sgemm", parts[i].problem, &one, 1);
  }
  set_sms(b, sms);
}

static void gemv_parts_are_right(void **state) {
  static const part parts[] = {
      {"m=1100 n=300", "BLOCK=64,LX=8,VEC=4,ROWS=2,COLS=2,AHEAD=1,X=shared,BLOCKS=1"},
      {"m=1100 n=300",
       "BLOCK=128,LX=64,VEC=4,ROWS=1,COLS=4,LOAD=streaming,BLOCKS=1,FINISH=two_launch"},
      {"m=901 n=203 unit=0", "BLOCK=128,LX=64,VEC=1,ROWS=1,COLS=2,BLOCKS=2,FINISH=atomic"},
      {"m=5000 n=100 trans=t", "BLOCK=256,LX=16,VEC=4,ROWS=1,COLS=2,X=shared,BLOCKS=1,"
                               "FINISH=atomic"},
      {"m=5000 n=100 trans=t", "BLOCK=64,LX=32,VEC=4,ROWS=4,COLS=1,AHEAD=1,LOAD=second,BLOCKS=1,"
                               "FINISH=two_launch"},
      {"m=901 n=203 unit=0 trans=t", "BLOCK=64,LX=8,VEC=1,ROWS=2,COLS=4,AHEAD=1,X=shared,BLOCKS=1"},
  };
  check_parts(*state, "gemv", parts, sizeof parts / sizeof *parts);
}

static void gemv_clusters_are_right(void **state) {
  static const part parts[] = {
      {"m=1100 n=300",
       "BLOCK=64,LX=8,VEC=4,ROWS=2,COLS=2,AHEAD=1,X=shared,FINISH=cluster,CLUSTER=4"},
      {"m=900 n=203 trans=t bias=row act=relu",
       "BLOCK=64,LX=16,VEC=4,ROWS=1,COLS=2,FINISH=cluster,CLUSTER=8"},
  };
  bed *b = *state;
  if (b->d->info.cc < 90) {
    skip_because("needs a GPU of compute capability 9.0");
  }
  check_parts(b, "gemv", parts, sizeof parts / sizeof *parts);
}

static void histogram_counters_are_emptied(void **state) {
  static const char *const configs[] = {
      "ALG=shared,COUNTER=16,BLOCK=1024,BLOCKS=1,VEC=4,COARSE=8,FINISH=atomic",
      "ALG=shared,COUNTER=16,BLOCK=1024,BLOCKS=1,VEC=4,COARSE=8,FINISH=two_launch,AGGREGATE=run"};
  bed *b = *state;
  int64_t before = set_sms(b, 1); /* so that one block counts them all */
  check_configs(b, "histogram", "n=200003 bins=1024 used=1", configs,
                sizeof configs / sizeof *configs);
  set_sms(b, before);
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static void sgemm_has_a_space(void **state) {
  bed *b = *state;
  gen_space *space;
  subject s = open_subject(b, NULL, "sgemm", "m=4096 n=4096 k=4096");
  assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
  assert_in_range(gen_space_count(space), 20001, 2000000);
  gen_space_free(space);
  close_subject(&s);
}

static const struct {
  const char *family, *problem;
} extremes[] = {
    {"saxpy", "n=0"},
    {"saxpy", "n=2^36"},
    {"saxpy", "n=3"},
    {"argmax", "n=0"},
    {"argmax", "n=2^36 op=min dtype=f64 align=1"},
    {"reduce", "n=2^36 op=product dtype=bf16 align=1 order=fixed"},
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
    {"copy", "n=0 size=16 op=fill align=1"},
    {"copy", "n=2^36 size=16"},
};

/* The default has to serve any problem on any device, down to a small old one. */
static void defaults_are_always_valid(void **state) {
  bed *b = *state;
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
    subject s = open_subject(b, NULL, extremes[i].family, extremes[i].problem);
    gen_config c;
    gen_config_default(s.t, &c);
    assert_ok(gen_config_check(s.g, &c, &b->e), &b->e);
    close_subject(&s);
  }
  rt_numbers(&b->d->info, b->limits);
}

/* Large configurations, which the emulator would take long to run, build. */
static void samples_build(void **state) {
  static const char *const problems[] = {"m=4096", "m=1023 ta=t", "m=1760 n=16 k=1760 tb=t"};
  bed *b = *state;
  if (!b->c) {
    skip_because("no NVRTC");
  }
  for (size_t i = 0; i < SAMPLE_BUILD; i++) {
    subject s = open_subject(b, NULL, "sgemm", problems[i % 3]);
    gen_space *space;
    gen_config c;
    rt_image image;
    assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
    gen_space_at(space, draw(b, gen_space_count(space)), &c);
    build(b, &s, &c, "sm_90a", 1, &image);
    assert_true(image.n_kernels >= 1);
    for (size_t k = 0; k < image.n_kernels; k++) {
      assert_in_range(image.kernels[k].regs, 1, 255);
      assert_true(image.kernels[k].smem_static <= 48 << 10);
    }
    rt_image_clear(&image);
    gen_space_free(space);
    close_subject(&s);
  }
}

/* ---- the tests can fail ---------------------------------------------------------------------- */

/* The file that has this text: the family's own, or else one that families include. */
static const char *file_with(bed *b, const char *family, const char *text) {
  const char *own = arena_format(&b->a, "%s.lua", family), *shared = NULL;
  for (const gen_file *f = gen_builtin; f->name; f++) {
    const bool has = strstr(f->text, text) != NULL;
    if (has && !strcmp(f->name, own)) {
      return own;
    }
    shared = has && strstr(f->name, ".cuh") ? f->name : shared;
  }
  return shared;
}

/* The family's text with one thing replaced, in a folder of its own. */
static void write_broken(bed *b, const char *folder, const char *family, const char *from,
                         const char *to) {
  const char *broken = file_with(b, family, from);
  assert_non_null(broken);
  for (const gen_file *f = gen_builtin; f->name; f++) {
    const char *at = strstr(f->text, from);
    char *path = arena_format(&b->a, "%s/%s", folder, f->name);
    char *text = arena_text(&b->a, f->text);
    if (!strcmp(f->name, broken)) {
      text = arena_format(&b->a, "%.*s%s%s", (int)(at - f->text), f->text, to, at + strlen(from));
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
  }
}

static void remove_broken(bed *b, const char *folder) {
  for (const gen_file *f = gen_builtin; f->name; f++) {
    assert_int_equal(unlink(arena_format(&b->a, "%s/%s", folder, f->name)), 0);
  }
  assert_int_equal(rmdir(folder), 0);
}

static int check_broken(bed *b, const char *family, const char *problem, const char *from,
                        const char *to) {
  char folder[] = "/tmp/templates-XXXXXX";
  assert_non_null(mkdtemp(folder));
  write_broken(b, folder, family, from, to);
  const char *folders[] = {folder};
  gen_options o = {.folders = folders, .n_folders = 1};
  subject s = open_subject(b, &o, family, problem);
  rt_bench *bench;
  gen_config c;
  gen_config_default(s.t, &c);
  assert_ok(rt_bench_new(b->d, b->c, b->tools, s.t, s.g, &bench, &b->e), &b->e);
  int rc = check(b, &s, bench, &c, 0);
  rt_bench_free(bench);
  close_subject(&s);
  remove_broken(b, folder);
  return rc;
}

/* Positions of more than 30 bits are other code, which keys in such numbers would take too long. */
static void radix_sort_has_wide_positions(void **state) {
  bed *b = *state;
  if (!b->c) {
    skip_because("no NVRTC");
  }
  assert_ok(check_broken(b, "radix_sort", "n=3001 value_bytes=4", "sel(n < 2^30, 0, 1)", "1"),
            &b->e);
}

/* A line of a template, what it becomes, and where the check sees it. */
static const struct {
  const char *family, *problem, *right, *wrong, *place;
} mistakes[] = {
    /* the tolerance has no room for a product or an element left out */
    {"sgemm", "m=20 n=20 k=50", "alpha == 0 ? 0 : k;", "alpha == 0 || k == 0 ? 0 : k - 1;", "C["},
    {"reduce", "n=1000", "if (i + c * BLOCK < vectors)", "if (i + c * BLOCK + 1 < vectors)", "y["},
    {"scan", "n=3000", "combine(warp > 0 ? before", "combine(warp > 1 ? before", "y["},
    {"segmented_reduce", "n=1000 segments=30",
     "i * VEC < s.end; i +=", "i * VEC + 1 < s.end; i +=", "y["},
    {"segmented_scan", "n=1000 segments=30", "sum = combine(sum, (wide)total)", "sum = (wide)total",
     "y["},
    {"histogram", "n=1000", "if (counts(bin)) add", "if (bin > 0) add", "y["},
    {"argmax", "n=5000 dtype=i32 keys=20", "x.at < y.at :", "x.at > y.at :", "y["},
    {"merge", "m=1000 value=4 keys=9", "b_first + source - a_count]",
     "b_first + (source - a_count) / 2]", "cv["},
    {"merge_sort", "n=9000", "t.start + i * run + from.of[i],",
     "t.start + i * run + from.of[i] / 2 * 2,", "y["},
    {"transpose", "rows=40 cols=33", "* cols + column));", "* cols + column / 2 * 2));", "y["},
    {"radix_sort", "n=1000", "(1u << max(bits, 0)) - 1", "(1u << max(bits - 1, 0)) - 1",
     "keys_out["},
    /* equal keys that change places */
    {"radix_sort", "n=1000 value_bytes=4 words=64", "each(i, r);",
     "each(i, same == 0xffffffff ? ((r - 1) ^ 1) + 1 : r);", "values_out["},
    {"segmented_sort", "n=900 segments=40", "lanes <= LANES", "lanes < LANES", "keys_out["},
    {"segmented_sort", "n=9000 segments=2", "t.tile > 0 ? look_back(own + bin, t.tile, epoch) :",
     "t.tile > 1 ? look_back(own + bin, t.tile, epoch) :", "keys_out["},
    {"copy", "n=1001 size=1", "if (i < units)", "if (i + 1 < units)", "y["},
    {"gemm_batched", "m=6 batch=9", "for (int p = 0; p < @{", "for (int p = KV; p < @{", "C["},
    {"gemm", "m=20 n=20 k=50", "p + y < k ? widen(A", "p + y + 1 < k ? widen(A", "C["},
    {"gemm", "m=20 n=20 k=5", "beta == 0 ? output() : *to", "*to", "C["},
    {"gemm_batched", "m=6 batch=9", "if (beta != 0) v = *to", "v = *to", "C["},
    {"gemv", "m=40 n=50", "alpha == 0 ? 0 : depth,", "alpha == 0 ? 0 : depth - 1,", "y["},
    {"gemv", "m=40 n=50", "{(wide)alpha, (wide)beta,", "{(wide)alpha, (wide)beta + 1,", "y["},
    /* with beta 0, C is not read: it may hold anything */
    {"sgemm", "m=20 n=20 k=5", "if (beta != 0) v =", "v =", "C["},
};

static void mistakes_are_found(void **state) {
  bed *b = *state;
  if (!b->c) {
    skip_because("no NVRTC");
  }
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    assert_fails(check_broken(b, mistakes[i].family, mistakes[i].problem, mistakes[i].right,
                              mistakes[i].wrong),
                 &b->e, ERR_WRONG, mistakes[i].place);
  }
}

int main(int argc, char **argv) {
  bed b = {.device_name = device_argument(argc, argv, "emu"), .random = 1};
  cmocka_set_test_filter(getenv("TEST_FILTER")); /* TEST_FILTER="sgemm*": minutes are seconds */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(every_family_is_tested, &b),
      cmocka_unit_test_prestate(defaults_are_always_valid, &b),
      cmocka_unit_test_prestate(sgemm_has_a_space, &b),
      cmocka_unit_test_prestate(argmax_is_right, &b),
      cmocka_unit_test_prestate(copy_is_right, &b),
      cmocka_unit_test_prestate(gemm_is_right, &b),
      cmocka_unit_test_prestate(gemm_batched_is_right, &b),
      cmocka_unit_test_prestate(gemv_is_right, &b),
      cmocka_unit_test_prestate(histogram_is_right, &b),
      cmocka_unit_test_prestate(radix_sort_is_right, &b),
      cmocka_unit_test_prestate(segmented_sort_is_right, &b),
      cmocka_unit_test_prestate(merge_is_right, &b),
      cmocka_unit_test_prestate(merge_sort_is_right, &b),
      cmocka_unit_test_prestate(reduce_is_right, &b),
      cmocka_unit_test_prestate(saxpy_is_right, &b),
      cmocka_unit_test_prestate(scan_is_right, &b),
      cmocka_unit_test_prestate(segmented_reduce_is_right, &b),
      cmocka_unit_test_prestate(segmented_scan_is_right, &b),
      cmocka_unit_test_prestate(sgemm_is_right, &b),
      cmocka_unit_test_prestate(transpose_is_right, &b),
      cmocka_unit_test_prestate(sgemm_parts_are_right, &b),
      cmocka_unit_test_prestate(gemm_warpgroups_are_right, &b),
      cmocka_unit_test_prestate(sgemm_on_tensor_cores_is_right, &b),
      cmocka_unit_test_prestate(sgemm_on_tensor_cores_by_warps_is_right, &b),
      cmocka_unit_test_prestate(sgemm_loading_warps_are_right, &b),
      cmocka_unit_test_prestate(sgemm_maps_and_streams_are_right, &b),
      cmocka_unit_test_prestate(sgemm_writes_lean_and_in_strips, &b),
      cmocka_unit_test_prestate(scan_parts_are_right, &b),
      cmocka_unit_test_prestate(merge_parts_are_right, &b),
      cmocka_unit_test_prestate(merge_sort_parts_are_right, &b),
      cmocka_unit_test_prestate(segments_are_right, &b),
      cmocka_unit_test_prestate(reduce_parts_are_right, &b),
      cmocka_unit_test_prestate(histogram_parts_are_right, &b),
      cmocka_unit_test_prestate(gemm_parts_are_right, &b),
      cmocka_unit_test_prestate(gemm_batched_parts_are_right, &b),
      cmocka_unit_test_prestate(sgemm_streams_have_parts_for_all, &b),
      cmocka_unit_test_prestate(sgemm_of_vectors_is_right, &b),
      cmocka_unit_test_prestate(sgemm_is_suggested, &b),
      cmocka_unit_test_prestate(gemv_parts_are_right, &b),
      cmocka_unit_test_prestate(gemv_clusters_are_right, &b),
      cmocka_unit_test_prestate(histogram_counters_are_emptied, &b),
      cmocka_unit_test_prestate(samples_build, &b),
      cmocka_unit_test_prestate(radix_sort_has_wide_positions, &b),
      cmocka_unit_test_prestate(mistakes_are_found, &b),
  };
  if (open_bed(&b)) {
    fprintf(stderr, "%s\n", b.e.message);
    return 1;
  }
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  close_bed(&b);
  return failed;
}
