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
#include "gen.h"
#include "run.h"

enum { SAMPLE_EMU = 5, SAMPLE_GPU = 40, SAMPLE_BUILD = 6 };

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
  TRY(rt_device_open(b->device_name, &b->d, &b->e));
  rt_numbers(&b->d->info, b->limits);
  if (rt_compiler_open(&b->c, &b->e)) {
    printf("no compiler: %s\n", b->e.message);
    err_clear(&b->e);
    return 0;
  }
  return rt_tools_new(b->d, b->c, &b->tools, &b->e);
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

/* ---- from a configuration to a verdict
 * ------------------------------------------------------------ */

static void build(bed *b, subject *s, const gen_config *c, const char *arch, rt_image *image) {
  str text = {0};
  size_t body;
  assert_ok(gen_source_make(s->g, c, &text, &body, &b->e), &b->e);
  rt_source source = {.text = str_text(&text), .body = body, .arch = arch, .lineinfo = 1};
  rt_image_init(image);
  if (rt_compile(b->c, &source, &b->a, image, &b->e)) {
    fail_msg("%.400s\n%s (%s)", str_text(&text), b->e.message, b->e.place);
  }
  str_clear(&text);
}

static int check(bed *b, subject *s, rt_bench *bench, const gen_config *c) {
  rt_image image;
  rt_loaded *l;
  rt_check verdict;
  const gen_plan *plan;
  build(b, s, c, b->d->info.arch, &image);
  const str *code = b->d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  assert_ok(gen_plan_make(s->g, c, &b->a, &plan, &b->e), &b->e);
  assert_ok(rt_loaded_new(b->d, code->p, code->n, s->t, plan, &l, &b->e), &b->e);
  int rc = rt_bench_check(bench, l, &verdict, &b->e);
  rt_loaded_free(l);
  rt_image_clear(&image);
  return rc;
}

static void assert_right(bed *b, subject *s, rt_bench *bench, const gen_problem *p,
                         const gen_config *c) {
  if (!check(b, s, bench, c)) {
    return;
  }
  str words = {0};
  gen_problem_text(s->t, p, &words);
  str_add(&words, " --config ");
  gen_config_text(s->t, c, &words);
  fail_msg("%s: %s %s", str_text(&words), b->e.message, b->e.place);
}

/* The default, then points drawn from the space. */
static void check_problem(bed *b, const char *family, const char *problem, size_t n_points) {
  subject s = open_subject(b, NULL, family, problem);
  gen_problem p;
  gen_config c;
  gen_space *space;
  rt_bench *bench;
  assert_ok(gen_problem_parse(s.t, problem, &p, &b->e), &b->e);
  assert_ok(rt_bench_new(b->d, b->c, b->tools, s.t, s.g, &bench, &b->e), &b->e);
  assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
  gen_config_default(s.t, &c);
  assert_right(b, &s, bench, &p, &c);
  for (size_t i = 0; i < n_points; i++) {
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
    skip();
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

static void saxpy_is_right(void **state) {
  check_family(*state, "saxpy");
}
static void reduce_is_right(void **state) {
  check_family(*state, "reduce");
}
static void sgemm_is_right(void **state) {
  check_family(*state, "sgemm");
}

/* A family without a test above is no accident of the alphabet. */
static void every_family_is_tested(void **state) {
  static const char *const tested[] = {"reduce", "saxpy", "sgemm"};
  bed *b = *state;
  const char *const *names;
  size_t n;
  assert_ok(gen_families(NULL, &b->a, &names, &n, &b->e), &b->e);
  assert_int_equal(n, sizeof tested / sizeof *tested);
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(names[i], tested[i]);
  }
}

/* Every way to finish and to load, by name: the samples above may miss one. */
static void sgemm_parts_are_right(void **state) {
  static const char *const problem = "m=72 n=40 k=260 ta=t align=4";
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
  bed *b = *state;
  if (!b->c) {
    skip();
  }
  subject s = open_subject(b, NULL, "sgemm", problem);
  gen_problem p;
  gen_config c;
  rt_bench *bench;
  assert_ok(gen_problem_parse(s.t, problem, &p, &b->e), &b->e);
  assert_ok(rt_bench_new(b->d, b->c, b->tools, s.t, s.g, &bench, &b->e), &b->e);
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    assert_ok(gen_config_parse(s.t, configs[i], &c, &b->e), &b->e);
    assert_ok(gen_config_check(s.g, &c, &b->e), &b->e);
    assert_right(b, &s, bench, &p, &c);
  }
  rt_bench_free(bench);
  close_subject(&s);
}

/* ---- spaces
 * ------------------------------------------------------------------------------------------ */

static void sgemm_has_a_space(void **state) {
  bed *b = *state;
  gen_space *space;
  subject s = open_subject(b, NULL, "sgemm", "m=4096 n=4096 k=4096");
  assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
  assert_in_range(gen_space_count(space), 20001, 2000000);
  gen_space_free(space);
  close_subject(&s);
}

/* The default has to serve any problem on any device, down to a small old one. */
static void defaults_are_always_valid(void **state) {
  static const struct {
    const char *family, *problem;
  } cases[] = {
      {"saxpy", "n=0"},
      {"saxpy", "n=2^36"},
      {"saxpy", "n=3"},
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
  };
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
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    subject s = open_subject(b, NULL, cases[i].family, cases[i].problem);
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
    skip();
  }
  for (size_t i = 0; i < SAMPLE_BUILD; i++) {
    subject s = open_subject(b, NULL, "sgemm", problems[i % 3]);
    gen_space *space;
    gen_config c;
    rt_image image;
    assert_ok(gen_space_new(s.g, &space, &b->e), &b->e);
    gen_space_at(space, draw(b, gen_space_count(space)), &c);
    build(b, &s, &c, "sm_90", &image);
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

/* ---- the tests can fail
 * --------------------------------------------------------------------------------- */

/* The family's text with one thing replaced, in a folder of its own. */
static void write_broken(bed *b, const char *folder, const char *family, const char *from,
                         const char *to) {
  for (const gen_file *f = gen_builtin; f->name; f++) {
    const char *at = strstr(f->text, from);
    char *path = arena_format(&b->a, "%s/%s", folder, f->name);
    char *text = arena_text(&b->a, f->text);
    if (!strncmp(f->name, family, strlen(family))) {
      assert_non_null(at);
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
  int rc = check(b, &s, bench, &c);
  rt_bench_free(bench);
  close_subject(&s);
  remove_broken(b, folder);
  return rc;
}

static void mistakes_are_found(void **state) {
  bed *b = *state;
  if (!b->c) {
    skip();
  }
  /* the tolerance has no room for a product or an element left out */
  assert_fails(check_broken(b, "sgemm", "m=20 n=20 k=50", "alpha == 0 ? 0 : k;",
                            "alpha == 0 || k == 0 ? 0 : k - 1;"),
               &b->e, ERR_WRONG, "C[");
  assert_fails(check_broken(b, "reduce", "n=1000", "if (i + c * BLOCK < vectors)",
                            "if (i + c * BLOCK + 1 < vectors)"),
               &b->e, ERR_WRONG, "y[");
  /* with beta 0, C is not read: it may hold anything */
  assert_fails(check_broken(b, "sgemm", "m=20 n=20 k=5", "if (beta != 0) v =", "v ="), &b->e,
               ERR_WRONG, "C[");
}

int main(int argc, char **argv) {
  bed b = {.device_name = device_argument(argc, argv, "emu"), .random = 1};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(every_family_is_tested, &b),
      cmocka_unit_test_prestate(defaults_are_always_valid, &b),
      cmocka_unit_test_prestate(sgemm_has_a_space, &b),
      cmocka_unit_test_prestate(saxpy_is_right, &b),
      cmocka_unit_test_prestate(reduce_is_right, &b),
      cmocka_unit_test_prestate(sgemm_is_right, &b),
      cmocka_unit_test_prestate(sgemm_parts_are_right, &b),
      cmocka_unit_test_prestate(samples_build, &b),
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
