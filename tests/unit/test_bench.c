/* test_bench.c -- suites, contenders and peers, and the numbers that bench and compare print. The
 * peers here are fakes on the emulated device; device/peer_builds.c compiles the real ones. */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "gen_tmpl.h"
#include "bench_case.h"
#include "bench_report.h"
#include "budget.h"
#include "comparison.h"
#include "joint_search.h"
#include "open_device.h"
#include "plot.h"
#include "suite.h"
#include "tuner_files.h"
#include "gen_fixture.h"

static size_t count_of(const char *text, const char *word) {
  size_t n = 0;
  for (const char *p = text; (p = strstr(p, word)); p++) {
    n++;
  }
  return n;
}

/* ---- suites ---------------------------------------------------------------------------------- */

TEST(a_line_is_all_its_combinations) {
  static const char *const wanted[] = {"m=8 n=8 k=1 ta=n", "m=8 n=8 k=1 ta=t", "m=9 n=9 k=1 ta=n",
                                       "m=9 n=9 k=1 ta=t"};
  gen_template *t = open_family("sgemm");
  auto_arena a = {0};
  suite s = {0};
  err e = {0};
  assert_ok(suite_expand(t, "", "sgemm m=n=8..9+1 k=1\tta=n,t", &a, &s, &e), &e);
  assert_int_equal(s.n, 4);
  for (size_t i = 0; i < s.n; i++) {
    assert_string_equal(s.texts[i], wanted[i]);
    assert_int_equal(s.p[i].values[1].i, i < 2 ? 8 : 9);
    assert_string_equal(s.p[i].values[3].s, i % 2 ? "t" : "n");
  }
  gen_close(t);
}

TEST(wrong_lines_are_told) {
  static const char *const wrong[][2] = {
      {"m=8 fast", "'fast'"},
      {"m={8,9", "no closing }"},
      {"m={8, 9}", "no closing }"},
      {"m={}", "m"},
      {"mm={8,9}", "did you mean"},
      {"m={8,x}", "whole number"},
      {"m="
       "00000000000000000000000000000000000000000000000000000000000000000"
       "00000000000000000000000000000000000000000000000000000000000000000..9*2",
       "too long"},
      {"m={1,2,3,4,5,6,7,8} n={1,2,3,4,5,6,7,8} k={1,2,3,4,5,6,7,8} align={1,2,4} ta={n,t} tb={n,t}",
       "4096"}};
  auto_template *t = open_family("sgemm");
  auto_arena a = {0};
  suite s = {0};
  err e = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(suite_expand(t, "", wrong[i][0], &a, &s, &e), &e, ERR_USAGE, wrong[i][1]);
  }
}

TEST(files_have_named_suites) {
  static const char text[] = "# two\nn=5\n[one] of them\nn=1 # small\n\n[two]\nn={2,3..6*2}\n";
  gen_template *t = open_family("saxpy");
  auto_arena a = {0};
  suite s;
  err e = {0};
  char path[] = "/tmp/suite-XXXXXX.txt", place[80];
  close(mkstemps(path, 4));
  assert_ok(file_write(path, text, sizeof text - 1, &e), &e);
  assert_ok(suite_open(t, path, &a, &s, &e), &e);
  assert_int_equal(s.n, 5); /* all of them */
  assert_ok(file_write(path, "n=1\nn=x\n", 8, &e), &e);
  assert_fails(suite_open(t, path, &a, &s, &e), &e, ERR_TEMPLATE, "whole number");
  snprintf(place, sizeof place, "%s:2", path);
  assert_string_equal(e.place, place);
  assert_ok(file_write(path, "# none\n", 7, NULL), &e);
  assert_fails(suite_open(t, path, &a, &s, &e), &e, ERR_USAGE, "no problems");
  unlink(path);
  assert_fails(suite_open(t, path, &a, &s, &e), &e, ERR_NOTFOUND, path);
  gen_close(t);
}

/* The suites of a user's template lie beside it, under its name. */
TEST(a_template_brings_its_suites) {
  static const char text[] = "[mine]\nn=7\n";
  char own[] = "/tmp/suites-XXXXXX", lua[64], txt[64];
  auto_str template = {0};
  auto_template *t = NULL;
  gen_options o = {0};
  auto_arena a = {0};
  suite s;
  err e = {0};
  assert_non_null(mkdtemp(own));
  snprintf(lua, sizeof lua, "%s/own.lua", own);
  snprintf(txt, sizeof txt, "%s/own.txt", own);
  assert_ok(file_read("templates/saxpy/saxpy.lua", 1 << 20, &template, &e), &e);
  assert_ok(file_write(lua, template.p, template.n, &e), &e);
  assert_ok(file_write(txt, text, sizeof text - 1, &e), &e);
  assert_ok(gen_open(&o, lua, &t, &e), &e);
  assert_ok(suite_open(t, "mine", &a, &s, &e), &e);
  assert_int_equal(s.n, 1);
  assert_fails(suite_open(t, "mien", &a, &s, &e), &e, ERR_USAGE, "did you mean 'mine'");
  unlink(lua);
  unlink(txt);
  rmdir(own);
}

TEST(every_built_in_suite_is_sound) {
  size_t n_suites = 0;
  for (const gen_file *f = tuner_files; f->name; f++) {
    char family[64];
    if (!strstr(f->name, ".txt") || !strcmp(f->name, "claims.txt") ||
        !strcmp(f->name, "calls.txt")) {
      continue;
    }
    snprintf(family, sizeof family, "%.*s", (int)strlen(f->name) - 4, f->name);
    gen_template *t = open_family(family);
    gen_tmpl(t)->counts_unknown = true; /* large matrices are not made */
    for (const char *p = f->text; (p = strchr(p, '[')); p++) {
      auto_arena a = {0};
      suite s;
      err e = {0};
      char name[64];
      snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 1, "]"), p + 1);
      assert_ok(suite_open(t, name, &a, &s, &e), &e);
      assert_true(s.n > 0);
      n_suites++;
    }
    gen_close(t);
  }
  assert_true(n_suites > 15);
}

/* ---- contenders and peers -------------------------------------------------------------------- */

typedef struct bed {
  bench_place place;
  bench_case x;
} bed;

static void lay(bed *b, const char *family, const char *problem) {
  err e = {0};
  gen_problem p;
  gen_config plain;
  *b = (bed){.place.t = open_family(family)};
  assert_ok(rt_compiler_open(&b->place.compiler, &e), &e);
  assert_ok(rt_device_open("emu", &b->place.device, &e), &e);
  assert_ok(rt_checker_new(b->place.device, b->place.compiler, &b->place.checker, &e), &e);
  assert_ok(gen_problem_parse(b->place.t, problem, &p, &e), &e);
  assert_ok(bench_case_open(&b->x, &b->place, &p, &e), &e);
  gen_config_default(b->place.t, &plain);
  assert_ok(bench_case_add(&b->x, &plain, "ours", &e), &e);
}

static void clear(bed *b) {
  bench_case_close(&b->x);
  rt_checker_free(b->place.checker);
  b->place.device->ops->close(b->place.device);
  rt_compiler_close(b->place.compiler);
  gen_close(b->place.t);
}

/* Launches ours and adds 0.25 to the sum. */
static int off_by(void *self, rt_stream s, const void *const *args, err *e) {
  bench_case *x = self;
  rt_device *d = x->place->device;
  rt_ptr y = *(const rt_ptr *)args[2];
  float v;
  TRY(x->e[0].contender.launch(x->e[0].contender.self, s, args, e));
  TRY(d->ops->copy_out(d, &v, y, sizeof v, s, e));
  v += 0.25f;
  return d->ops->copy_in(d, y, &v, sizeof v, s, e);
}

static void add_fake(bench_case *x, int (*launch)(void *, rt_stream, const void *const *, err *),
                     double loosest) {
  x->e[x->n++] = (bench_entrant){.is_peer = true,
                                 .name = "fake",
                                 .peer.loosest = loosest,
                                 .contender = {.launch = launch, .self = x}};
}

/* Launches ours and makes the sum a NaN. */
static int no_number(void *self, rt_stream s, const void *const *args, err *e) {
  bench_case *x = self;
  rt_device *d = x->place->device;
  const float v = NAN;
  TRY(x->e[0].contender.launch(x->e[0].contender.self, s, args, e));
  return d->ops->copy_in(d, *(const rt_ptr *)args[2], &v, sizeof v, s, e);
}

TEST(a_peer_may_round_and_is_told_to_differ) {
  err e = {0};
  bed b;
  lay(&b, "reduce", "n=1000");
  add_fake(&b.x, off_by, 1000);
  assert_ok(bench_case_check(&b.x, &e), &e);
  assert_true(b.x.e[0].error <= 1);
  assert_true(b.x.e[1].error > 1);
  assert_null(b.x.e[1].differs);
  b.x.e[1].peer.loosest = 2;
  assert_ok(bench_case_check(&b.x, &e), &e);
  assert_true(b.x.e[1].error > 2);
  assert_non_null(strstr(b.x.e[1].differs, "y[0]"));
  b.x.e[1].contender.launch = no_number;
  assert_fails(bench_case_check(&b.x, &e), &e, ERR_WRONG, "fake computes a different result: y[0]");
  b.x.e[1].contender.launch = off_by;
  b.x.e[1].is_peer = false; /* ours may not even round */
  b.x.e[1].peer.loosest = 1000;
  assert_fails(bench_case_check(&b.x, &e), &e, ERR_WRONG, "fake: y[0]");
  clear(&b);
}

/* Launches ours for the first `left` calls and refuses all later ones. */
typedef struct picky {
  rt_contender ours;
  int left;
} picky;

static int launch_some(void *self, rt_stream s, const void *const *args, err *e) {
  picky *p = self;
  return p->left-- > 0 ? p->ours.launch(p->ours.self, s, args, e)
                       : err_set(e, ERR_USAGE, "no such call");
}

TEST(a_peer_must_know_the_first_case) {
  err e = {0};
  bed b;
  lay(&b, "sgemm", "m=8 n=8 k=8");
  assert_true(b.place.t->n_cases > 1);
  picky p = {b.x.e[0].contender, 1};
  add_fake(&b.x, launch_some, 1);
  b.x.e[1].contender.self = &p;
  assert_ok(bench_case_check(&b.x, &e), &e);
  p.left = 0;
  assert_fails(bench_case_check(&b.x, &e), &e, ERR_USAGE, "no such call");
  clear(&b);
}

/* A changed input is wrong however loose the tolerance is. */
static int spoil(void *self, rt_stream s, const void *const *args, err *e) {
  bench_case *x = self;
  rt_device *d = x->place->device;
  TRY(x->e[0].contender.launch(x->e[0].contender.self, s, args, e));
  return d->ops->set(d, *(const rt_ptr *)args[1], 1, 4, s, e);
}

TEST(a_peer_must_leave_inputs_alone) {
  err e = {0};
  bed b;
  lay(&b, "reduce", "n=1000");
  add_fake(&b.x, spoil, INFINITY);
  assert_fails(bench_case_check(&b.x, &e), &e, ERR_WRONG, "changed input x");
  clear(&b);
}

/* The copy of the driver is a peer on the emulated device, too. */
TEST(the_driver_copies_and_fills) {
  static const char *const problems[] = {"n=1001 size=2", "n=999 size=1 op=fill"};
  for (size_t i = 0; i < 2; i++) {
    err e = {0};
    bed b;
    lay(&b, "copy", problems[i]);
    int rc = bench_case_add_peer(&b.x, &peer_driver, &e);
    if (i == 0 || !rc) { /* fills of elements other than bytes need the real driver */
      assert_ok(rc, &e);
      assert_ok(bench_case_check(&b.x, &e), &e);
      assert_ok(bench_case_race(&b.x, 5, &(rt_timing){.hot = false}, &e), &e);
      assert_true(b.x.e[0].times.median > 0);
    }
    clear(&b);
  }
}

TEST(peers_are_found_by_family) {
  const peer_kind *k;
  err e = {0};
  gen_template *scan = open_family("scan"), *saxpy = open_family("saxpy");
  assert_ok(peer_find("cub", scan, &k, &e), &e);
  assert_ptr_equal(k, &peer_cub);
  assert_fails(peer_find("cublas", scan, &k, &e), &e, ERR_USAGE, "for scan there is --vs cub");
  assert_fails(peer_find("cub", saxpy, &k, &e), &e, ERR_USAGE, "cub does not support saxpy");
  assert_fails(peer_find("mkl", scan, &k, &e), &e, ERR_USAGE,
               "there are: cublas, cublas-tf32, cub");
  gen_close(scan);
  gen_close(saxpy);
}

/* A textbook's configuration is a peer on the emulated device, too. */
TEST(a_textbook_is_a_peer) {
  const peer_kind *k;
  err e = {0};
  bed b;
  lay(&b, "ripple", "dim=20");
  assert_ok(peer_find("textbook", b.place.t, &k, &e), &e);
  assert_ok(peer_prepare(k, b.place.t, &b.x.problem, 1, b.place.device, &e), &e);
  assert_ok(bench_case_add_peer(&b.x, k, &e), &e);
  assert_non_null(strstr(b.x.e[1].peer.version, "TERMS=printed"));
  assert_ok(bench_case_check(&b.x, &e), &e);
  assert_null(b.x.e[1].differs);
  assert_ok(bench_case_race(&b.x, 5, &(rt_timing){.hot = false}, &e), &e);
  assert_true(b.x.e[1].is_peer && b.x.e[0].times.median > 0);
  clear(&b);
  gen_template *scan = open_family("scan");
  assert_fails(peer_find("textbook", scan, &k, &e), &e, ERR_USAGE,
               "template scan has no textbook configuration; for scan there is --vs cub");
  gen_close(scan);
}

TEST(another_cccl_must_be_there) {
  gen_template *t = open_family("reduce");
  rt_info info = {.arch = "sm_90"};
  gen_problem p;
  err e = {0};
  assert_ok(gen_problem_parse(t, "n=77", &p, &e), &e);
  setenv("TUNED_CCCL", "/nowhere", 1);
  assert_fails(peer_cub.prepare(t, &p, 1, &info, &e), &e, ERR_NOTFOUND, "no cub/version.cuh");
  unsetenv("TUNED_CCCL");
  gen_close(t);
}

TEST(fields_have_several_names) {
  gen_template *t = open_family("reduce");
  gen_problem p;
  size_t at;
  err e = {0};
  assert_ok(gen_problem_parse(t, "n=77 op=max", &p, &e), &e);
  assert_int_equal(peer_number(t, &p, "count n", 5), 77);
  assert_int_equal(peer_number(t, &p, "m mn nm", 5), 5);
  assert_string_equal(peer_word(t, &p, "kind op"), "max");
  assert_null(peer_word(t, &p, "n"));
  assert_ok(peer_argument(t, "out y", &at, &e), &e);
  assert_int_equal(at, 2);
  assert_fails(peer_argument(t, "z", &at, &e), &e, ERR_USAGE, "no argument z");
  gen_close(t);
}

/* ---- reports --------------------------------------------------------------------------------- */

static const bench_row rows[] = {{.label = "n=1",
                                  .problem = "scan n=1",
                                  .origin = "exact",
                                  .config = "A=1",
                                  .tuned_for = "scan n=1",
                                  .ours = {1e-6, 0.01, 0.5},
                                  .peer = {4e-6, 0.02, 3},
                                  .floor_sec = 5e-7},
                                 {.label = "n=2 <odd>",
                                  .problem = "scan n=2",
                                  .origin = "default",
                                  .config = "A=2",
                                  .ours = {2e-6, 0, NAN},
                                  .peer = {1e-6, 0, NAN},
                                  .floor_sec = 5e-7},
                                 {.label = "n=3",
                                  .problem = "scan n=3",
                                  .origin = "nearest",
                                  .config = "A=1",
                                  .tuned_for = "scan n=1",
                                  .ours = {2e-6, 0, 0},
                                  .floor_sec = 5e-7}};
enum { ROWS = sizeof rows / sizeof *rows };

static bench_report report(void) {
  return (bench_report){.device = "toy",
                        .family = "scan",
                        .peer = "cub",
                        .version = "CUB 3.0.1",
                        .errors = true,
                        .width = 10};
}

TEST(means_are_geometric) {
  bench_report r = report();
  assert_true(isnan(bench_report_mean(&r)));
  for (size_t i = 0; i < ROWS; i++) {
    bench_report_count(&r, &rows[i]);
  }
  assert_int_equal(r.n, 2); /* the third row has no time of a peer */
  assert_int_equal(r.n_ahead, 1);
  assert_true(fabs(bench_report_mean(&r) - sqrt(4 * 0.5)) < 1e-12);
  assert_true(fabs(r.worst - 0.5) < 1e-12);
  assert_string_equal(r.worst_label, "n=2 <odd>");
}

TEST(a_report_has_a_line_a_row) {
  bench_report r = report();
  auto_str s = {0};
  bench_report_head(&r, &s);
  assert_non_null(strstr(s.p, "CUB 3.0.1"));
  str_reset(&s);
  for (size_t i = 0; i < ROWS; i++) {
    bench_report_count(&r, &rows[i]);
    bench_report_row(&r, &rows[i], &s);
  }
  assert_int_equal(count_of(s.p, "\n"), ROWS);
  assert_non_null(strstr(s.p, "50 %")); /* of the floor */
  assert_non_null(strstr(s.p, " 4.00 "));
  assert_non_null(strstr(s.p, " 0.50 "));
  str_reset(&s);
  bench_report_end(&r, &s);
  assert_string_equal(s.p, "geometric mean of 2: 1.41 x cub; at least as fast in 1; worst 0.5 at "
                           "n=2 <odd>\n");
}

TEST(a_less_exact_peer_has_both_errors) {
  bench_report r = report();
  bench_row row = rows[0];
  auto_str s = {0};
  row.differs = "y[7] is 2, reference 1";
  bench_report_row(&r, &row, &s);
  assert_non_null(strstr(s.p, "  cub is less exact: error 3, ours 0.5 (1: the tolerance); y[7]"));
  str_reset(&s);
  bench_report_row_json(&r, &row, &s);
  assert_non_null(strstr(s.p, "\"peer_differs\""));
}

TEST(a_report_is_json) {
  bench_report r = report();
  for (size_t i = 0; i < ROWS; i++) {
    auto_str s = {0};
    bench_report_count(&r, &rows[i]);
    bench_report_row_json(&r, &rows[i], &s);
    json_t *line = json_loads(s.p, 0, NULL);
    assert_non_null(line);
    json_t *ours = json_object_get(line, "tuned");
    assert_true(json_real_value(json_object_get(ours, "seconds")) == rows[i].ours.sec);
    assert_true(json_is_null(json_object_get(ours, "error")) == (i == 1));
    assert_true(!json_object_get(line, "ratio") == (i == 2));
    json_decref(line);
  }
  auto_str s = {0};
  bench_report_end_json(&r, &s);
  json_t *line = json_loads(s.p, 0, NULL), *end = json_object_get(line, "summary");
  assert_true(fabs(json_number_value(json_object_get(end, "geometric_mean")) - sqrt(2)) < 1e-4);
  json_decref(line);
}

/* The default configuration takes the place of the peer, and modelled times are called modelled. */
TEST(without_a_peer_the_default_stands_in) {
  bench_report r = {.device = "emu", .family = "scan", .modelled = true, .width = 5};
  bench_row row = rows[0];
  auto_str s = {0};
  row.plain = (bench_time){3e-6, 0, 0};
  bench_report_head(&r, &s);
  bench_report_row(&r, &row, &s);
  assert_non_null(strstr(s.p, "modelled"));
  assert_non_null(strstr(s.p, " 3.00"));
  str_reset(&s);
  bench_report_row_json(&r, &row, &s);
  assert_non_null(strstr(s.p, "modelled_seconds"));
  assert_null(strstr(s.p, "\"seconds\""));
}

TEST(pictures_hold_every_bar) {
  bench_report r = report();
  auto_str s = {0};
  bench_report_plot(&r, rows, ROWS, &s);
  assert_int_equal(count_of(s.p, "<rect x="), 2);
  assert_int_equal(count_of(s.p, "<text "), count_of(s.p, "</text>"));
  assert_non_null(strstr(s.p, "n=2 &#60;odd&#62;"));
  assert_null(strstr(s.p, "nan"));
  str_reset(&s);
  bench_report_plot(&r, rows, 0, &s); /* without rows the picture is empty */
  assert_non_null(strstr(s.p, "</svg>"));
}

/* ---- joint searches --------------------------------------------------------------------------- */

/* Times over two axes of three values; from (0, 0) a pass comes to (1, 2), the best is (2, 1). */
static const double grid[3][3] = {{9, 8, 7}, {6, 5, 4}, {7, 2, 0}};

static joint_space grid_space(joint_point *points, const joint_axis *axes) {
  for (uint16_t i = 0; i < 9; i++) {
    points[i] = (joint_point){.index = {i / 3, i % 3},
                              .sec = 1e-6 * grid[i / 3][i % 3],
                              .instructions = 100 + 10 * (i / 3),
                              .warps = 16 + i % 3};
  }
  return (joint_space){.problem = "toy n=1",
                       .device = "toy",
                       .axes = axes,
                       .n_axes = 2,
                       .points = points,
                       .n = 9,
                       .start = 0};
}

TEST(searches_by_axes_miss_what_a_joint_one_finds) {
  static const char *const values[] = {"1", "2", "4"};
  const joint_axis axes[] = {{"A", values, 3}, {"B", values, 3}};
  joint_point points[9];
  const joint_space s = grid_space(points, axes);
  joint_summary of;
  joint_summarise(&s, &of);
  assert_int_equal(of.failed, 1);
  assert_int_equal(of.best, 7);
  assert_int_equal(of.by_axes, 5);
  assert_int_equal(joint_by_axes(&s, 7), 7);
  /* from (x, 0) and (x, 2) to (1, 2), from (x, 1) to (2, 1) */
  assert_true(fabs(of.by_axes_median - 2) < 1e-12 && fabs(of.by_axes_worst - 2) < 1e-12);
  assert_int_equal(of.front, 1); /* A = 1 issues least, B = 4 has most warps */
  assert_int_equal(of.best_left, 2);
  assert_true(joint_is_left(&s, 2) && !joint_is_left(&s, 7));
  auto_str text = {0};
  joint_text(&s, &of, &text);
  assert_non_null(strstr(text.p, "9 points of A x B, 1 failed\n"));
  assert_non_null(strstr(text.p, "2.00 x  A=2,B=4\n"));
  assert_non_null(strstr(text.p, "leaves 1 of 8; the best point is lost\n"));
  points[2].sec = 0; /* then (0, 1) and (1, 2) are left */
  joint_summarise(&s, &of);
  assert_int_equal(of.front, 2);
  for (size_t i = 0; i < 9; i++) {
    points[i].sec = 0;
  }
  joint_summarise(&s, &of);
  assert_int_equal(of.best, 9);
  str_reset(&text);
  joint_text(&s, &of, &text);
  assert_non_null(strstr(text.p, "9 failed\n"));
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static comparison_step steps[] = {{.value = "a", .sec = 8e-6, .config = "ALG=a", .n_trials = 3},
                                  {.value = "b", .why = "no valid point: too \"large\""},
                                  {.value = "c", .sec = 2e-6, .config = "ALG=c", .n_trials = 3},
                                  {.value = "d", .sec = 4e-6, .config = "ALG=d", .n_trials = 3}};

TEST(steps_are_set_beside_the_one_before) {
  const comparison l = {.label = "n=1", .problem = "scan n=1", .steps = steps, .n = 4};
  assert_int_equal(comparison_best(&l), 2);
  assert_true(comparison_gain(&l, 0) == 0);
  assert_true(comparison_gain(&l, 1) == 0);
  assert_true(fabs(comparison_gain(&l, 2) - 4) < 1e-12); /* relative to a, because b has no time */
  assert_true(fabs(comparison_gain(&l, 3) - 0.5) < 1e-12);
  const comparison none = {.steps = &steps[1], .n = 1};
  assert_int_equal(comparison_best(&none), 1);
}

TEST(a_ladder_is_text_table_and_json) {
  const comparison_head h = {.family = "scan", .parameter = "ALG", .device = "toy"};
  const comparison l[2] = {{.label = "n=1", .problem = "scan n=1", .steps = steps, .n = 4},
                           {.label = "n=2", .problem = "scan n=2", .steps = steps, .n = 4}};
  auto_str s = {0};
  comparison_text(&h, l, &s);
  assert_int_equal(count_of(s.p, "\n"), 6);
  assert_int_equal(count_of(s.p, "#"),
                   32 + 8 + 16); /* the length of a bar is proportional to its time */
  assert_non_null(strstr(s.p, "* c"));
  assert_non_null(strstr(s.p, "too \"large\""));
  str_reset(&s);
  comparison_table(&h, l, 2, &s);
  assert_int_equal(count_of(s.p, "\n"), 4);
  assert_int_equal(count_of(s.p, "2.00 us*"), 2);
  str_reset(&s);
  comparison_json(&h, l, &s);
  for (const char *line = s.p; *line; line = strchr(line, '\n') + 1) {
    json_t *j = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(j);
    json_decref(j);
  }
  str_reset(&s);
  comparison_plot(&h, l, 2, &s);
  assert_int_equal(count_of(s.p, "<rect x="), 6);
}

TEST(budgets_are_read) {
  auto_arena a = {0};
  tune_budget b;
  err e = {0};
  assert_ok(budget_parse("tune", "200,90s", &a, &b, &e), &e);
  assert_int_equal(b.trials, 200);
  assert_true(b.sec == 90);
  assert_ok(budget_parse("tune", "5s", &a, &b, &e), &e);
  assert_int_equal(b.trials, 0);
  assert_ok(budget_parse("tune", "1.5s", &a, &b, &e), &e);
  assert_true(b.sec == 1.5);
  static const char *const wrong[][2] = {
      {"0", "--tune '0'"},     {"0s", "--tune '0s'"}, {"nans", "--tune 'nans'"},
      {"1.5", "--tune '1.5'"}, {"", "empty"},         {"soon", "soon"},
      {"1,2,3", "1,2,3"},      {"5s,6s", "5s,6s"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(budget_parse("tune", wrong[i][0], &a, &b, &e), &e, ERR_USAGE, wrong[i][1]);
  }
}

int main(void) {
  return tests_run();
}
