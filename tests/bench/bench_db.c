/* bench_db.c -- a database of ten million samples: how long opening and queries take.
 *
 *   bench_db [FILE [SAMPLES]]
 *
 * Makes FILE (default /tmp/bench_db.db; about 1 GB) unless it exists: 2000 problems of one template
 * with 50 configurations each, and the samples evenly among them. Then, 30 times, as a serving
 * process does, it opens the file for reading and asks for the best of one problem; once it asks
 * for the list of neighbours. The times are medians.
 *
 * Prints one line of JSON; exit status 1 when opening takes 5 ms or more. */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_tools.h"
#include "db.h"
#include "file.h"

enum { RUNS = 30, PROBLEMS = 2000, CONFIGS = 50, KNOWN = 2048 };

static void run(sqlite3 *raw, const char *sql) {
  char *why = NULL;
  if (sqlite3_exec(raw, sql, NULL, NULL, &why)) {
    bench_give_up(sql, why);
  }
}

static const db_device card = {.key = "bench", .name = "bench", .cc = 90, .sms = 132};
static const db_template family = {.family = "sgemm",
                                   .hash = "0123456789abcdef0123456789abcdef",
                                   .path = "sgemm.lua",
                                   .version = 1};

/* Our own code makes the schema, SQL the bulk. The triggers are dropped meanwhile: for samples in
 * this order they would derive the time of the last one. */
static void fill(const char *path, long samples) {
  char sql[1200];
  sqlite3 *raw;
  if (sqlite3_open(path, &raw)) {
    bench_give_up(path, "cannot be opened");
  }
  snprintf(
      sql, sizeof sql,
      "PRAGMA synchronous = OFF; BEGIN;"
      "WITH RECURSIVE i(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM i WHERE x < %d)"
      " INSERT INTO problem (template, device, text)"
      " SELECT 1, 1, printf('sgemm m=%%d n=%%d k=%%d ta=n tb=n align=4', 16 + x, 16 + x * 7 %% "
      "4096,"
      "  16 + x * 13 %% 4096) FROM i;"
      "WITH RECURSIVE i(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM i WHERE x < %d)"
      " INSERT INTO trial (problem, config, status, error, host, run, sequence)"
      " SELECT 1 + x / %d, printf('BM=%%d,BN=%%d,TM=8,TN=8', x %% %d, x %% 7), 'ok', 0.5, 1, 1, x"
      " FROM i;",
      PROBLEMS - 1, PROBLEMS * CONFIGS - 1, CONFIGS, CONFIGS);
  run(raw, sql);
  snprintf(sql, sizeof sql,
           "CREATE TEMP TABLE saved AS SELECT group_concat(sql, ';') FROM sqlite_schema"
           " WHERE type = 'trigger' AND tbl_name = 'sample';"
           "DROP TRIGGER sample_stands; DROP TRIGGER sample_sealed;"
           "WITH RECURSIVE i(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM i WHERE x < %ld)"
           " INSERT INTO sample (trial, stage, median, spread, launches, cold, driver, host, run,"
           "  sequence)"
           " SELECT 1 + x %% %d, 'final', 1e-5 + x %% 1000 * 1e-8, 0.01, 100, 1, 13000, 1,"
           "  0x5bd1e995a7f3c2d1, x FROM i;"
           "INSERT INTO standing (trial, problem, rank, sec, spread, at, sequence, run)"
           " SELECT t.id, t.problem, 0, s.median, s.spread, s.at, s.sequence, s.run"
           " FROM trial AS t JOIN sample AS s"
           "  ON s.id = (SELECT max(id) FROM sample WHERE trial = t.id)",
           samples - 1, PROBLEMS * CONFIGS);
  run(raw, sql);
  sqlite3_stmt *s;
  if (sqlite3_prepare_v2(raw, "SELECT * FROM saved", -1, &s, NULL) ||
      sqlite3_step(s) != SQLITE_ROW) {
    bench_give_up("the triggers", "were not saved");
  }
  char *triggers = strdup((const char *)sqlite3_column_text(s, 0));
  sqlite3_finalize(s);
  run(raw, triggers);
  run(raw, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  free(triggers);
  sqlite3_close(raw);
}

static void make(const char *path, long samples) {
  db *d;
  int64_t id;
  err e = {0};
  if (db_open(path, DB_WRITE, &d, &e) || db_device_put(d, &card, &id, &e) ||
      db_template_put(d, &family, &id, &e)) {
    bench_give_up(path, e.message);
  }
  db_close(d);
  fill(path, samples);
}

static void best_of(db *d, int i) {
  char problem[200];
  arena a = {0};
  db_result row;
  err e = {0};
  const int x = i * 61 % PROBLEMS;
  snprintf(problem, sizeof problem, "sgemm m=%d n=%d k=%d ta=n tb=n align=4", 16 + x,
           16 + x * 7 % 4096, 16 + x * 13 % 4096);
  if (db_best(d, family.hash, card.key, problem, &a, &row, &e)) {
    bench_give_up("the best", e.message);
  }
  arena_clear(&a);
}

static double neighbours_ms(db *d) {
  arena a = {0};
  err e = {0};
  size_t n;
  db_known *rows = ARENA_ARRAY(&a, db_known, KNOWN);
  const double from = now_sec();
  if (!rows || db_known_list(d, family.hash, card.key, card.cc, KNOWN, &a, rows, &n, &e)) {
    bench_give_up("the neighbours", e.message);
  }
  const double ms = 1e3 * (now_sec() - from);
  arena_clear(&a);
  return ms;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "/tmp/bench_db.db";
  double open_ms[RUNS], best_ms[RUNS], list_ms = 0;
  db_stats stats;
  err e = {0};
  if (access(path, R_OK)) {
    make(path, argc > 2 ? atol(argv[2]) : 10000000);
  }
  for (int i = 0; i < RUNS; i++) {
    db *d;
    const double from = now_sec();
    if (db_open(path, DB_READ, &d, &e)) {
      bench_give_up(path, e.message);
    }
    open_ms[i] = 1e3 * (now_sec() - from);
    best_of(d, i);
    best_ms[i] = 1e3 * (now_sec() - from) - open_ms[i];
    list_ms = i ? list_ms : neighbours_ms(d);
    if (i + 1 == RUNS && db_stat(d, &stats, &e)) {
      bench_give_up(path, e.message);
    }
    db_close(d);
  }
  int64_t samples = 0;
  for (int i = 0; i < DB_TABLES; i++) {
    samples += strcmp(stats.tables[i].table, "sample") ? 0 : stats.tables[i].rows;
  }
  const double open = bench_median(open_ms, RUNS);
  printf(
      "{\"bench\": \"db\", \"samples\": %lld, \"mb\": %lld, \"open_ms\": %.3f, \"best_ms\": %.3f, "
      "\"neighbours_ms\": %.1f}\n",
      (long long)samples, (long long)stats.nbytes >> 20, open, bench_median(best_ms, RUNS),
      list_ms);
  return open < 5 ? 0 : 1;
}
