/* test_db.c -- the database returns what is stored, and `best` is the best. test_db_files.c opens
 * broken and foreign files, test_db_faults.c injects faults. */
#define _GNU_SOURCE
#include "db_fixture.h"

#include <math.h>

#include "db_sql.h"
#include "db_text.h"
#include "schema_steps.h"

enum { SCHEMA = sizeof steps / sizeof *steps };

SCRATCH_TEST(test_rows_are_stored_once) {
  db *d = open_writer(s);
  int64_t a, b;
  db_device other = {.key = "L4 sm_89 58", .name = "NVIDIA L4", .cc = 89, .sms = 58};
  OK(s, db_device_put(d, &other, &a, &s->e));
  OK(s, db_device_put(d, &card, &b, &s->e));
  assert_int_equal(a, 2);
  assert_int_equal(b, 1);
  OK(s, db_template_put(d, &saxpy, &a, &s->e));
  assert_int_equal(a, 1);
  assert_null(db_note(d));
  db_close(d);
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  assert_null(db_note(d));
  FAILS(s, ERR_DB, "cannot be written", db_device_put(d, &other, &a, &s->e));
  db_close(d);
}

SCRATCH_TEST(test_images_come_back) {
  auto_db *d = open_writer(s);
  const char cubin[] = "\177ELF\0\1\2\3";
  db_image in = image_of(image_key, cubin, sizeof cubin), out;
  FAILS(s, ERR_NOTFOUND, image_key, db_image_get(d, image_key, &s->a, &out, &s->e));
  OK(s, db_image_put(d, &in, &s->e));
  OK(s, db_image_put(d, &in, &s->e));
  OK(s, db_image_get(d, image_key, &s->a, &out, &s->e));
  assert_string_equal(out.key, in.key);
  assert_string_equal(out.arch, in.arch);
  assert_string_equal(out.source, in.source);
  assert_string_equal(out.log, in.log);
  assert_int_equal(out.n_cubin, sizeof cubin);
  assert_memory_equal(out.cubin, cubin, sizeof cubin);
  assert_int_equal(out.n_ptx, 8);
  assert_memory_equal(out.ptx, ".version", 8);
  assert_true(out.nvrtc == 13000 && out.regs == 32 && out.spill == 8 && out.smem == 1024);
  assert_true(out.sec == 0.25);

  char key[] = "00000000000000000000000000000abd"; /* one that did not compile */
  in = (db_image){.key = key, .arch = "sm_90", .source = "", .nvrtc = 13000};
  OK(s, db_image_put(d, &in, &s->e));
  OK(s, db_image_get(d, key, &s->a, &out, &s->e));
  assert_true(!out.cubin && !out.ptx && !out.log && !*out.source && !out.n_cubin && !out.n_ptx);
  OK(s, db_verify(d, &s->e));
}

SCRATCH_TEST(test_schema_of_a_new_database_is_known) {
  char digest[HASH_TEXT];
  auto_db *d = open_writer(s);
  if (!db_schema_is_newest(d, digest)) {
    fail_msg("newest_schema in db_check.c is to be \"%s\"", digest);
  }
}

SCRATCH_TEST(test_trial_is_replaced_only_by_another_outcome) {
  auto_db *d = open_writer(s);
  int64_t id = put_trial(s, d, "BX=64"), again;
  put_sample(s, d, id, DB_SCREEN, 2e-3);
  run_sql(s->path, "UPDATE trial SET at = 1");
  assert_int_equal(put_trial(s, d, "BX=64"), id);
  run_sql(s->path,
          "CREATE TABLE untouched AS SELECT 1 / (at = 1) AS yes FROM trial;"
          "CREATE TABLE must (yes INTEGER NOT NULL) STRICT;"
          "INSERT INTO must SELECT yes FROM untouched; DROP TABLE untouched; DROP TABLE must");
  db_trial wrong = trial_of("BX=64");
  wrong.status = DB_WRONG;
  wrong.reason = "y[3] is 4.5, reference 4.25";
  wrong.error = NAN;
  OK(s, db_trial_put(d, 1, 1, &wrong, &again, &s->e));
  assert_int_equal(again, id);
  db_result r = result_of(s, d, id);
  assert_int_equal(r.t.status, DB_WRONG);
  assert_string_equal(r.t.reason, wrong.reason);
  assert_true(isnan(r.t.error));
  assert_true(r.median == 2e-3); /* its samples stay */
}

/* Each row adds one fact and says which configuration is best from then on. */
SCRATCH_TEST(test_best_follows_the_facts) {
  auto_db *d = open_writer(s);
  assert_string_equal(best_config(s, d), "not found");
  int64_t a = put_trial(s, d, "A"), b = put_trial(s, d, "B"), c = put_trial(s, d, "C");
  assert_string_equal(best_config(s, d), "not found");
  static const struct {
    int trial; /* 0 A, 1 B, 2 C */
    int what;  /* 0 screen, 1 final, 2 estimate */
    double sec;
    const char *best;
  } facts[] = {
      {2, 2, 5e-3, "C"},  {1, 2, 4e-3, "B"},  {1, 2, 6e-3, "C"}, /* a newer estimate counts */
      {0, 0, 9e-3, "A"},                                         /* measured beats modelled */
      {1, 0, 8e-3, "B"},  {1, 0, 10e-3, "A"},                    /* a newer screening counts */
      {1, 1, 20e-3, "B"},                                        /* a final beats screenings */
      {1, 0, 1e-3, "B"},  {0, 1, 19e-3, "A"}, {0, 1, 21e-3, "B"}, {0, 2, 1e-9, "B"},
      {1, 0, 99e-3, "B"}, {0, 1, 20e-3, "A"}, /* a tie: the first in the alphabet */
  };
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    int64_t id = facts[i].trial == 0 ? a : facts[i].trial == 1 ? b : c;
    if (facts[i].what == 2) {
      OK(s, db_estimate_put(d, id, "emu:h200 1", facts[i].sec, &s->e));
    } else {
      put_sample(s, d, id, facts[i].what ? DB_FINAL : DB_SCREEN, facts[i].sec);
    }
    if (strcmp(best_config(s, d), facts[i].best)) {
      fail_msg("after fact %zu the best is %s, not %s", i, best_config(s, d), facts[i].best);
    }
  }
  db_result r = result_of(s, d, a);
  assert_true(r.final && r.median == 20e-3 && r.spread == 0.01 && r.modelled == 1e-9);
  r = result_of(s, d, c);
  assert_true(!r.final && r.median == 0 && r.modelled == 5e-3);

  double sec;
  OK(s, db_preparation_get(d, a, &sec, &s->e));
  assert_true(sec == 0);
  OK(s, db_preparation_put(d, a, 3e-3, &s->e));
  OK(s, db_preparation_get(d, a, &sec, &s->e));
  assert_true(sec == 3e-3 && result_of(s, d, a).median == 20e-3);
  db_trial dead = {.problem = saxpy_problem, .config = "A", .status = DB_CRASHED, .reason = "died"};
  OK(s, db_trial_put(d, 1, 1, &dead, &a, &s->e));
  assert_string_equal(best_config(s, d), "B");
  OK(s, db_verify(d, &s->e));
}

SCRATCH_TEST(test_results_are_ordered_and_counted) {
  auto_db *d = open_writer(s);
  db_image image = image_of(image_key, "elf", 3);
  OK(s, db_image_put(d, &image, &s->e));
  int64_t id;
  db_trial bad = {.problem = saxpy_problem, .config = "bad", .status = DB_COMPILE, .reason = "no"};
  OK(s, db_trial_put(d, 1, 1, &bad, &id, &s->e));
  put_trial(s, d, "untimed");
  put_sample(s, d, put_trial(s, d, "slow"), DB_SCREEN, 3e-3);
  OK(s, db_estimate_put(d, put_trial(s, d, "modelled"), "emu:h200 1", 1e-9, &s->e));
  put_sample(s, d, put_trial(s, d, "final"), DB_FINAL, 2e-3);
  db_trial quick = trial_of("quick");
  quick.image = image_key;
  OK(s, db_trial_put(d, 1, 1, &quick, &id, &s->e));
  put_sample(s, d, id, DB_SCREEN, 1e-3);

  static const char *const order[] = {"final", "quick", "slow", "modelled", "untimed", "bad"};
  db_result *rows;
  size_t n;
  OK(s, db_results(d, 1, 1, saxpy_problem, &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 6);
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(rows[i].t.config, order[i]);
    assert_string_equal(rows[i].t.problem, saxpy_problem);
  }
  assert_true(rows[1].regs == 32 && rows[1].spill == 8 && rows[1].smem == 1024);
  assert_string_equal(rows[1].t.image, image_key);
  assert_true(!rows[0].t.image && rows[0].regs == 0);

  size_t by_status[DB_STATUSES] = {0};
  for (size_t i = 0; i < n; i++) {
    by_status[rows[i].t.status]++;
  }
  assert_true(by_status[DB_OK] == 5 && by_status[DB_COMPILE] == 1);
  OK(s, db_results(d, 1, 1, "saxpy n=7", &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 0);
}

/* The first of db_results, and the first of its failures. */
SCRATCH_TEST(test_the_top_results_are_the_first_of_all) {
  enum { TRIALS = 60 };
  auto_db *d = open_writer(s);
  db_result *all, *top;
  size_t n, n_top;
  int64_t id, right, failed;
  for (int i = 0; i < TRIALS; i++) {
    char config[20];
    snprintf(config, sizeof config, "C=%d", i * 37 % TRIALS);
    const db_trial t = {.problem = saxpy_problem,
                        .config = config,
                        .status = i % 5 ? DB_OK : DB_LAUNCH,
                        .reason = i % 5 ? NULL : "no"};
    OK(s, db_trial_put(d, 1, 1, &t, &id, &s->e));
    if (i % 5 && i % 7) {
      put_sample(s, d, id, i % 3 ? DB_SCREEN : DB_FINAL, 1e-3 * (i * 13 % 11));
    }
  }
  OK(s, db_results(d, 1, 1, saxpy_problem, &s->a, &all, &n, &s->e));
  OK(s, db_count(d, 1, 1, saxpy_problem, &right, &failed, &s->e));
  assert_true(n == TRIALS && right == 48 && failed == 12);
  for (size_t most = 1; most <= TRIALS; most += 9) {
    size_t bad = 0;
    OK(s, db_results_top(d, 1, 1, saxpy_problem, most, &s->a, &top, &n_top, &s->e));
    for (size_t i = 0; i < n_top; i++) {
      bad += top[i].t.status != DB_OK;
      if (i < most && i < (size_t)right) {
        assert_string_equal(top[i].t.config, all[i].t.config);
      }
      if (top[i].t.status != DB_OK) {
        assert_string_equal(top[i].t.config, all[(size_t)right + bad - 1].t.config);
      }
    }
    assert_int_equal(bad, most < 12 ? most : 12);
  }
}

SCRATCH_TEST(test_effort_adds_up) {
  auto_db *d = open_writer(s);
  double sec;
  int64_t id;
  OK(s, db_effort_add(d, 1, 1, saxpy_problem, 5, &s->e)); /* ignored: there is no trial yet */
  OK(s, db_effort_get(d, 1, 1, saxpy_problem, &sec, &s->e));
  assert_true(sec == 0);
  put_trial(s, d, "A");
  OK(s, db_effort_add(d, 1, 1, saxpy_problem, 2, &s->e));
  OK(s, db_effort_add(d, 1, 1, saxpy_problem, 0.5, &s->e));
  OK(s, db_effort_get(d, 1, 1, saxpy_problem, &sec, &s->e));
  assert_true(sec == 2.5);
  OK(s, db_device_find(d, card.key, &id, &s->e));
  assert_int_equal(id, 1);
  OK(s, db_template_find(d, saxpy.hash, &id, &s->e));
  assert_int_equal(id, 1);
  assert_int_equal(db_device_find(d, "other", &id, &s->e), ERR_NOTFOUND);
  assert_int_equal(db_template_find(d, "other", &id, &s->e), ERR_NOTFOUND);
  assert_string_equal(db_path(d), s->path);
}

SCRATCH_TEST(test_problems_are_listed) {
  auto_db *d = open_writer(s);
  db_problem *rows;
  size_t n;
  OK(s, db_problems(d, NULL, &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 0);
  put_sample(s, d, put_trial(s, d, "A"), DB_FINAL, 2e-3);
  db_trial t = {.problem = "saxpy n=5", .config = "B", .status = DB_LAUNCH, .reason = "no"};
  int64_t id;
  OK(s, db_trial_put(d, 1, 1, &t, &id, &s->e));
  OK(s, db_problems(d, "saxpy", &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 2);
  assert_string_equal(rows[0].config, "A");
  assert_string_equal(rows[0].device_name, card.name);
  assert_string_equal(rows[0].template_hash, saxpy.hash);
  assert_int_equal(strlen(rows[0].when), strlen("2025-01-31T12:00:00Z"));
  assert_true(rows[0].median == 2e-3 && rows[0].n_trials == 1 && rows[0].n_ok == 1);
  assert_true(rows[0].template_id == 1 && rows[0].device_id == 1);
  assert_string_equal(rows[1].problem, "saxpy n=5");
  assert_true(!rows[1].config && rows[1].n_trials == 1 && rows[1].n_ok == 0);
  assert_true(rows[1].median == 0 && rows[1].modelled == 0);
  OK(s, db_problems(d, "sgemm", &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 0);
}

SCRATCH_TEST(test_rows_that_do_not_fit_are_refused) {
  auto_db *d = open_writer(s);
  int64_t id;
  db_trial t = trial_of("A");
  FAILS(s, ERR_DB, "does not accept", db_trial_put(d, 9, 1, &t, &id, &s->e));
  t.image = image_key;
  FAILS(s, ERR_DB, "does not accept", db_trial_put(d, 1, 1, &t, &id, &s->e));
  db_sample sample = sample_of(DB_FINAL, 1e-3);
  FAILS(s, ERR_DB, "does not accept", db_sample_put(d, 77, &sample, &s->e));
  FAILS(s, ERR_DB, "does not accept", db_estimate_put(d, 77, "m", 1, &s->e));
  id = put_trial(s, d, "A");
  sample.median = NAN;
  FAILS(s, ERR_DB, "does not accept", db_sample_put(d, id, &sample, &s->e));
  db_image image = image_of("not-a-hash", "x", 1);
  FAILS(s, ERR_DB, "key_is_a_hash", db_image_put(d, &image, &s->e));
  char *long_text = malloc(DB_MAX_TEXT + 2);
  memset(long_text, 'x', DB_MAX_TEXT + 1);
  long_text[DB_MAX_TEXT + 1] = 0;
  t = trial_of(long_text);
  FAILS(s, ERR_LIMIT, "too long", db_trial_put(d, 1, 1, &t, &id, &s->e));
  long_text[DB_MAX_TEXT] = 0;
  OK(s, db_trial_put(d, 1, 1, &t, &id, &s->e));
  free(long_text);
  size_t n = (size_t)DB_MAX_BULK + DB_MAX_TEXT + 1;
  void *bulk = calloc(n, 1);
  image = image_of(image_key, bulk, n);
  FAILS(s, ERR_LIMIT, "64 MiB", db_image_put(d, &image, &s->e));
  free(bulk);
  db_stats stats;
  OK(s, db_stat(d, &stats, &s->e));
  assert_string_equal(stats.tables[3].table, "image");
  assert_int_equal(stats.tables[3].rows, 0);
  assert_string_equal(stats.tables[5].table, "trial");
  assert_int_equal(stats.tables[5].rows, 2);
  assert_string_equal(stats.tables[2].table, "problem"); /* the refused trials left none behind */
  assert_int_equal(stats.tables[2].rows, 1);
  assert_true(stats.nbytes > 4096 && stats.schema == SCHEMA);
  OK(s, db_verify(d, &s->e));
}

static const char *portfolio_of(scratch *s, db *d) {
  const char *text = NULL;
  const int rc = db_portfolio_get(d, saxpy.hash, card.key, &s->a, &text, &s->e);
  assert_true(!rc || rc == ERR_NOTFOUND);
  return text;
}

/* The line written as text and read again. */
static db_line as_text(scratch *s, const db_line *line) {
  auto_str text = {0};
  db_line back;
  bool none;
  db_text_write(line, &text);
  OK(s, db_text_read(text.p, text.n - 1, &s->a, &back, &none, &s->e));
  return back;
}

/* The later portfolio counts, wherever it comes from; merging and lines of text transfer it. */
SCRATCH_TEST(test_portfolios) {
  db *d, *other;
  int64_t template_id, device_id;
  bool stored;
  db_line *lines;
  size_t n;
  char path[200];
  make_sample_file(s);
  snprintf(path, sizeof path, "%s.other", s->path);
  OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
  OK(s, db_device_find(d, card.key, &device_id, &s->e));
  OK(s, db_template_find(d, saxpy.hash, &template_id, &s->e));
  assert_null(portfolio_of(s, d));
  OK(s, db_portfolio_put(d, template_id, device_id, "old\n1", NULL, &stored, &s->e));
  OK(s, db_portfolio_put(d, template_id, device_id, "new\n2", NULL, &stored, &s->e));
  assert_true(stored);
  assert_string_equal(portfolio_of(s, d), "new\n2");
  OK(s, db_portfolio_put(d, template_id, device_id, "x", "2001-01-01T00:00:00Z", &stored, &s->e));
  assert_false(stored);
  assert_string_equal(portfolio_of(s, d), "new\n2");
  OK(s, db_lines(d, NULL, card.key, &s->a, &lines, &n, &s->e));
  db_line *last = &lines[n - 1];
  assert_int_equal(last->kind, DB_KIND_PORTFOLIO);
  assert_string_equal(last->config, "new\n2");

  static char large[500000]; /* as large as the models of dozens of configurations at 2000 sizes */
  memset(large, 'x', sizeof large - 1);
  OK(s, db_portfolio_put(d, template_id, device_id, large, NULL, &stored, &s->e));
  assert_string_equal(portfolio_of(s, d), large);
  last->config = large;
  assert_string_equal(as_text(s, last).config, large);
  OK(s, db_portfolio_put(d, template_id, device_id, "new\n2", NULL, &stored, &s->e));
  last->config = "new\n2";
  const db_line back = as_text(s, last);
  OK(s, db_open(path, DB_WRITE, &other, &s->e));
  OK(s, db_line_put(other, &back, &stored, &s->e));
  assert_true(stored);
  assert_string_equal(portfolio_of(s, other), "new\n2");
  OK(s, db_line_put(other, &back, &stored, &s->e));
  assert_false(stored);
  db_close(other);

  run_sql(path, "UPDATE portfolio SET text = 'later', at = at + 100");
  OK(s, db_merge(d, path, &s->e));
  OK(s, db_merge(d, path, &s->e));
  assert_string_equal(portfolio_of(s, d), "later");
  run_sql(path, "UPDATE portfolio SET text = 'earlier', at = 5");
  OK(s, db_merge(d, path, &s->e));
  assert_string_equal(portfolio_of(s, d), "later");
  OK(s, db_verify(d, &s->e));
  db_close(d);
}

/* All that is known of how a sample was taken is read back; of two samples, the final one. */
SCRATCH_TEST(test_samples_come_back) {
  auto_db *d = open_writer(s);
  const int64_t trial = put_trial(s, d, "A");
  db_sample got;
  FAILS(s, ERR_NOTFOUND, "never measured", db_sample_get(d, trial, &s->a, &got, &s->e));
  const db_sample final = {.stage = DB_FINAL,
                           .median = 1e-3,
                           .spread = 0.01,
                           .launches = 77,
                           .cold = true,
                           .driver = 13000,
                           .uuid = "GPU-1",
                           .clock_mhz = 1980,
                           .power_w = 612.5,
                           .temperature_c = 61,
                           .memory_mhz = 3201,
                           .energy_j = 0.25,
                           .held = 0x24,
                           .retaken = 2,
                           .ended = "race",
                           .replay = "graph",
                           .batches = "1e-3 1.01e-3"};
  OK(s, db_sample_put(d, trial, &final, &s->e));
  OK(s, db_sample_put(d, trial, &(db_sample){.median = 2e-3, .launches = 1}, &s->e));
  OK(s, db_sample_get(d, trial, &s->a, &got, &s->e));
  assert_int_equal(got.stage, DB_FINAL);
  assert_true(got.cold && got.median == final.median && got.energy_j == final.energy_j);
  assert_true(got.clock_mhz == 1980 && got.memory_mhz == 3201 && got.power_w == 612.5);
  assert_true(got.launches == 77 && got.held == 0x24 && got.retaken == 2 && got.driver == 13000);
  assert_string_equal(got.ended, "race");
  assert_string_equal(got.replay, "graph");
  assert_string_equal(got.batches, "1e-3 1.01e-3");
}

enum { N_PROBLEMS = 20, N_CONFIGS = 500 };

/* Among 10,000 samples the best of each problem is found; bench/bench_db measures the time. */
SCRATCH_TEST(test_best_among_many) {
  db_close(open_writer(s));
  char sql[1600];
  snprintf(
      sql, sizeof sql,
      "BEGIN;"
      "WITH RECURSIVE p(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM p WHERE i < %d - 1) "
      "INSERT INTO problem (id, template, device, text) SELECT i + 1, 1, 1, 'saxpy n=' || i FROM p;"
      "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d - 1) "
      "INSERT INTO trial (problem, config, status, error)"
      " SELECT p.id, 'BX=' || i, 'ok', 0 FROM problem p, c;"
      "INSERT INTO sample (trial, stage, median, spread, launches, cold, driver, uuid, host, run,"
      " sequence)"
      " SELECT t.id, 'screen', 1 + (CAST(substr(t.config, 4) AS INT) + 2 * %d"
      "  - (p.id - 1) * 37 - 11) %% %d, 0.01, 9, 1, 13000, 'GPU-1', 1, 1, 1"
      " FROM trial t JOIN problem p ON p.id = t.problem;"
      "COMMIT",
      N_PROBLEMS, N_CONFIGS, 2 * N_CONFIGS, N_CONFIGS);
  run_sql(s->path, "DROP TRIGGER sample_sealed; DROP TRIGGER estimate_sealed");
  run_sql(s->path, sql);
  run_sql(s->path, strstr(steps[3], "CREATE TRIGGER"));
  auto_db *d = NULL;
  OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
  for (int i = 0; i < N_PROBLEMS; i++) {
    char problem[32];
    db_result r;
    snprintf(problem, sizeof problem, "saxpy n=%d", i);
    OK(s, db_best(d, saxpy.hash, card.key, problem, &s->a, &r, &s->e));
    assert_int_equal(atoi(r.t.config + 3), (i * 37 + 11) % N_CONFIGS);
  }
  db_problem *problems;
  size_t n;
  OK(s, db_problems(d, NULL, &s->a, &problems, &n, &s->e));
  assert_int_equal(n, N_PROBLEMS);
}

SCRATCH_TEST(image_without_its_bytes_gets_them_later) {
  db *d = open_writer(s);
  db_image row = image_of(image_key, "cubin", 5), read;
  const char *source = row.source;
  row.source = NULL;
  OK(s, db_image_put(d, &row, &s->e));
  FAILS(s, ERR_NOTFOUND, "no image", db_image_get(d, image_key, &s->a, &read, &s->e));
  OK(s, db_verify(d, &s->e));
  row.source = source;
  OK(s, db_image_put(d, &row, &s->e));
  OK(s, db_image_get(d, image_key, &s->a, &read, &s->e));
  assert_int_equal(read.n_cubin, 5);
  assert_int_equal(read.regs, 32);
  OK(s, db_verify(d, &s->e));
  db_close(d);
}

int main(void) {
  return tests_run();
}
