/* test_db_files.c -- database files that are broken, foreign, locked, read-only or of another
 * version: each costs one line of explanation, or works as far as it can. */
#define _GNU_SOURCE
#include "db_fixture.h"

#include "db_sql.h"
#include "db_text.h"
#include "schema_steps.h"

enum { SCHEMA = sizeof steps / sizeof *steps };

static void write_file(scratch *s, const char *path, const void *bytes, size_t n) {
  OK(s, file_write(path, bytes, n, &s->e));
}

static void hash_file(scratch *s, const char *path, char out[HASH_TEXT]) {
  auto_str text = {0};
  OK(s, file_read(path, 1 << 28, &text, &s->e));
  hash_bytes(text.p, text.n, out);
}

/* ---- files that are not what they should be -------------------------------------------------- */

/* Opening fails for reading and for writing, and leaves the file as it was. */
static void refused(scratch *s, int code, const char *words) {
  char before[HASH_TEXT], after[HASH_TEXT];
  db *d;
  hash_file(s, s->path, before);
  FAILS(s, code, words, db_open(s->path, DB_WRITE, &d, &s->e));
  FAILS(s, code, words, db_open(s->path, DB_READ, &d, &s->e));
  hash_file(s, s->path, after);
  assert_string_equal(before, after);
}

SCRATCH_TEST(test_foreign_files_are_refused) {
  char noise[20000];
  for (size_t i = 0; i < sizeof noise; i++) {
    noise[i] = (char)(i * 2654435761u >> 13);
  }
  write_file(s, s->path, noise, sizeof noise);
  refused(s, ERR_DB, "is not a database");
  write_file(s, s->path, "hello\n", 6);
  refused(s, ERR_DB, "is not a database");
  remove(s->path);
  run_sql(s->path, "CREATE TABLE bookmarks (url TEXT)");
  refused(s, ERR_DB, "of another program");
  remove(s->path);
  run_sql(s->path, "PRAGMA application_id = 77; CREATE TABLE t (x); DROP TABLE t");
  refused(s, ERR_DB, "of another program");
}

SCRATCH_TEST(test_newer_and_older_files) {
  db *d = open_writer(s);
  db_close(d);
  run_sql(s->path, "PRAGMA user_version = 99");
  refused(s, ERR_DB,
          "written by a newer version (schema 99, this program knows 5); upgrade autotune "
          "or name another database with --db");
  run_sql(s->path, "PRAGMA user_version = -7");
  refused(s, ERR_DB, "of another program");
  run_sql(s->path, "PRAGMA user_version = 0");
  FAILS(s, ERR_NOTFOUND, "is empty", db_open(s->path, DB_READ, &d, &s->e));
  FAILS(s, ERR_DB, "already exists", db_open(s->path, DB_WRITE, &d, &s->e));
  run_sql(s->path, "PRAGMA user_version = 2; DROP VIEW best");
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  db_result r;
  FAILS(s, ERR_DB, "tables this program expects", db_best(d, "h", "k", "p", &s->a, &r, &s->e));
  db_close(d);
}

SCRATCH_TEST(test_missing_and_empty) {
  db *d;
  FAILS(s, ERR_NOTFOUND, "tune something first", db_open(s->path, DB_READ, &d, &s->e));
  FAILS(s, ERR_USAGE, "empty", db_open("", DB_WRITE, &d, &s->e));
  FAILS(s, ERR_DB, "--db", db_open(s->folder, DB_WRITE, &d, &s->e));
  FAILS(s, ERR_DB, "--db", db_open(s->folder, DB_READ, &d, &s->e));
  FAILS(s, ERR_IO, "--db", db_open("/dev/null/x/tuned.db", DB_WRITE, &d, &s->e));
  FAILS(s, ERR_DB, "Not a directory", db_open("/dev/null/tuned.db", DB_READ, &d, &s->e));
  write_file(s, s->path, "", 0);
  FAILS(s, ERR_NOTFOUND, "is empty", db_open(s->path, DB_READ, &d, &s->e));
  d = open_writer(s); /* an empty file becomes a database */
  db_close(d);
  OK(s, db_open(":memory:", DB_WRITE, &d, &s->e));
  OK(s, db_verify(d, &s->e));
  db_close(d);
}

SCRATCH_TEST(test_names_are_taken_literally) {
  static const char *const names[] = {"a?mode=memory", "b#c", "50%20", "new folder/deep/ü.db"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    db *d;
    snprintf(s->path, sizeof s->path, "%s/%s", s->folder, names[i]);
    d = open_writer(s);
    db_close(d);
    assert_int_equal(access(s->path, R_OK), 0);
    OK(s, db_open(s->path, DB_READ, &d, &s->e));
    db_close(d);
  }
}

/* Reads everything; returns 0, or the first failure. */
static int read_all(scratch *s) {
  auto_db *d = NULL;
  db_image image;
  db_result best, *results;
  db_problem *problems;
  size_t n;
  err_clear(&s->e);
  TRY(db_open(s->path, DB_READ, &d, &s->e));
  int code = db_verify(d, &s->e);
  err e = {0}; /* reading on must be safe, whatever db_verify says */
  db_image_get(d, image_key, &s->a, &image, &e);
  db_best(d, saxpy.hash, card.key, saxpy_problem, &s->a, &best, &e);
  db_results(d, 1, 1, saxpy_problem, &s->a, &results, &n, &e);
  db_problems(d, NULL, &s->a, &problems, &n, &e);
  arena_clear(&s->a);
  return code;
}

/* Every page in turn is overwritten, in three ways; and the file is cut at every page. */
SCRATCH_TEST(test_damage_is_found) {
  make_sample_file(s);
  assert_int_equal(read_all(s), 0);
  auto_str good = {0};
  OK(s, file_read(s->path, 1 << 28, &good, &s->e));
  size_t n_pages = good.n / 4096;
  assert_true(n_pages > 25);
  char *bad = malloc(good.n);
  for (size_t page = 0; page < n_pages; page++) {
    for (int how = 0; how < 3; how++) {
      memcpy(bad, good.p, good.n);
      char *p = bad + 4096 * page;
      memset(p + (how == 2 ? 2000 : 0), how == 0 ? 0xa5 : 0, how == 2 ? 1500 : 4096);
      if (memcmp(bad, good.p, good.n)) {
        write_file(s, s->path, bad, good.n);
        int code = read_all(s);
        bool empty = page == 0 && how == 1; /* zeros at the start: SQLite's empty file */
        if (code != ERR_DB && !(empty && code)) {
          fail_msg("page %zu damaged (%d): %s %s", page, how, err_name(code), s->e.message);
        }
        assert_null(strchr(s->e.message, '\n'));
      }
    }
    if (page) {
      write_file(s, s->path, good.p, 4096 * page);
      refused(s, ERR_DB, "is damaged");
    }
  }
  write_file(s, s->path, good.p, good.n - 4000); /* SQLite opens this one */
  assert_int_equal(read_all(s), ERR_DB);
  free(bad);
}

SCRATCH_TEST(test_verify_sees_what_sqlite_does_not) {
  static const struct {
    const char *sql, *words;
  } damages[] = {
      {"PRAGMA ignore_check_constraints = ON; UPDATE image SET key = 'X'; UPDATE image_bulk SET "
       "image = 'X'",
       "key is not a hash"},
      {"UPDATE image_bulk SET cubin = zeroblob(20000)", "not what was stored"},
      {"UPDATE image_bulk SET source = ''", "not what was stored"},
      {"DELETE FROM template", "missing template"},
      {"UPDATE standing SET sec = 1 WHERE trial = 7", "trial 7 does not stand"},
      {"UPDATE standing SET rank = 0 WHERE trial = 7", "trial 7 does not stand"},
      {"DELETE FROM standing WHERE trial = 7", "trial 7 does not stand"},
      {"DROP TRIGGER sample_sealed; DROP TRIGGER sample_stands; INSERT INTO sample (trial, stage, "
       "median, spread, launches, "
       "cold,"
       "driver) VALUES (7, 'final', 5, 0, 1, 1, 1)",
       "trial 7 does not stand"},
  };
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    make_sample_file(s);
    run_sql(s->path, damages[i].sql);
    db *d;
    OK(s, db_open(s->path, DB_READ, &d, &s->e));
    FAILS(s, ERR_DB, damages[i].words, db_verify(d, &s->e));
    db_close(d);
    remove(s->path);
  }
}

/* Writes the file again as schema 2 had it. */
static void make_schema_2(scratch *s) {
  char older[160];
  auto_str sql = {0};
  snprintf(older, sizeof older, "%s.older", s->path);
  str_addf(&sql,
           "%s%s ATTACH '%s' AS n;"
           "INSERT INTO device SELECT * FROM n.device;"
           "INSERT INTO template SELECT * FROM n.template;"
           "INSERT INTO problem SELECT * FROM n.problem;"
           "INSERT INTO image SELECT * FROM n.image;"
           "INSERT INTO image_bulk SELECT * FROM n.image_bulk;"
           "INSERT INTO trial SELECT id, problem, config, status, reason, image, error, at"
           " FROM n.trial;"
           "INSERT INTO sample SELECT id, trial, stage, median, spread, launches, cold, driver,"
           " uuid, clock_mhz, power_w, temperature_c, at, memory_mhz, held, retaken, energy_j,"
           " ended, replay, batches FROM n.sample ORDER BY id;"
           "INSERT INTO estimate SELECT id, trial, model, sec, at FROM n.estimate ORDER BY id;"
           "INSERT INTO effort SELECT problem, sum(sec) FROM n.effort GROUP BY problem; DETACH n;"
           "PRAGMA application_id = %d; PRAGMA user_version = 2",
           steps[0], steps[1], s->path, 0x4174756e);
  run_sql(older, str_text(&sql));
  assert_int_equal(rename(older, s->path), 0);
}

/* The bytes of x as SQLite stores them, most significant first. */
static const char *as_stored(double x, char bytes[8]) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  for (int i = 0; i < 8; i++) {
    bytes[i] = (char)(bits >> (56 - 8 * i));
  }
  return bytes;
}

/* Flips single bits of these bytes in the file: db_verify names the row, and db_merge refuses
 * it. */
static void flipped(scratch *s, const char *bytes, size_t n, const char *words) {
  auto_str file = {0};
  db *d, *to;
  char other[160];
  snprintf(other, sizeof other, "%s/flipped.to", s->folder);
  OK(s, file_read(s->path, 1 << 28, &file, &s->e));
  char *at = memmem(file.p, file.n, bytes, n);
  assert_non_null(at);
  for (size_t bit = 0; bit < 8 * n; bit += 5) {
    at[bit / 8] ^= (char)(1 << bit % 8);
    write_file(s, s->path, file.p, file.n);
    OK(s, db_open(s->path, DB_READ, &d, &s->e));
    FAILS(s, ERR_DB, words, db_verify(d, &s->e));
    db_close(d);
    at[bit / 8] ^= (char)(1 << bit % 8);
  }
  at[n - 1] ^= 1;
  write_file(s, s->path, file.p, file.n);
  OK(s, db_open(other, DB_WRITE, &to, &s->e));
  FAILS(s, ERR_DB, words, db_merge(to, s->path, &s->e));
  db_close(to);
  at[n - 1] ^= 1;
  write_file(s, s->path, file.p, file.n);
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  OK(s, db_verify(d, &s->e));
  db_close(d);
}

SCRATCH_TEST(test_a_flipped_bit_is_told) {
  char bytes[8];
  for (int upgraded = 0; upgraded < 2; upgraded++) {
    db *d = open_writer(s);
    const int64_t trial = put_trial(s, d, "A");
    const db_sample first = {.stage = DB_SCREEN,
                             .median = 1.23e-3,
                             .spread = 0.07,
                             .launches = 3,
                             .power_w = 612.5,
                             .batches = "1.21e-3 1.25e-3"};
    OK(s, db_sample_put(d, trial, &first, &s->e));
    OK(s, db_estimate_put(d, trial, "a model", 4.56e-3, &s->e));
    put_sample(s, d, trial, DB_FINAL, 2.5e-3);
    db_close(d);
    if (upgraded) {
      make_schema_2(s);
      db_close(open_writer(s));
      run_sql(s->path, "VACUUM");
    }
    flipped(s, as_stored(1.23e-3, bytes), 8, "sample 1 (A of saxpy");
    flipped(s, as_stored(0.07, bytes), 8, "sample 1 (A of saxpy");
    flipped(s, as_stored(612.5, bytes), 8, "sample 1 (A of saxpy");
    flipped(s, "1.21e-3 1.25e-3", 15, "sample 1 (A of saxpy");
    flipped(s, as_stored(4.56e-3, bytes), 8, "estimate 1 (A of saxpy");
    remove(s->path);
  }
}

SCRATCH_TEST(test_texts_from_elsewhere_are_bounded) {
  make_sample_file(s);
  run_sql(s->path, "UPDATE trial SET config = printf('%.*c', 8388609, 'x') WHERE id = 200");
  db *d;
  db_result *rows;
  size_t n;
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  FAILS(s, ERR_DB, "longer than", db_results(d, 1, 1, saxpy_problem, &s->a, &rows, &n, &s->e));
  FAILS(s, ERR_DB, "longer than", db_results(d, 1, 1, saxpy_problem, &s->a, &rows, &n, &s->e));
  db_close(d);
  run_sql(s->path, "UPDATE trial SET config = 'x' WHERE id = 200;"
                   "UPDATE image_bulk SET cubin = zeroblob(80000000)");
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  db_image image;
  FAILS(s, ERR_LIMIT, "64 MiB", db_image_get(d, image_key, &s->a, &image, &s->e));
  OK(s, db_results(d, 1, 1, saxpy_problem, &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 200);
  db_close(d);
}

/* ---- permissions and other processes --------------------------------------------------------- */

enum { NOBODY = 65534 };

/* Root may do anything, so these tests give up its rights for a while. */
static void step_down(void) {
  if (!getuid()) {
    assert_int_equal(seteuid(NOBODY), 0);
  }
}
static void step_up(void) {
  if (!getuid()) {
    assert_int_equal(seteuid(0), 0);
  }
}

static int open_as_nobody(scratch *s, db_mode mode, db **d) {
  err_clear(&s->e);
  step_down();
  int code = db_open(s->path, mode, d, &s->e);
  step_up();
  return code;
}

SCRATCH_TEST(test_read_only_folder_and_file) {
  make_sample_file(s);
  db *d;
  chmod(s->path, 0444);
  chmod(s->folder, 0555);
  FAILS(s, ERR_DB, "cannot be written", open_as_nobody(s, DB_WRITE, &d));
  OK(s, open_as_nobody(s, DB_READ, &d));
  assert_non_null(strstr(db_note(d), "read-only"));
  assert_string_equal(best_config(s, d), "BX=1,BY=1");
  OK(s, db_verify(d, &s->e));
  db_close(d);

  chmod(s->path, 0666); /* the folder alone */
  FAILS(s, ERR_DB, "cannot be written", open_as_nobody(s, DB_WRITE, &d));
  chmod(s->path, 0000);
  FAILS(s, ERR_DB, "Permission denied", open_as_nobody(s, DB_READ, &d));
  FAILS(s, ERR_DB, "Permission denied", open_as_nobody(s, DB_WRITE, &d));
  chmod(s->path, 0444);
  char path[128];
  memcpy(path, s->path, sizeof s->path);
  snprintf(s->path, sizeof s->path, "%s/other.db", s->folder);
  FAILS(s, ERR_DB, "cannot be created", open_as_nobody(s, DB_WRITE, &d));
  memcpy(s->path, path, sizeof s->path);
}

static int write_and_die(scratch *s) {
  db *d = open_writer(s);
  put_trial(s, d, "A");
  kill(getpid(), SIGKILL);
  return 1;
}

static int change_and_die(scratch *s) {
  run_sql(s->path, "PRAGMA journal_mode = DELETE");
  sqlite3 *raw;
  sqlite3_open(s->path, &raw);
  sqlite3_exec(raw, "PRAGMA cache_size = 1; BEGIN; UPDATE image_bulk SET cubin = zeroblob(9000000)",
               NULL, NULL, NULL);
  kill(getpid(), SIGKILL);
  return 1;
}

/* A killed writer leaves a log, and an interrupted change a journal; the database is not complete
 * without them. */
SCRATCH_TEST(test_unfinished_file_in_a_read_only_folder) {
  int (*const leave[])(scratch *) = {write_and_die, change_and_die};
  for (int i = 0; i < 2; i++) {
    db *d;
    char shm[128];
    make_sample_file(s);
    assert_int_equal(child_status(fork_child(leave[i], s)), 128);
    snprintf(shm, sizeof shm, "%s-shm", s->path);
    remove(shm);
    chmod(s->folder, 0555);
    FAILS(s, ERR_DB, "copy it and the files", open_as_nobody(s, DB_READ, &d));
    chmod(s->folder, 0777);
    OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
    OK(s, db_verify(d, &s->e));
    assert_int_equal(result_of(s, d, 1).t.status, DB_OK);
    db_close(d);
    remove(s->path);
  }
}

SCRATCH_TEST(test_locked) {
  make_sample_file(s);
  sqlite3 *other;
  assert_int_equal(sqlite3_open(s->path, &other), SQLITE_OK);
  sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE", NULL, NULL, NULL);
  sqlite3_exec(other, "CREATE TABLE t (x)", NULL, NULL, NULL);
  auto_db *d = NULL;
  double start = now_sec();
  FAILS(s, ERR_DB, "in use by another program", db_open(s->path, DB_WRITE, &d, &s->e));
  assert_true(now_sec() - start > 4.5);
  sqlite3_close(other);
  d = open_writer(s);
  assert_int_equal(sqlite3_open(s->path, &other), SQLITE_OK);
  sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  int64_t id;
  db_trial t = trial_of("new");
  sqlite3_busy_timeout(d->sql, 50);
  FAILS(s, ERR_DB, "in use by another program", db_trial_put(d, 1, 1, &t, &id, &s->e));
  assert_string_equal(best_config(s, d), "BX=1,BY=1"); /* readers don't wait */
  sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
  sqlite3_close(other);
  OK(s, db_trial_put(d, 1, 1, &t, &id, &s->e));
}

enum { WRITER_ROWS = 150 };

static int write_rows(scratch *s) {
  db *d;
  int64_t device, template, id;
  err_clear(&s->e);
  int code = db_open(s->path, DB_WRITE, &d, &s->e);
  code = code ? code : db_device_put(d, &card, &device, &s->e);
  code = code ? code : db_template_put(d, &saxpy, &template, &s->e);
  for (int i = 0; !code && i < WRITER_ROWS; i++) {
    char config[32];
    snprintf(config, sizeof config, "%d,%d", i % 3 ? (int)getpid() : 0, i);
    db_trial t = trial_of(config);
    db_sample sample = sample_of(DB_FINAL, 1 + i);
    code = db_trial_put(d, template, device, &t, &id, &s->e);
    code = code ? code : db_sample_put(d, id, &sample, &s->e);
  }
  if (code) {
    fprintf(stderr, "writer: %s\n", s->e.message);
  }
  db_close(d);
  return code ? 1 : 0;
}

static size_t count_ok(scratch *s, db *d) {
  auto_arena a = {0};
  db_result *rows;
  size_t n, n_ok = 0;
  OK(s, db_results(d, 1, 1, saxpy_problem, &a, &rows, &n, &s->e));
  for (size_t i = 0; i < n; i++) {
    n_ok += rows[i].t.status == DB_OK;
  }
  return n_ok;
}

/* Two writers create the file at the same moment and store some trials in common. */
SCRATCH_TEST(test_two_writers_and_a_reader) {
  for (int round = 0; round < 5; round++) {
    snprintf(s->path, sizeof s->path, "%s/%d.db", s->folder, round);
    pid_t a = fork_child(write_rows, s), b = fork_child(write_rows, s);
    db *d = NULL;
    size_t before = 0;
    while (waitpid(a, NULL, WNOHANG | WNOWAIT) == 0 && (d || db_open(s->path, DB_READ, &d, NULL))) {
    }
    for (int i = 0; d && i < 50; i++) {
      const size_t now = count_ok(s, d);
      assert_true(now >= before);
      before = now;
    }
    db_close(d);
    assert_int_equal(child_status(a), 0);
    assert_int_equal(child_status(b), 0);
    OK(s, db_open(s->path, DB_READ, &d, &s->e));
    assert_int_equal(count_ok(s, d), 2 * WRITER_ROWS - WRITER_ROWS / 3);
    OK(s, db_verify(d, &s->e));
    db_close(d);
  }
}

/* unix-dotfile, one of SQLite's file layers, has no shared memory, so a write-ahead log is
 * impossible. */
SCRATCH_TEST(test_without_a_log) {
  sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
  sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
  db *d = open_writer(s);
  assert_non_null(strstr(db_note(d), "write-ahead log"));
  put_sample(s, d, put_trial(s, d, "A"), DB_FINAL, 1);
  db_close(d);
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  assert_string_equal(best_config(s, d), "A");
  OK(s, db_verify(d, &s->e));
  db_close(d);
  sqlite3_vfs_register(usual, 1);
}

/* ---- versions and places ----------------------------------------------------------------- */

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
      "ALTER TABLE device ADD COLUMN memory INTEGER NOT NULL DEFAULT 0",
      "CREATE TABLE note (text TEXT) STRICT; INSERT INTO note SELECT name FROM device"};
  static const char *const broken[] = {
      "", "", "", "", "", "CREATE TABLE half (x INTEGER) STRICT", "CREATE TABEL"};
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

/* The host and the sequence of a fact are part of its digest. */
SCRATCH_TEST(test_a_changed_key_is_found) {
  static const char *const changes[] = {"UPDATE host SET key = replace(key, 'a', 'b') || 'c'",
                                        "UPDATE sample SET run = run + 1 WHERE id = 3",
                                        "UPDATE sample SET sequence = sequence + 1 WHERE id = 3"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    make_sample_file(s);
    run_sql(s->path, changes[i]);
    db *d;
    OK(s, db_open(s->path, DB_READ, &d, &s->e));
    err_clear(&s->e);
    assert_int_equal(db_verify(d, &s->e), ERR_DB);
    db_close(d);
    remove(s->path);
  }
}

SCRATCH_TEST(test_default_path) {
  const char *path;
  setenv("XDG_DATA_HOME", "/data", 1);
  unsetenv("TUNED_DB");
  OK(s, db_default_path(&s->a, &path, &s->e));
  assert_string_equal(path, "/data/autotune/tuned.db");
  setenv("TUNED_DB", "mine.db", 1);
  OK(s, db_default_path(&s->a, &path, &s->e));
  assert_string_equal(path, "mine.db");
  setenv("TUNED_DB", "", 1);
  unsetenv("XDG_DATA_HOME");
  setenv("HOME", "/home/x", 1);
  OK(s, db_default_path(&s->a, &path, &s->e));
  assert_string_equal(path, "/home/x/.local/share/autotune/tuned.db");
  unsetenv("HOME");
  FAILS(s, ERR_IO, "--db", db_default_path(&s->a, &path, &s->e));
}

int main(void) {
  return tests_run();
}
