/* test_image_cache.c -- the cache of compiled images: what is stored comes back, is bounded, and a
 * damaged, foreign, full or contended file never costs more than a compilation. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "db_sql.h"
#include "db_fixture.h"
#include "image_cache.h"
#include "random.h"

static image_cache *open_cache(scratch *s, uint64_t max_nbytes) {
  image_cache *c;
  OK(s, image_cache_open(s->path, max_nbytes, &c, &s->e));
  return c;
}

static void key_of(unsigned i, char key[HASH_TEXT]) {
  hash_bytes(&i, sizeof i, key);
}

static cached_image cached_of(unsigned i, unsigned char *bytes, size_t n) {
  memset(bytes, (int)i, n);
  return (cached_image){
      .log = "ptxas info : ...", .cubin = bytes, .n_cubin = n, .ptx = "ptx", .n_ptx = 3};
}

static int put_if_possible(image_cache *c, unsigned i, size_t nbytes, err *e) {
  char key[HASH_TEXT];
  unsigned char bytes[4096];
  const cached_image row = cached_of(i, bytes, nbytes);
  key_of(i, key);
  return image_cache_put(c, key, &row, e);
}

static void put(scratch *s, image_cache *c, unsigned i, size_t nbytes) {
  OK(s, put_if_possible(c, i, nbytes, &s->e));
}

static bool has(scratch *s, image_cache *c, unsigned i) {
  char key[HASH_TEXT];
  cached_image row;
  key_of(i, key);
  err_clear(&s->e);
  const int rc = image_cache_get(c, key, &s->a, &row, &s->e);
  if (rc && rc != ERR_NOTFOUND) {
    fail_msg("image_cache_get: %s", s->e.message);
  }
  if (!rc) {
    assert_true(row.n_cubin > 0 &&
                ((const unsigned char *)row.cubin)[row.n_cubin - 1] == (unsigned char)i);
    assert_string_equal(row.log, "ptxas info : ...");
    assert_memory_equal(row.ptx, "ptx", 3);
  }
  return !rc;
}

static void execute(scratch *s, const char *sql) {
  sqlite3 *other;
  assert_int_equal(sqlite3_open(s->path, &other), SQLITE_OK);
  if (sqlite3_exec(other, sql, NULL, NULL, NULL)) {
    fail_msg("%s: %s", sql, sqlite3_errmsg(other));
  }
  sqlite3_close(other);
}

SCRATCH_TEST(what_was_put_is_found_by_another_handle) {
  image_cache *c = open_cache(s, 0);
  assert_false(has(s, c, 1));
  put(s, c, 1, 1000);
  put(s, c, 1, 1000); /* again: no error */
  image_cache *other = open_cache(s, 0);
  assert_true(has(s, other, 1));
  assert_false(has(s, other, 2));
  image_cache_close(other);
  image_cache_close(c);
}

SCRATCH_TEST(least_recently_used_images_are_dropped_first) {
  image_cache *c = open_cache(s, 20000);
  for (unsigned i = 1; i <= 15; i++) {
    put(s, c, i, 1000);
  }
  execute(s, "UPDATE image SET used = used - 100000");
  assert_true(has(s, c, 3)); /* which notes that it was used */
  for (unsigned i = 16; i <= 30; i++) {
    put(s, c, i, 1000);
  }
  image_cache_totals totals;
  OK(s, image_cache_stat(c, &totals, &s->e));
  assert_in_range(totals.nbytes, 10000, 20000);
  assert_true(has(s, c, 3));
  assert_true(has(s, c, 30));
  assert_false(has(s, c, 1));
  image_cache_close(c);
}

SCRATCH_TEST(image_that_would_fill_the_cache_is_not_stored) {
  image_cache *c = open_cache(s, 20000);
  put(s, c, 1, 1000);
  put(s, c, 2, 4000);
  assert_true(has(s, c, 1));
  assert_false(has(s, c, 2));
  image_cache_close(c);
}

SCRATCH_TEST(damaged_image_is_dropped) {
  int64_t n_damaged;
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  put(s, c, 2, 1000);
  put(s, c, 3, 1000);
  execute(s, "UPDATE image SET cubin = zeroblob(1000) WHERE rowid = 1");
  execute(s, "UPDATE image SET log = log || ' ' WHERE rowid = 2");
  assert_false(has(s, c, 1));
  OK(s, image_cache_verify(c, &n_damaged, &s->e));
  assert_int_equal(n_damaged, 1);
  OK(s, image_cache_verify(c, &n_damaged, &s->e));
  assert_int_equal(n_damaged, 0);
  assert_true(has(s, c, 3));
  image_cache_close(c);
}

static void damage_all_but_the_schema(scratch *s) {
  str whole = {0};
  OK(s, file_read(s->path, 1 << 24, &whole, &s->e));
  memset(whole.p + 4096, 0xa5, whole.n - 4096);
  OK(s, file_write(s->path, whole.p, whole.n, &s->e));
  str_clear(&whole);
}

SCRATCH_TEST(file_damaged_inside_is_begun_anew_by_verify) {
  int64_t n_damaged;
  image_cache_totals totals;
  image_cache *c = open_cache(s, 0);
  for (unsigned i = 0; i < 40; i++) {
    put(s, c, i, 1000);
  }
  image_cache_close(c);
  damage_all_but_the_schema(s);
  c = open_cache(s, 0);
  OK(s, image_cache_verify(c, &n_damaged, &s->e));
  assert_true(n_damaged > 0);
  OK(s, image_cache_stat(c, &totals, &s->e));
  assert_int_equal(totals.n, 0);
  put(s, c, 1, 1000);
  assert_true(has(s, c, 1));
  OK(s, image_cache_clear(c, &s->e));
  image_cache_close(c);
}

/* Whatever bytes of the file change, a get finds the image as it was, or none. */
SCRATCH_TEST(turned_bits_never_come_back_as_an_image) {
  str whole = {0}, changed = {0};
  uint64_t random = 7;
  image_cache *c = open_cache(s, 0);
  for (unsigned i = 0; i < 40; i++) {
    put(s, c, i, 1000);
  }
  image_cache_close(c);
  OK(s, file_read(s->path, 1 << 24, &whole, &s->e));
  for (int round = 0; round < 200; round++) {
    str_reset(&changed);
    str_add_n(&changed, whole.p, whole.n);
    for (int k = 0; k < 8; k++) {
      changed.p[random_below(&random, changed.n)] ^= (char)(1 << random_below(&random, 8));
    }
    OK(s, db_remove(s->path, &s->e));
    OK(s, file_write(s->path, changed.p, changed.n, &s->e));
    if (image_cache_open(s->path, 0, &c, NULL)) {
      continue; /* a version that looks newer, say: told, and every image is compiled */
    }
    for (unsigned i = 0; i < 40; i++) {
      has(s, c, i);
    }
    put_if_possible(c, 99, 1000, NULL); /* not into a file whose header says that it is read-only */
    image_cache_close(c);
  }
  str_clear(&whole);
  str_clear(&changed);
}

SCRATCH_TEST(file_of_garbage_is_begun_anew) {
  char garbage[8192];
  memset(garbage, 'x', sizeof garbage);
  OK(s, file_write(s->path, garbage, sizeof garbage, &s->e));
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

/* A folder in the place of a journal, which unlink refuses. */
SCRATCH_TEST(damaged_file_that_cannot_be_deleted_is_an_error) {
  char journal[128];
  int64_t n_damaged;
  image_cache_totals totals;
  image_cache_health is;
  image_cache *c = open_cache(s, 0);
  for (unsigned i = 0; i < 40; i++) {
    put(s, c, i, 1000);
  }
  image_cache_close(c);
  damage_all_but_the_schema(s);
  c = open_cache(s, 0);
  snprintf(journal, sizeof journal, "%s-journal", s->path);
  assert_int_equal(mkdir(journal, 0700), 0);
  FAILS(s, ERR_IO, "cannot be deleted", image_cache_verify(c, &n_damaged, &s->e));
  assert_false(has(s, c, 1));
  put(s, c, 1, 1000); /* without effect */
  assert_int_not_equal(image_cache_stat(c, &totals, &s->e), 0);
  assert_int_not_equal(image_cache_clear(c, &s->e), 0);
  assert_int_not_equal(image_cache_check(c, &is, &s->e), 0);
  assert_int_equal(rmdir(journal), 0);
  OK(s, image_cache_stat(c, &totals, &s->e));
  assert_int_equal(totals.n, 0);
  put(s, c, 1, 1000);
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

SCRATCH_TEST(check_tells_what_it_found) {
  char garbage[8192];
  image_cache_health is;
  image_cache_totals totals;
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  put(s, c, 2, 1000);
  OK(s, image_cache_check(c, &is, &s->e));
  assert_false(is.begun_anew);
  assert_int_equal(is.n_damaged, 0);
  execute(s, "UPDATE image SET cubin = zeroblob(1000) WHERE rowid = 1");
  OK(s, image_cache_check(c, &is, &s->e));
  assert_int_equal(is.n_damaged, 1);
  OK(s, image_cache_stat(c, &totals, &s->e));
  assert_int_equal(totals.n, 1); /* nothing is left of the row that was written */
  image_cache_close(c);
  memset(garbage, 'x', sizeof garbage);
  OK(s, file_write(s->path, garbage, sizeof garbage, &s->e));
  c = open_cache(s, 0);
  OK(s, image_cache_check(c, &is, &s->e));
  assert_true(is.begun_anew);
  image_cache_close(c);
}

SCRATCH_TEST(file_of_a_newer_version_is_left_alone) {
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  image_cache_close(c);
  execute(s, "PRAGMA user_version = 99");
  FAILS(s, ERR_DB, "TUNED_CACHE", image_cache_open(s->path, 0, &c, &s->e));
  FAILS(s, ERR_DB, "newer version", image_cache_open(s->path, 0, &c, &s->e));
  execute(s, "PRAGMA user_version = 3");
  c = open_cache(s, 0);
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

SCRATCH_TEST(file_that_others_can_write_is_refused) {
  image_cache *c = open_cache(s, 0);
  image_cache_close(c);
  chmod(s->path, 0666);
  FAILS(s, ERR_DB, "others can write", image_cache_open(s->path, 0, &c, &s->e));
}

SCRATCH_TEST(cleared_cache_gives_its_space_back) {
  image_cache_totals totals;
  struct stat before, after;
  image_cache *c = open_cache(s, 0);
  for (unsigned i = 0; i < 100; i++) {
    put(s, c, i, 4000);
  }
  image_cache_close(c);
  assert_int_equal(stat(s->path, &before), 0);
  c = open_cache(s, 0);
  OK(s, image_cache_clear(c, &s->e));
  OK(s, image_cache_stat(c, &totals, &s->e));
  image_cache_close(c);
  assert_int_equal(stat(s->path, &after), 0);
  assert_int_equal(totals.n, 0);
  assert_true(after.st_size < before.st_size / 4);
}

SCRATCH_TEST(full_disk_loses_only_what_does_not_fit) {
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  image_cache_close(c);
  const pid_t child = fork();
  if (!child) {
    const struct rlimit most = {65536, 65536}; /* of every file; as a full disk, a write fails */
    int failed = 0;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &most);
    if (image_cache_open(s->path, 0, &c, NULL)) {
      _exit(2);
    }
    for (unsigned i = 10; i < 60; i++) {
      failed += put_if_possible(c, i, 4096, NULL) != 0;
    }
    image_cache_health is;
    failed += image_cache_check(c, &is, NULL) ? 100 : 0;
    _exit(failed <= 100);
  }
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
  c = open_cache(s, 0);
  assert_true(has(s, c, 1));
  put(s, c, 2, 1000);
  assert_true(has(s, c, 2));
  image_cache_close(c);
}

SCRATCH_TEST(killed_writers_leave_a_sound_cache) {
  int64_t n_damaged;
  for (int round = 0; round < 20; round++) {
    const pid_t child = fork();
    if (!child) {
      image_cache *c = open_cache(s, 0);
      for (unsigned i = 0;; i++) {
        put(s, c, (unsigned)round * 100000 + i, 3000);
      }
    }
    usleep(3000 + 500 * (useconds_t)round);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
  image_cache *c = open_cache(s, 0);
  OK(s, image_cache_verify(c, &n_damaged, &s->e));
  assert_int_equal(n_damaged, 0);
  put(s, c, 1, 1000);
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

/* In a child, since root can write everything. */
static void put_note(scratch *s, image_cache *c, const char *maker, const char *name,
                     const char *value) {
  const cached_note x = {.name = name, .value = value, .nbytes = strlen(value) + 1};
  OK(s, image_cache_put_notes(c, maker, &x, 1, &s->e));
}

static bool has_note(scratch *s, image_cache *c, const char *maker, const char *name,
                     const char *value) {
  cached_note x;
  return !image_cache_get_note(c, maker, name, &s->a, &x, NULL) && !strcmp(x.value, value);
}

static size_t count_notes(scratch *s, image_cache *c, const char *maker) {
  const cached_note *notes;
  size_t n;
  OK(s, image_cache_get_notes(c, maker, &s->a, &notes, &n, &s->e));
  return n;
}

SCRATCH_TEST(notes_count_for_their_maker) {
  image_cache *c = open_cache(s, 0);
  put_note(s, c, "one", "a", "first");
  put_note(s, c, "one", "a", "second");
  put_note(s, c, "one", "b", "third");
  image_cache_close(c);
  c = open_cache(s, 0);
  assert_true(has_note(s, c, "one", "a", "second") && has_note(s, c, "one", "b", "third"));
  assert_false(has_note(s, c, "other", "a", "second"));
  assert_int_equal(count_notes(s, c, "one"), 2);
  assert_int_equal(count_notes(s, c, "other"), 0);
  OK(s, image_cache_clear(c, &s->e));
  assert_int_equal(count_notes(s, c, "one"), 0);
  image_cache_close(c);
}

SCRATCH_TEST(damaged_notes_are_left_out) {
  image_cache *c = open_cache(s, 0);
  put_note(s, c, "maker", "a", "first");
  put_note(s, c, "maker", "b", "second");
  put_note(s, c, "maker", "c", "third");
  execute(s, "UPDATE note SET value = CAST('fir5t' || x'00' AS BLOB) WHERE name = 'a'");
  execute(s, "UPDATE note SET name = 'd' WHERE name = 'b'");
  assert_int_equal(count_notes(s, c, "maker"), 1);
  assert_false(has_note(s, c, "maker", "a", "fir5t") || has_note(s, c, "maker", "d", "second"));
  assert_true(has_note(s, c, "maker", "c", "third"));
  put_note(s, c, "maker", "a", "first");
  assert_true(has_note(s, c, "maker", "a", "first"));
  image_cache_close(c);
}

static int read_as_another_user(scratch *s) {
  image_cache *c;
  image_cache_health is;
  err e = {0};
  if (!getuid() && (setgid(65534) || setuid(65534))) {
    return 2;
  }
  if (image_cache_open(s->path, 0, &c, &e)) {
    return 3;
  }
  const bool found = has(s, c, 1) && has_note(s, c, "maker", "name", "value");
  const bool refused = put_if_possible(c, 2, 1000, NULL) && image_cache_check(c, &is, &e) &&
                       strstr(e.message, "cannot be written");
  image_cache_close(c);
  return found ? refused ? 0 : 4 : 5;
}

SCRATCH_TEST(file_that_cannot_be_written_is_read) {
  int status;
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  put_note(s, c, "maker", "name", "value");
  image_cache_close(c);
  chmod(s->path, 0444);
  chmod(s->folder, 0555);
  const pid_t child = fork();
  if (!child) {
    _exit(read_as_another_user(s));
  }
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int count(scratch *s, const char *condition) {
  sqlite3 *other;
  sqlite3_stmt *q;
  char sql[100];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM image WHERE %s", condition);
  assert_int_equal(sqlite3_open(s->path, &other), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(other, sql, -1, &q, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(q), SQLITE_ROW);
  const int n = sqlite3_column_int(q, 0);
  sqlite3_finalize(q);
  sqlite3_close(other);
  return n;
}

/* ---- of all users ----------------------------------------------------------------------------- */

static const char FORM[] = "0123456789abcdef0123456789abcdef";

/* As put, and found by its form. */
static void put_form(scratch *s, image_cache *c, unsigned i) {
  char key[HASH_TEXT];
  unsigned char bytes[1000];
  cached_image row = cached_of(i, bytes, sizeof bytes);
  row.form = FORM;
  key_of(i, key);
  OK(s, image_cache_put(c, key, &row, &s->e));
}

static bool has_form(scratch *s, image_cache *c) {
  cached_image row;
  return !image_cache_get_form(c, FORM, &s->a, &row, &s->e);
}

/* An image in FOLDER/shared; s->path becomes that file. */
static void make_shared(scratch *s) {
  snprintf(s->path, sizeof s->path, "%s/shared/images.db", s->folder);
  image_cache *c = open_cache(s, 0);
  put_form(s, c, 1);
  put_note(s, c, "maker", "a", "first");
  image_cache_close(c);
}

static int open_folders(scratch *s, const char *own, image_cache **c) {
  char folders[256];
  snprintf(folders, sizeof folders, "%s/own:%s/absent::%s/shared", own, s->folder, s->folder);
  setenv("TUNED_CACHE", folders, 1);
  return image_cache_open_all(c, &s->e);
}

SCRATCH_TEST(images_of_further_folders_are_found) {
  image_cache *c;
  make_shared(s);
  OK(s, open_folders(s, s->folder, &c));
  assert_true(has(s, c, 1));
  assert_true(has_form(s, c));
  assert_false(has(s, c, 2));
  put(s, c, 2, 1000);
  put_note(s, c, "maker", "b", "second");
  assert_true(has(s, c, 2));
  assert_true(has_note(s, c, "maker", "a", "first") && has_note(s, c, "maker", "b", "second"));
  assert_int_equal(count_notes(s, c, "maker"), 2);
  image_cache_close(c);
  c = open_cache(s, 0);
  assert_false(has(s, c, 2)); /* it was put into the user's own */
  assert_int_equal(count_notes(s, c, "maker"), 1);
  image_cache_close(c);
}

SCRATCH_TEST(further_folders_are_only_read) {
  image_cache *c;
  make_shared(s);
  execute(s, "UPDATE image SET used = 7");
  OK(s, open_folders(s, "/proc/none", &c));
  assert_true(has(s, c, 1));
  put(s, c, 3, 1000); /* without effect */
  assert_false(has(s, c, 3));
  image_cache_close(c);
  assert_int_equal(count(s, "used = 7"), 1);
  execute(s, "UPDATE image SET cubin = zeroblob(1000)");
  OK(s, open_folders(s, s->folder, &c));
  assert_false(has(s, c, 1));
  assert_false(has_form(s, c));
  put_form(s, c, 1); /* the user's own serves instead */
  assert_true(has(s, c, 1));
  assert_true(has_form(s, c));
  image_cache_close(c);
  assert_int_equal(count(s, "used = 7"), 1);
}

/* As a file of the user's own. */
SCRATCH_TEST(further_folders_are_not_trusted_blindly) {
  image_cache *c;
  make_shared(s);
  chmod(s->path, 0666);
  OK(s, open_folders(s, s->folder, &c));
  assert_false(has(s, c, 1));
  image_cache_close(c);
  FAILS(s, ERR_IO, "/proc/none", open_folders(s, "/proc/none", &c));
  chmod(s->path, 0644);
  OK(s, open_folders(s, s->folder, &c));
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

/* ---- of an earlier version ---------------------------------------------------------------------- */

/* Version 1 had neither forms nor notes. */
static void make_version_1(scratch *s) {
  execute(
      s,
      "DROP TABLE note; DROP INDEX image_form; ALTER TABLE image DROP COLUMN form; PRAGMA user_version = 1");
}

SCRATCH_TEST(images_of_version_1_are_kept) {
  image_cache *c = open_cache(s, 0);
  put(s, c, 1, 1000);
  image_cache_close(c);
  make_version_1(s);
  c = open_cache(s, 0);
  assert_true(has(s, c, 1));
  assert_false(has_form(s, c));
  put_form(s, c, 2);
  assert_true(has_form(s, c));
  put_form(s, c, 1); /* its key is known: it gets the form */
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

/* What must not be written cannot be brought up to date. */
SCRATCH_TEST(shared_file_of_version_1_is_left_alone) {
  image_cache *c;
  make_shared(s);
  make_version_1(s);
  OK(s, open_folders(s, s->folder, &c));
  assert_false(has(s, c, 1));
  image_cache_close(c);
  c = open_cache(s, 0); /* its owner opens it */
  assert_true(has(s, c, 1));
  image_cache_close(c);
  OK(s, open_folders(s, s->folder, &c));
  assert_true(has(s, c, 1));
  image_cache_close(c);
}

int main(void) {
  return tests_run();
}
