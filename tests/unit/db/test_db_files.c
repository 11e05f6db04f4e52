/* test_db_files.c -- database files that are broken, foreign, locked, read-only or of a newer
 * version: each costs one line of explanation, or works as far as it can. */
#define _GNU_SOURCE
#include "older_db.h"

#include "db_sql.h"

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
          "written by a newer version (schema 99, this program knows 6); upgrade autotune "
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

/* ---- keys and places --------------------------------------------------------------------- */

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
