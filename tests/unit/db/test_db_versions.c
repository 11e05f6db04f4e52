/* test_db_versions.c -- databases of earlier schemas: read as they are, migrated by the first writer,
 * merged, with the same results. */
#define _GNU_SOURCE
#include "older_db.h"

#include "db_sql.h"
#include "db_text.h"

/* A file of schema 2, as earlier versions wrote it. */
SCRATCH_TEST(test_an_older_file_is_read_as_it_is) {
  make_sample_file(s);
  make_schema_2(s);
  db *d, *to;
  db_stats stats;
  db_portfolio *rows;
  db_line *lines;
  const char *text;
  size_t n;
  char other[200];
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  OK(s, db_stat(d, &stats, &s->e));
  assert_int_equal(stats.schema, 2);
  assert_int_equal(db_portfolio_get(d, "h", "k", &s->a, &text, &s->e), ERR_NOTFOUND);
  OK(s, db_portfolios(d, NULL, &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 0);
  OK(s, db_lines(d, NULL, NULL, &s->a, &lines, &n, &s->e));
  assert_true(n > 0);
  OK(s, db_verify(d, &s->e));
  db_close(d);
  snprintf(other, sizeof other, "%s.to", s->path);
  OK(s, db_open(other, DB_WRITE, &to, &s->e));
  OK(s, db_merge(to, s->path, &s->e));
  OK(s, db_lines(to, NULL, NULL, &s->a, &lines, &n, &s->e));
  assert_true(n > 0);
  db_close(to);
  OK(s, db_open(s->path, DB_WRITE, &d, &s->e)); /* and brought up to date */
  OK(s, db_stat(d, &stats, &s->e));
  assert_int_equal(stats.schema, SCHEMA);
  db_close(d);
}

SCRATCH_TEST(test_migrations) {
  db *d = open_writer(s);
  put_trial(s, d, "A");
  static const char *const good[] = {
      "not run: the file is past it",
      "nor is this",
      "nor this",
      "nor this",
      "nor this",
      "nor this",
      "ALTER TABLE device ADD COLUMN memory INTEGER NOT NULL DEFAULT 0",
      "CREATE TABLE note (text TEXT) STRICT; INSERT INTO note SELECT name FROM device"};
  static const char *const broken[] = {
      "", "", "", "", "", "", "CREATE TABLE half (x INTEGER) STRICT", "CREATE TABEL"};
  FAILS(s, ERR_DB, "TABEL", db_migrate(d, broken, SCHEMA + 2, &s->e));
  FAILS(s, ERR_DB, "TABEL",
        db_migrate(d, broken, SCHEMA + 2,
                   &s->e)); /* and not "half already exists": the step was undone */
  db_stats stats;
  OK(s, db_stat(d, &stats, &s->e));
  assert_int_equal(stats.schema, SCHEMA);
  OK(s, db_migrate(d, good, SCHEMA + 1, &s->e));
  OK(s, db_migrate(d, good, SCHEMA + 2, &s->e));
  OK(s, db_migrate(d, good, SCHEMA + 2, &s->e));
  OK(s, db_stat(d, &stats, &s->e));
  assert_int_equal(stats.schema, SCHEMA + 2);
  assert_int_equal(put_trial(s, d, "A"), 1);
  FAILS(s, ERR_DB, "newer version", db_migrate(d, good, SCHEMA + 1, &s->e));
  db_close(d);
  run_sql(s->path, "UPDATE note SET text = text; UPDATE device SET memory = 1");
  FAILS(s, ERR_DB, "newer version", db_open(s->path, DB_READ, &d, &s->e));
}

/* A file of the first version is read as it is, and migrated by the first writer. */
SCRATCH_TEST(test_a_file_of_the_first_version) {
  db *d;
  db_stats stats;
  db_sample got;
  auto_str sql = {0};
  str_add(&sql, steps[0]);
  str_addf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = 1;", 0x4174756e);
  str_add(&sql, "INSERT INTO device (key, name, cc, sms) VALUES ('k', 'n', 90, 1);"
                "INSERT INTO template (hash, family, version, path) VALUES ('h', 'f', 1, 'p');"
                "INSERT INTO problem (template, device, text) VALUES (1, 1, 'f n=1');"
                "INSERT INTO trial (problem, config, status) VALUES (1, 'A', 'ok');"
                "INSERT INTO sample (trial, stage, median, spread, launches, cold, driver)"
                " VALUES (1, 'final', 0.5, 0, 3, 1, 13000)");
  run_sql(s->path, str_text(&sql));
  for (int mode = DB_READ; mode <= DB_WRITE; mode++) {
    db_result best;
    OK(s, db_open(s->path, (db_mode)mode, &d, &s->e));
    OK(s, db_stat(d, &stats, &s->e));
    assert_int_equal(stats.schema, mode == DB_READ ? 1 : SCHEMA);
    OK(s, db_best(d, "h", "k", "f n=1", &s->a, &best, &s->e));
    assert_true(best.median == 0.5 && best.final);
    OK(s, db_sample_get(d, best.trial, &s->a, &got, &s->e));
    assert_true(got.launches == 3 && got.energy_j == 0 && !got.ended && !got.batches);
    OK(s, db_verify(d, &s->e));
    db_close(d);
  }
}

/* A file of the first version can be merged only after it is migrated. */
SCRATCH_TEST(test_merging_a_file_of_the_first_version) {
  char older[160];
  auto_str sql = {0};
  snprintf(older, sizeof older, "%s/older.db", s->folder);
  str_addf(&sql, "%sPRAGMA application_id = %d; PRAGMA user_version = 1;", steps[0], 0x4174756e);
  run_sql(older, str_text(&sql));
  db *d = open_writer(s), *updated;
  FAILS(s, ERR_DB, "brings it up to date", db_merge(d, older, &s->e));
  OK(s, db_open(older, DB_WRITE, &updated, &s->e));
  db_close(updated);
  OK(s, db_merge(d, older, &s->e));
  db_close(d);
}

/* A file as schema 4 had it: tests/fixtures/schema_4.sql. */
static void make_schema_4(scratch *s, const char *path) {
  auto_str sql = {0};
  OK(s, file_read("tests/fixtures/schema_4.sql", 1 << 20, &sql, &s->e));
  run_sql(path, str_text(&sql));
}

/* The file is sound, and exports what the program of schema 4 exported. */
static void check_schema_4(scratch *s, db *d) {
  auto_str text = {0};
  db_line *lines;
  size_t n;
  double sec;
  OK(s, db_verify(d, &s->e));
  OK(s, db_lines(d, NULL, NULL, &s->a, &lines, &n, &s->e));
  for (size_t i = 0; i < n; i++) {
    db_text_write(&lines[i], &text);
  }
  db_text_end(&text);
  if (!strstr(str_text(&text), "# end: 4 results, digest 754d61d8cf929002\n")) {
    fail_msg("the results are\n%s", str_text(&text));
  }
  OK(s, db_effort_get(d, 1, 1, saxpy_problem, &sec, &s->e));
  assert_true(sec == 4);
}

static void check_counts(scratch *s, db *d, int schema) {
  static const struct {
    const char *table;
    int64_t rows;
  } counts[] = {{"problem", 3}, {"trial", 6}, {"sample", 7}, {"estimate", 4}, {"effort", 1}};
  db_stats stats;
  OK(s, db_stat(d, &stats, &s->e));
  assert_int_equal(stats.schema, schema);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    int t = 0;
    while (strcmp(stats.tables[t].table, counts[i].table)) {
      t++;
    }
    assert_int_equal(stats.tables[t].rows, counts[i].rows);
  }
}

/* A file of schema 4 is read as it is, and migrated by the first writer, with the same results. */
SCRATCH_TEST(test_a_file_of_schema_4) {
  make_schema_4(s, s->path);
  for (int mode = DB_READ; mode <= DB_WRITE; mode++) {
    auto_db *d = NULL;
    db_sample got;
    OK(s, db_open(s->path, (db_mode)mode, &d, &s->e));
    check_counts(s, d, mode == DB_READ ? 4 : SCHEMA);
    check_schema_4(s, d);
    assert_string_equal(best_config(s, d), "BX=128");
    assert_true(result_of(s, d, 1).median == 1.25e-3); /* the later one of a second */
    OK(s, db_sample_get(d, 2, &s->a, &got, &s->e));
    assert_true(got.median == 1.125e-3 && got.launches == 77 && got.held == 0x24);
  }
}

/* Copies that are merged as they are, or after each was migrated, have every fact once. */
SCRATCH_TEST(test_copies_of_a_file_of_schema_4_are_one) {
  char copies[3][160];
  db *d, *to;
  for (int i = 0; i < 3; i++) {
    snprintf(copies[i], sizeof copies[i], "%s/copy%d.db", s->folder, i);
    make_schema_4(s, copies[i]);
  }
  for (int i = 0; i < 2; i++) {
    OK(s, db_open(copies[i], DB_WRITE, &d, &s->e));
    db_close(d);
  }
  OK(s, db_open(s->path, DB_WRITE, &to, &s->e));
  for (int i = 0; i < 6; i++) {
    OK(s, db_merge(to, copies[(i + 2) % 3], &s->e));
    check_counts(s, to, SCHEMA);
  }
  db_close(to);
  OK(s, db_open(copies[0], DB_WRITE, &d, &s->e));
  OK(s, db_merge(d, s->path, &s->e));
  OK(s, db_merge(d, copies[1], &s->e));
  OK(s, db_merge(d, copies[2], &s->e));
  check_counts(s, d, SCHEMA);
  check_schema_4(s, d);
  db_close(d);
}

/* Migrating does not seal a row that was damaged before. */
SCRATCH_TEST(test_damage_before_schema_5_is_found) {
  make_schema_4(s, s->path);
  run_sql(s->path, "UPDATE sample SET launches = 101 WHERE id = 2;"
                   "UPDATE estimate SET digest = NULL WHERE id = 3");
  db *d;
  OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
  FAILS(s, ERR_DB, "sample 2 (BX=64 of saxpy", db_verify(d, &s->e));
  db_close(d);
  run_sql(s->path, "DELETE FROM sample WHERE id = 2");
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  FAILS(s, ERR_DB, "estimate 3 (BX=64 of saxpy", db_verify(d, &s->e));
  db_close(d);
}

int main(void) {
  return tests_run();
}
