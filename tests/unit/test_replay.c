/* test_replay.c -- recorded spaces: reading them, damaged files included, and running strategies on
 * them. The spaces are made here; TUNED_SPACES may name a folder of real ones to try as well. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "file.h"
#include "replay.h"
#include "gen.h"

/* ---- making a recording ---------------- */

enum { A = 12, B = 10, C = 4, D = 6 };

/* A valley with steps, a wall of failures, and one best point. */
static double landscape(int a, int b, int c, int d) {
  if (c == 3 && a > 8) {
    return INFINITY;
  }
  return 1 + 0.1 * abs(a - 7) + 0.07 * abs(b - 2 - c) + 0.3 * (d != 4) + 0.2 * (a % 3 != 1) +
         0.05 * c;
}

static bool valid(int a, int b, int c, int d) {
  return (a + b + c + d) % 3 != 1;
}

/* Rows in reverse order, because their order must not matter. */
static size_t make_csv(str *s) {
  size_t n = 0;
  str_add(s, "a,b,c,d,status,verify_ms,time_ms,t0\r\n");
  for (int i = A * B * C * D - 1; i >= 0; i--) {
    int a = i / (B * C * D), b = i / (C * D) % B, c = i / D % C, d = i % D;
    if (valid(a, b, c, d)) {
      double ms = landscape(a, b, c, d);
      str_addf(s, "%d,%d,%c,%g,", 1 << a, b, 'p' + c, d * 0.5);
      str_addf(s, isfinite(ms) ? "ok,0,%.6f,1\n" : "compile,0,,\n", ms);
      n++;
    }
  }
  return n;
}

static size_t make_json(str *s) {
  size_t n = 0;
  str_add(s, "{\"kernel_name\":\"k\",\"tune_params_keys\":[\"a\",\"b\",\"c\",\"d\"],\"objective\":"
             "\"time\","
             "\"cache\":{\n");
  for (int i = 0; i < A * B * C * D; i++) {
    int a = i / (B * C * D), b = i / (C * D) % B, c = i / D % C, d = i % D;
    if (valid(a, b, c, d)) {
      double ms = landscape(a, b, c, d);
      str_addf(s, "\"%d\":{\"a\":%d,\"b\":%d,\"c\":\"%c\",\"d\":%g,\"time\":", i, 1 << a, b,
               'p' + c, d * 0.5);
      str_addf(s, isfinite(ms) ? "%.6f},\n" : "\"CompilationFailedConfig\"},\n", ms);
      n++;
    }
  }
  return n;
}

/* The same rows as T4, with times in seconds, to check that units are read. */
static void make_t4(str *s) {
  const char *between = "";
  str_add(s, "{\"metadata\":{\"timeunit\":\"seconds\"},\"results\":[\n");
  for (int i = 0; i < A * B * C * D; i++) {
    int a = i / (B * C * D), b = i / (C * D) % B, c = i / D % C, d = i % D;
    double ms = landscape(a, b, c, d);
    if (!valid(a, b, c, d)) {
      continue;
    }
    str_addf(s,
             "%s{\"configuration\":{\"a\":%d,\"b\":%d,\"c\":\"%c\",\"d\":%g},\"times\":{},"
             "\"objectives\":[\"time\"],\"measurements\":[{\"name\":\"power\",\"value\":1},",
             between, 1 << a, b, 'p' + c, d * 0.5);
    if (isfinite(ms)) {
      str_addf(s, "{\"name\":\"time\",\"value\":%.9f,\"unit\":\"seconds\"}],", ms * 1e-3);
    } else {
      str_add(s, "{\"name\":\"time\",\"value\":\"CompilationFailedConfig\"}],");
    }
    str_addf(s, "\"correctness\":1,\"invalidity\":\"%s\"}", isfinite(ms) ? "correct" : "compile");
    between = ",\n";
  }
  str_add(s, "]}");
}

static recorded *open_text(const str *s) {
  recorded *r = NULL;
  err e = {0};
  assert_ok(recorded_parse("toy", str_text(s), s->n, &r, &e), &e);
  return r;
}

static recorded *toy(void) {
  auto_str s = {0};
  make_csv(&s);
  recorded *r = open_text(&s);
  return r;
}

/* ---- reading ---------------- */

TEST(the_rows_become_a_space) {
  auto_str s = {0};
  size_t n = make_csv(&s);
  recorded *r = open_text(&s);
  assert_int_equal(r->view.n, n);
  assert_int_equal(r->view.n_params, 4);
  assert_string_equal(r->params[2], "c");
  assert_int_equal(r->view.n_values[0], A);
  assert_string_equal(r->values[0][A - 1], "2048"); /* by size, not by letters */
  assert_string_equal(r->values[2][0], "p");
  assert_true(fabs(r->best - 1.1e-3) < 0.1e-3);
  assert_true(r->n_failed > 0);
  for (size_t i = 0; i < r->view.n; i++) {
    uint16_t p[GEN_MAX_PARAMS];
    size_t found = SIZE_MAX;
    r->view.at(r, i, p);
    assert_true(valid(p[0], p[1], p[2], p[3]));
    double ms = landscape(p[0], p[1], p[2], p[3]);
    assert_true(isfinite(ms) ? fabs(r->sec[i] - ms * 1e-3) < 1e-8 : isinf(r->sec[i]));
    assert_true(r->view.find(r, p, &found));
    assert_int_equal(found, i);
  }
  uint16_t outside[GEN_MAX_PARAMS] = {1};
  assert_false(r->view.find(r, outside, &n));
  recorded_close(r);
}

static void assert_same(const recorded *x, const recorded *y) {
  assert_int_equal(x->view.n, y->view.n);
  assert_memory_equal(x->ranks, y->ranks, x->view.n * sizeof *x->ranks);
  assert_memory_equal(x->sec, y->sec, x->view.n * sizeof *x->sec);
}

/* Kernel Tuner leaves the file open while it runs: the text ends with a comma. */
TEST(a_kernel_tuner_cache_reads_the_same) {
  auto_str s = {0};
  recorded *csv = toy();
  make_json(&s);
  recorded *open = open_text(&s);
  s.n -= 2;
  s.p[s.n] = 0;
  str_add(&s, "}}\n");
  recorded *closed = open_text(&s);
  assert_same(csv, open);
  assert_same(csv, closed);
  recorded_close(csv);
  recorded_close(open);
  recorded_close(closed);
}

TEST(a_t4_file_reads_the_same) {
  auto_str s = {0};
  recorded *csv = toy();
  make_t4(&s);
  recorded *t4 = open_text(&s);
  assert_int_equal(t4->view.n, csv->view.n);
  assert_int_equal(t4->n_failed, csv->n_failed);
  assert_memory_equal(t4->ranks, csv->ranks, csv->view.n * sizeof *csv->ranks);
  for (size_t i = 0; i < csv->view.n; i++) {
    assert_true(t4->sec[i] == csv->sec[i] || fabs(t4->sec[i] / csv->sec[i] - 1) < 1e-6);
  }
  recorded_close(csv);
  recorded_close(t4);
}

#define T4(metadata, measurement, invalidity)                                                      \
  "{\"metadata\":{" metadata                                                                       \
  "},\"results\":[{\"configuration\":{\"a\":1},\"measurements\":[{" measurement                    \
  "}],\"invalidity\":\"" invalidity "\"}]}"
#define TIME(value) "\"name\":\"time\",\"value\":" value

TEST(times_of_t4_are_in_any_unit) {
  static const char *const texts[] = {
      T4("", TIME("2.5"), "correct"),
      T4("", TIME("2.5") ",\"unit\":\"\"", "correct"),
      T4("", TIME("0.0025") ",\"unit\":\"seconds\"", "correct"),
      T4("", TIME("2.5") ",\"unit\":\"ms\"", "correct"),
      T4("", TIME("2500") ",\"unit\":\"Microseconds\"", "correct"),
      T4("", TIME("2500000") ",\"unit\":\"nanoseconds\"", "correct"),
      T4("", TIME("2500000") ",\"unit\":\"ns\"", "correct"),
      T4("\"timeunit\":\"seconds\"", TIME("2.5") ",\"unit\":\"milliseconds\"", "correct"),
      T4("\"timeunit\":\"nanoseconds\"", TIME("2500000"), "correct"),
      T4("\"timeunit\":\"miliseconds\"", TIME("2.5"), "correct"),
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    auto_str s = {0};
    str_add(&s, texts[i]);
    recorded *r = open_text(&s);
    assert_true(fabs(r->best / 2.5e-3 - 1) < 1e-12);
    recorded_close(r);
  }
}

/* Whatever time a failure has, it is a failure. */
TEST(failures_of_t4_need_no_time) {
  auto_str s = {0};
  str_add(&s, "{\"results\":[{\"configuration\":{\"a\":1},\"invalidity\":\"compile\"},"
              "{\"configuration\":{\"a\":2},\"invalidity\":\"runtime\",\"measurements\":[{" TIME(
                  "-1") ",\"unit\":\"W\"}]},"
                        "{\"configuration\":{\"a\":3},\"invalidity\":\"correct\","
                        "\"measurements\":[{" TIME("1") "}]}]}");
  recorded *r = open_text(&s);
  assert_int_equal(r->n_failed, 2);
  recorded_close(r);
}

/* Since 1.0 Kernel Tuner writes a failure under __error__, with or without a time beside it. */
TEST(newer_caches_name_their_failures_apart) {
  auto_str s = {0};
  str_add(
      &s,
      "{\"tune_params_keys\":[\"a\"],\"objective\":\"time\",\"cache\":{"
      "\"1\":{\"a\":1,\"time\":2.5},\"2\":{\"a\":2,\"__error__\":\"InvalidConfig\"},"
      "\"3\":{\"a\":3,\"time\":\"RuntimeFailedConfig\",\"__error__\":\"RuntimeFailedConfig\"}}}");
  recorded *r = open_text(&s);
  assert_int_equal(r->view.n, 3);
  assert_int_equal(r->n_failed, 2);
  assert_true(fabs(r->best - 2.5e-3) < 1e-12);
  recorded_close(r);
}

TEST(a_repeated_configuration_counts_once_with_its_last_result) {
  auto_str s = {0};
  str_add(&s, "x,status,time_ms\n1,ok,5\n2,ok,7\n1,ok,6\n");
  recorded *r = open_text(&s);
  assert_int_equal(r->view.n, 2);
  assert_true(r->sec[0] == 6e-3 && r->sec[1] == 7e-3);
  recorded_close(r);
}

TEST(compressed_files_open_and_broken_ones_say_so) {
  char path[] = "/tmp/tuned-space-XXXXXX.csv.gz";
  auto_str s = {0}, bytes = {0};
  err e = {0};
  recorded *r, *plain = toy();
  int fd = mkstemps(path, 7);
  make_csv(&s);
  gzFile f = gzdopen(fd, "wb");
  assert_int_equal(gzwrite(f, s.p, (unsigned)s.n), s.n);
  gzclose(f);
  assert_ok(recorded_open(path, &r, &e), &e);
  assert_same(r, plain);
  recorded_close(r);
  assert_ok(file_read(path, 1 << 24, &bytes, &e), &e);
  assert_ok(file_write(path, bytes.p, bytes.n / 2, &e), &e);
  assert_fails(recorded_open(path, &r, &e), &e, ERR_IO, "truncated");
  bytes.p[bytes.n / 2] ^= 0x55;
  bytes.p[bytes.n / 2 + 1] ^= 0x55;
  assert_ok(file_write(path, bytes.p, bytes.n, &e), &e);
  assert_int_not_equal(recorded_open(path, &r, &e), 0);
  unlink(path);
  assert_fails(recorded_open(path, &r, &e), &e, ERR_NOTFOUND, "cannot open");
  assert_fails(recorded_open("/tmp", &r, &e), &e, ERR_IO, "/tmp");
  recorded_close(plain);
}

TEST(every_fault_is_told_with_its_line) {
  static const struct {
    const char *text, *words, *place;
  } cases[] = {
      {"", "no column 'status'", "x:1"},
      {"a,b\n1,2\n", "no column 'status'", "x:1"},
      {"a,status\n1,ok\n", "no column 'time_ms'", "x:1"},
      {"a,a,status,time_ms\n1,1,ok,1\n", "two parameters are called 'a'", "x"},
      {"a,status,time_ms\n1,ok,1\n2,ok\n", "fewer columns", "x:3"},
      {"a,status,time_ms\n1,ok,fast\n", "'fast' is not a time", "x:2"},
      {"a,status,time_ms\n1,ok,-1\n", "is not a time", "x:2"},
      {"a,status,time_ms\n1,ok,nan\n", "is not a time", "x:2"},
      {"a,status,time_ms\n1,ok,1e308\n", "is not a time", "x:2"},
      {"a,status,time_ms\n1,runtime,1\n", "none of its configurations worked", "x"},
      {"a,status,time_ms\n", "none of its configurations worked", "x"},
      {"{\"cache\":", "not JSON", "x:1"},
      {"{}", "neither a cache file of Kernel Tuner", "x"},
      {"{\"tune_params_keys\":[1],\"cache\":{}}", "not a name", "x"},
      {"{\"tune_params_keys\":[\"a\"],\"cache\":{\"1\":{\"a\":1}}}", "'1' has no result", "x"},
      {"{\"tune_params_keys\":[\"a\"],\"cache\":{\"1\":{\"time\":1}}}", "'1' lacks a parameter",
       "x"},
      {"{\"tune_params_keys\":[\"a\"],\"cache\":{\"1\":{\"a\":[],\"time\":1}}}", "'1' lacks", "x"},
      {"{\"tune_params_keys\":[\"a\"],\"cache\":{\"1\":{\"a\":1,\"time\":0}}}",
       "'1' succeeded, but its time, 0, is not a positive number", "x"},
      {"{\"tune_params_keys\":[\"a\"],\"cache\":{\"1\":{\"a\":1,\"time\":\"correct\"}}}",
       "'1' succeeded, but its time, \"correct\",", "x"},
      {T4("", TIME("-1"), "correct"), "result 1 succeeded, but its time, -1, is not", "x"},
      {T4("", TIME("0.0"), "correct"), "its time, 0.0, is not", "x"},
      {T4("", TIME("1e308"), "correct"), "308, is not", "x"},
      {T4("", TIME("\"fast\""), "correct"), "its time, \"fast\", is not", "x"},
      {T4("", "\"name\":\"power\"", "correct"), "its time, which is missing, is not", "x"},
      {T4("", TIME("1") ",\"unit\":\"fortnights\"", "correct"),
       "result 1: 'fortnights' is not a unit of time; there are: seconds", "x"},
      {T4("\"timeunit\":\"W\"", TIME("1"), "correct"), "timeunit: 'W' is not a unit", "x"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded *r;
    err e = {0};
    assert_fails(recorded_parse("x", cases[i].text, strlen(cases[i].text), &r, &e), &e, ERR_USAGE,
                 cases[i].words);
    assert_string_equal(e.place, cases[i].place);
  }
  recorded *r;
  err e = {0};
  assert_fails(recorded_parse("x", "a\0b", 3, &r, &e), &e, ERR_USAGE, "not a text file");
}

/* With random bytes replaced, or cut off at random, a file is read or refused without a crash. */
TEST(damaged_files_are_refused_or_read) {
  static const char spice[] = ",\n\r\"{}[]0-9.e:okx\\";
  srandom(5);
  for (int round = 0; round < 3000; round++) {
    auto_str s = {0};
    err e = {0};
    recorded *r = NULL;
    round % 2
        ? (void)str_add(&s, "a,b,status,time_ms\n1,x,ok,1\n2,y,ok,2.5\n2,x,compile,\n1,y,ok,3\n")
        : (void)str_add(&s, "{\"tune_params_keys\":[\"a\",\"b\"],\"objective\":\"time\",\"cache\":{"
                            "\"1,x\":{\"a\":1,\"b\":\"x\",\"time\":1.5},"
                            "\"2,x\":{\"a\":2,\"b\":\"x\",\"time\":\"RuntimeFailedConfig\"}}}");
    for (long k = random() % 6; k >= 0; k--) {
      s.p[(size_t)random() % s.n] = spice[(size_t)random() % (sizeof spice - 1)];
    }
    s.n = random() % 4 ? s.n : (size_t)random() % s.n;
    int rc = recorded_parse("x", s.p, s.n, &r, &e);
    assert_true(rc ? e.message[0] && !strchr(e.message, '\n') : r->view.n > 0);
    recorded_close(rc ? NULL : r);
  }
}

/* ---- judging ---------------- */

static const replay_options usual = {.runs = 10, .seed = 1, .jobs = 1, .ahead = 1};

TEST(the_curve_of_a_known_order_is_exact) {
  auto_str s = {0};
  err e = {0};
  replay_curve c;
  str_add(&s, "x,status,time_ms\n1,ok,8\n2,runtime,\n3,ok,4\n4,ok,5\n5,ok,2\n");
  recorded *r = open_text(&s);
  assert_ok(replay(r, &search_exhaustive, &usual, &c, &e), &e);
  const double expected[] = {0.25, 0.25, 0.5, 0.5, 1};
  for (size_t i = 0; i < REPLAY_EVALUATIONS; i++) {
    assert_true(fabs(c.fraction[i] - (i < 5 ? expected[i] : 1)) < 1e-12);
  }
  recorded_close(r);
}

/* One of n points is the best and the others take twice as long, so the mean after i trials is
 * known. */
TEST(random_search_is_as_good_as_it_must_be) {
  enum { N = 800, RUNS = 2000 };
  auto_str s = {0};
  err e = {0};
  replay_curve c;
  replay_options o = usual;
  o.runs = RUNS;
  str_add(&s, "x,status,time_ms\n");
  for (int i = 0; i < N; i++) {
    str_addf(&s, "%d,ok,%d\n", i, i == 321 ? 1 : 2);
  }
  recorded *r = open_text(&s);
  assert_ok(replay(r, &search_random, &o, &c, &e), &e);
  for (size_t i = 50; i < REPLAY_EVALUATIONS; i += 50) {
    double p = (double)(i + 1) / N, deviation = 0.5 * sqrt(p * (1 - p) / RUNS);
    assert_true(fabs(c.fraction[i] - (0.5 + 0.5 * p)) < 4 * deviation);
  }
  recorded_close(r);
}

TEST(threads_and_repetition_change_nothing) {
  err e = {0};
  replay_curve one, many;
  replay_options o = usual;
  recorded *r = toy();
  assert_ok(replay(r, &search_evolve, &o, &one, &e), &e);
  o.jobs = 3;
  assert_ok(replay(r, &search_evolve, &o, &many, &e), &e);
  assert_memory_equal(one.fraction, many.fraction, sizeof one.fraction);
  o.seed = 100;
  assert_ok(replay(r, &search_evolve, &o, &many, &e), &e);
  assert_memory_not_equal(one.fraction, many.fraction, sizeof one.fraction);
  recorded_close(r);
}

TEST(strategies_that_learn_beat_chance) {
  err e = {0};
  replay_curve c, first = {0}, chance;
  replay_options o = usual;
  recorded *r = toy();
  o.runs = 60;
  assert_ok(replay(r, &search_random, &o, &chance, &e), &e);
  o.runs = 12;
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    assert_ok(replay(r, *s, &o, &c, &e), &e);
    first = s == search_strategies() ? c : first;
    printf("%-12s %.3f %.3f %.3f\n", (*s)->name, c.fraction[49], c.fraction[99], c.fraction[199]);
    if (*s != &search_exhaustive && *s != &search_random && *s != &search_lhs) {
      assert_true(c.fraction[199] > chance.fraction[199] + 0.02);
    }
  }
  assert_true(first.fraction[99] > 0.97 && first.fraction[199] > 0.99);
  o.ahead = 16;
  o.runs = 6;
  assert_ok(replay(r, search_strategies()[0], &o, &c, &e), &e);
  assert_true(c.fraction[99] > 0.93);
  recorded_close(r);
}

TEST(the_picture_has_every_curve) {
  static replay_curve low, high;
  auto_str s = {0};
  for (size_t i = 0; i < REPLAY_EVALUATIONS; i++) {
    low.fraction[i] = 0.5;
    high.fraction[i] = 0.9;
  }
  replay_line lines[] = {{"slow<1>", &low}, {"fast", &high}};
  replay_plot(lines, 2, "a & b", &s);
  assert_int_equal(s.failed, 0);
  assert_non_null(strstr(s.p, "a &#38; b"));
  assert_non_null(strstr(s.p, "slow&#60;1&#62; 0.500"));
  assert_true(strstr(s.p, "fast 0.900") < strstr(s.p, "slow&#60;")); /* the best comes first */
  assert_string_equal(s.p + s.n - 7, "</svg>\n");
}

/* The default strategy reaches these figures on real recordings; needs TUNED_SPACES, a folder of
 * them. */
TEST_WHERE(getenv("TUNED_SPACES"), the_default_reaches_its_figures_on_real_spaces) {
  const char *folder = getenv("TUNED_SPACES");
  DIR *d = opendir(folder);
  double at_100 = 0, at_200 = 0;
  size_t n = 0;
  assert_non_null(d);
  for (struct dirent *f; (f = readdir(d));) {
    char path[4096];
    recorded *r;
    replay_curve c;
    err e = {0};
    if (strstr(f->d_name, ".csv.gz")) {
      snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
      assert_ok(recorded_open(path, &r, &e), &e);
      assert_ok(replay(r, search_strategies()[0], &usual, &c, &e), &e);
      at_100 += c.fraction[99];
      at_200 += c.fraction[199];
      n++;
      recorded_close(r);
    }
  }
  closedir(d);
  assert_true(n > 0);
  printf("%zu spaces: %.3f after 100 trials, %.3f after 200\n", n, at_100 / (double)n,
         at_200 / (double)n);
  assert_true(at_100 > 0.95 * (double)n && at_200 > 0.98 * (double)n);
}

int main(void) {
  return tests_run();
}
