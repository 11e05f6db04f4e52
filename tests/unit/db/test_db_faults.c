/* test_db_faults.c -- the database when memory, disk, SQL steps or the process itself fail.
 *
 * Three small scenarios: create a database; store and read one row of each kind; read only. Each
 * runs with the first, the second, ... the k-th allocation (file call, SQL step) failing, until k
 * exceeds their number. After any failure there is a message of one line, no leak, a sound file,
 * and every row whose put returned 0. */
#define _GNU_SOURCE
#include "db_fixture.h"
#include "db_text.h"
#include "random.h"

#include <assert.h>
#include <sqlite3.h>

/* ---- the fault: the k-th of something fails -------------------------------------------------- */

static struct {
  long left;    /* until the fault; 0 or less: none is armed */
  bool forever; /* once it failed it keeps failing, as a full disk does */
  long n_fired;
  int rc;      /* files: what a failing call returns */
  bool no_shm; /* files: memory cannot be shared between processes */
} fault;

static void fault_arm(long k, bool forever, int rc) {
  fault.left = k;
  fault.forever = forever;
  fault.n_fired = 0;
  fault.rc = rc;
}

static bool fault_fires(void) {
  bool fires = fault.left > 0 && (--fault.left == 0);
  if (fires && fault.forever) {
    fault.left = 1;
  }
  fault.n_fired += fires;
  return fires;
}

/* ---- allocations, through SQLITE_CONFIG_MALLOC ----------------------------------------------- */

static sqlite3_mem_methods real_memory;
static bool memory_faults; /* whether allocations count */

static void *faulty_malloc(int n) {
  return memory_faults && fault_fires() ? NULL : real_memory.xMalloc(n);
}

static void *faulty_realloc(void *p, int n) {
  return memory_faults && fault_fires() ? NULL : real_memory.xRealloc(p, n);
}

static void install_memory(void) {
  assert(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory) == SQLITE_OK);
  sqlite3_mem_methods faulty = real_memory;
  faulty.xMalloc = faulty_malloc;
  faulty.xRealloc = faulty_realloc;
  assert(sqlite3_config(SQLITE_CONFIG_MALLOC, &faulty) == SQLITE_OK);
}

/* ---- files: SQLite's usual layer with some methods replaced ---------------------------------- */

static sqlite3_vfs file_layer; /* a copy of the usual one, but for xOpen */
static int (*real_open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
static const sqlite3_io_methods *real_io[2]; /* of the database itself; of the files beside it */
static sqlite3_io_methods faulty_io[2];
#define REAL(f) real_io[(f)->pMethods == &faulty_io[1]]

static int faulty_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
  return fault_fires() ? fault.rc : REAL(f)->xWrite(f, p, n, at);
}
static int faulty_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) {
  return fault.rc == SQLITE_IOERR && fault_fires() ? SQLITE_IOERR_READ
                                                   : REAL(f)->xRead(f, p, n, at);
}
static int faulty_sync(sqlite3_file *f, int flags) {
  return fault_fires() ? fault.rc : REAL(f)->xSync(f, flags);
}
static int faulty_truncate(sqlite3_file *f, sqlite3_int64 n) {
  return fault_fires() ? fault.rc : REAL(f)->xTruncate(f, n);
}
static int faulty_shm(sqlite3_file *f, int i, int n, int extend, void volatile **p) {
  if (fault.no_shm) {
    return SQLITE_IOERR_SHMMAP;
  }
  return fault_fires() ? fault.rc : REAL(f)->xShmMap(f, i, n, extend, p);
}

static int faulty_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out) {
  if (fault_fires()) {
    f->pMethods = NULL;
    return fault.rc == SQLITE_FULL ? SQLITE_FULL : SQLITE_CANTOPEN;
  }
  int rc = real_open(v, name, f, flags, out);
  if (!rc) {
    int i = flags & SQLITE_OPEN_MAIN_DB ? 0 : 1;
    real_io[i] = f->pMethods;
    faulty_io[i] = *real_io[i];
    faulty_io[i].xWrite = faulty_write;
    faulty_io[i].xRead = faulty_read;
    faulty_io[i].xSync = faulty_sync;
    faulty_io[i].xTruncate = faulty_truncate;
    faulty_io[i].xShmMap = i ? NULL : faulty_shm;
    f->pMethods = &faulty_io[i];
  }
  return rc;
}

static void install_files(void) {
  file_layer = *sqlite3_vfs_find(NULL);
  real_open = file_layer.xOpen;
  file_layer.xOpen = faulty_open;
  file_layer.zName = "faulty";
  file_layer.pNext = NULL;
  assert(sqlite3_vfs_register(&file_layer, 1) == SQLITE_OK);
}

static void remove_files(void) {
  sqlite3_vfs_unregister(&file_layer);
}

/* ---- SQL steps: every connection opened gets a progress handler ------------------------------ */

static int step_faults(void *unused) {
  (void)unused;
  return fault_fires();
}

static int on_connect(sqlite3 *sql, char **message, const struct sqlite3_api_routines *api) {
  (void)message, (void)api;
  sqlite3_progress_handler(sql, 1, step_faults, NULL);
  return SQLITE_OK;
}

/* ---- the scenarios --------------------------------------------------------------------------- */

typedef enum put { DEVICE, TEMPLATE, IMAGE, TRIAL, SAMPLE, ESTIMATE, N_PUTS } put;
static const char *const put_table[N_PUTS] = {"device", "template", "image",
                                              "trial",  "sample",   "estimate"};

static char cubin[9000];

static int put_one(db *d, put what, err *e) {
  int64_t id;
  db_image image = image_of(image_key, cubin, sizeof cubin);
  db_trial trial = trial_of("BX=64");
  db_sample sample = sample_of(DB_FINAL, 1e-3);
  trial.image = image_key;
  switch (what) {
  case DEVICE: return db_device_put(d, &card, &id, e);
  case TEMPLATE: return db_template_put(d, &saxpy, &id, e);
  case IMAGE: return db_image_put(d, &image, e);
  case TRIAL: return db_trial_put(d, 1, 1, &trial, &id, e);
  case SAMPLE: return db_sample_put(d, 1, &sample, e);
  default: return db_estimate_put(d, 1, "emu:h200 1", 1e-3, e);
  }
}

/* The best results, as serving looks for neighbours and as text. */
static int get_best(db *d, arena *a, err *e) {
  db_known known[2];
  db_line *lines;
  size_t n;
  int64_t changes;
  TRY(db_changes(d, &changes, e));
  TRY(db_known_list(d, saxpy.hash, "another", card.cc, 2, a, known, &n, e));
  assert_int_equal(n, 1);
  assert_string_equal(known[0].config, "BX=64");
  TRY(db_lines(d, "saxpy", card.key, a, &lines, &n, e));
  assert_int_equal(n, 1);
  assert_true(lines[0].sec == 1e-3 && lines[0].kind == DB_KIND_FINAL);
  return 0;
}

/* Reads; what succeeds must be right. */
static int get_all(db *d, arena *a, err *e) {
  db_image image;
  db_result best, *results;
  db_problem *problems;
  size_t n;
  TRY(db_image_get(d, image_key, a, &image, e));
  assert_int_equal(image.n_cubin, sizeof cubin);
  assert_memory_equal(image.cubin, cubin, sizeof cubin);
  TRY(db_best(d, saxpy.hash, card.key, saxpy_problem, a, &best, e));
  assert_string_equal(best.t.config, "BX=64");
  TRY(db_results(d, 1, 1, saxpy_problem, a, &results, &n, e));
  assert_int_equal(n, 1);
  assert_true(results[0].t.status == DB_OK && results[0].median == 1e-3 && results[0].regs == 32);
  TRY(db_problems(d, NULL, a, &problems, &n, e));
  assert_int_equal(n, 1);
  assert_string_equal(problems[0].config, "BX=64");
  TRY(get_best(d, a, e));
  return db_verify(d, e);
}

typedef enum start { NO_FILE, EMPTY_TABLES, ONE_ROW_EACH } start;

typedef struct scenario {
  start from;
  int (*run)(scratch *s, db *d, int *stored); /* stored: puts that returned 0 */
  db_mode mode;
} scenario;

static int run_nothing(scratch *s, db *d, int *stored) {
  (void)s, (void)d, (void)stored;
  return 0;
}

static int run_puts(scratch *s, db *d, int *stored) {
  for (*stored = 0; *stored < N_PUTS; ++*stored) {
    TRY(put_one(d, (put)*stored, &s->e));
  }
  return 0;
}

static int run_gets(scratch *s, db *d, int *stored) {
  *stored = N_PUTS;
  return get_all(d, &s->a, &s->e);
}

static const scenario scenarios[] = {{NO_FILE, run_nothing, DB_WRITE},
                                     {EMPTY_TABLES, run_puts, DB_WRITE},
                                     {ONE_ROW_EACH, run_gets, DB_READ}};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* ---- all k ----------------------------------------------------------------------------------- */

static void remove_database(const char *path) {
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    char name[128];
    snprintf(name, sizeof name, "%s%s", path, endings[i]);
    remove(name);
  }
}

/* The file that the scenario starts from, as bytes. */
static void make_start(scratch *s, start from, str *file) {
  db *d;
  int stored;
  if (from != NO_FILE) {
    OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
    if (from == ONE_ROW_EACH) {
      OK(s, run_puts(s, d, &stored));
    }
    db_close(d);
    OK(s, file_read(s->path, 1 << 24, file, &s->e));
    remove_database(s->path);
  }
}

static void put_start(scratch *s, const str *file) {
  remove_database(s->path);
  if (file->n) {
    FILE *f = fopen(s->path, "wb"); /* not file_write: no need to wait for the disk */
    assert_int_equal(fwrite(file->p, 1, file->n, f), file->n);
    assert_int_equal(fclose(f), 0);
  }
}

/* Without faults: the file is sound and has every stored row. */
static void check_after(scratch *s, int stored) {
  auto_db *d = NULL;
  db_stats stats;
  OK(s, db_open(s->path, DB_WRITE, &d, &s->e));
  OK(s, db_stat(d, &stats, &s->e));
  for (int i = 0; i < stored; i++) {
    int t = 0;
    while (strcmp(stats.tables[t].table, put_table[i])) {
      t++;
    }
    assert_int_equal(stats.tables[t].rows, 1);
  }
  OK(s, db_verify(d, &s->e));
}

/* One run with a fault armed; returns whether it fired. */
static bool run_once(scratch *s, const scenario *c, long k) {
  sqlite3_int64 before = sqlite3_memory_used();
  db *d;
  int stored = 0;
  err_clear(&s->e);
  int code = db_open(s->path, c->mode, &d, &s->e);
  bool opened = !code;
  code = code ? code : c->run(s, d, &stored);
  db_close(d);
  long fired = fault.n_fired;
  fault_arm(0, false, 0);
  arena_clear(&s->a);
  if (code && (!fired || code != s->e.code || !s->e.message[0] || strchr(s->e.message, '\n'))) {
    fail_msg("k = %ld: %s \"%s\"", k, err_name(code), s->e.message);
  }
  if (sqlite3_memory_used() != before) {
    fail_msg("k = %ld: %ld bytes leaked", k, (long)(sqlite3_memory_used() - before));
  }
  if (c->mode == DB_WRITE && (opened || c->from == NO_FILE)) {
    check_after(s, stored);
  }
  return fired;
}

/* Fails the k-th call, for all k of every scenario; returns their number. Beyond DENSE, where
 * thousands of allocations parse one statement of the schema after the other, only each STRIDE-th
 * fails: that meets every statement, though not at every place. */
static long for_all_k(scratch *s, bool forever, int rc) {
  enum { DENSE = 250, STRIDE = 97 };
  long total = 0;
  for (int i = 0; i < N_SCENARIOS; i++) {
    auto_str file = {0};
    make_start(s, scenarios[i].from, &file);
    for (long k = 1;; k += k < DENSE ? 1 : STRIDE) {
      put_start(s, &file);
      fault_arm(k, forever, rc);
      if (!run_once(s, &scenarios[i], k)) {
        break;
      }
      total++;
    }
  }
  return total;
}

SCRATCH_TEST(test_every_allocation_fails) {
  memory_faults = true;
  long n = for_all_k(s, false, 0);
  memory_faults = false;
  print_message("%ld allocations failed\n", n);
  assert_true(n > 1000);
}

SCRATCH_TEST(test_every_step_fails) {
  sqlite3_auto_extension((void (*)(void))on_connect);
  long n = for_all_k(s, false, 0);
  sqlite3_cancel_auto_extension((void (*)(void))on_connect);
  print_message("%ld SQL steps interrupted\n", n);
  assert_true(n > 50);
}

SCRATCH_TEST(test_every_file_call_fails) {
  install_files();
  long once = for_all_k(s, false, SQLITE_IOERR);
  long forever = for_all_k(s, true, SQLITE_IOERR);
  remove_files();
  print_message("%ld file calls failed once, %ld for ever\n", once, forever);
  assert_true(once > 100 && forever > 100);
}

SCRATCH_TEST(test_disk_full_at_every_write) {
  install_files();
  long n = for_all_k(s, true, SQLITE_FULL);
  remove_files();
  print_message("disk full at each of %ld writes\n", n);
  assert_true(n > 50);
}

/* A full disk is reported as such, earlier rows stay readable meanwhile, and writing works again
 * afterwards. */
SCRATCH_TEST(test_disk_full_during_a_put) {
  install_files();
  db *d = open_writer(s);
  put_sample(s, d, put_trial(s, d, "A"), DB_FINAL, 1e-3);
  db_image image = image_of(image_key, cubin, sizeof cubin);
  fault_arm(1, true, SQLITE_FULL);
  FAILS(s, ERR_DB, "free some space", db_image_put(d, &image, &s->e));
  db_result r;
  OK(s, db_best(d, saxpy.hash, card.key, saxpy_problem, &s->a, &r, &s->e));
  assert_string_equal(r.t.config, "A");
  fault_arm(0, false, 0);
  OK(s, db_image_put(d, &image, &s->e));
  OK(s, db_verify(d, &s->e));
  db_close(d);
  remove_files();
}

/* On a file system that cannot map shared memory the switch to WAL fails half-way. */
SCRATCH_TEST(test_without_shared_memory) {
  install_files();
  fault.no_shm = true;
  for (int i = 0; i < 2; i++) {
    auto_db *d = open_writer(s);
    assert_non_null(strstr(db_note(d), "write-ahead log"));
    put_sample(s, d, put_trial(s, d, "A"), DB_FINAL, 1e-3);
    OK(s, db_verify(d, &s->e));
    db *reader; /* the writer does not lock others out */
    OK(s, db_open(s->path, DB_READ, &reader, &s->e));
    OK(s, db_verify(reader, &s->e));
    db_close(reader);
  }
  fault.no_shm = false;
  db_close(open_writer(s));
  remove_files();
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

/* Stores trials from `first` on, each with an image and a sample, and reports each through the
 * pipe, until it is killed. */
static void write_until_killed(scratch *s, int first, int to) {
  db *d = open_writer(s);
  for (int i = first;; i++) {
    char config[32], key[33];
    snprintf(config, sizeof config, "%d", i);
    snprintf(key, sizeof key, "%032x", i);
    db_image image = image_of(key, cubin, sizeof cubin);
    OK(s, db_image_put(d, &image, &s->e));
    put_sample(s, d, put_trial(s, d, config), DB_FINAL, 1 + i);
    if (write(to, &i, sizeof i) != sizeof i) {
      _exit(1);
    }
  }
}

/* Kills a writer `usec` after it started, or after it stored its first trial; returns the last
 * trial stored. */
static int kill_a_writer(scratch *s, int first, bool wait, unsigned usec) {
  int ends[2], i, last = first - 1;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t pid = fork();
  if (!pid) {
    write_until_killed(s, first, ends[1]);
  }
  close(ends[1]);
  if (wait && read(ends[0], &i, sizeof i) == sizeof i) {
    last = i;
  }
  usleep(usec);
  kill(pid, SIGKILL);
  while (read(ends[0], &i, sizeof i) == sizeof i) {
    last = i;
  }
  close(ends[0]);
  assert_int_equal(child_status(pid), 128);
  return last;
}

/* Every trial up to `last` is there, with its time. */
static void check_rows(scratch *s, int last) {
  db *d;
  db_result *rows;
  size_t n;
  char *seen = calloc((size_t)last + 2, 1);
  OK(s, db_open(s->path, DB_READ, &d, &s->e));
  OK(s, db_results(d, 1, 1, saxpy_problem, &s->a, &rows, &n, &s->e));
  for (size_t i = 0; i < n; i++) {
    int id = atoi(rows[i].t.config);
    assert_true(id <= last + 1);
    seen[id] = rows[i].median == 1 + id;
  }
  for (int i = 0; i <= last; i++) {
    assert_true(seen[i]);
  }
  OK(s, db_verify(d, &s->e));
  db_close(d);
  arena_clear(&s->a);
  free(seen);
}

SCRATCH_TEST(test_kill_at_any_moment) {
  int last = -1;
  uint64_t seed = 1;
  for (int round = 0; round < 60; round++) {
    last = kill_a_writer(s, last + 1, round % 2, (unsigned)random_below(&seed, 20000));
    if (last >= 0) {
      check_rows(s, last);
    }
  }
  print_message("%d rows survived 60 kills\n", last + 1);
  assert_true(last + 1 >= 30); /* one in every other round */
}

int main(void) {
  install_memory();
  for (size_t i = 0; i < sizeof cubin; i++) {
    cubin[i] = (char)(i * 31);
  }
  return tests_run();
}
