/* test_damaged.c -- with damaged rows and presets tuned_find serves a valid kernel and does not
 * crash. */
#define _GNU_SOURCE
#include "serve_fixture.h"

#include <sqlite3.h>

#include "db_text.h"
#include "random.h"

static uint64_t random_state = 7;

static uint32_t draw(uint32_t n) {
  return (uint32_t)random_below(&random_state, n);
}

static void run_sql(fixture *f, const char *sql) {
  sqlite3 *raw;
  char *why = NULL;
  assert_int_equal(sqlite3_open(f->db_path, &raw), SQLITE_OK);
  sqlite3_exec(raw, "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON", NULL, NULL,
               NULL);
  if (sqlite3_exec(raw, sql, NULL, NULL, &why)) {
    fail_msg("%s: %s", sql, why);
  }
  sqlite3_close(raw);
}

static void store_some(fixture *f) {
  store_saxpy(f, "saxpy n=4096 align=4", "BLOCK=128,VEC=4", NULL);
  store_saxpy(f, "saxpy n=5000 align=4", "BLOCK=256,VEC=2", NULL);
  store_saxpy(f, "saxpy n=9000 align=4", "BLOCK=512,VEC=1", NULL);
}

/* A kernel is served, and computes the right result. */
static tuned_kernel_info serves(fixture *f, const char *problem, int n) {
  tuned_kernel *k;
  tuned_kernel_info info;
  const float a = 2;
  float host[16384];
  void *x, *y;
  for (int i = 0; i < n; i++) {
    host[i] = (float)i;
  }
  OK(f, tuned_find(f->ctx, problem, &k, &f->err));
  OK(f, tuned_info(k, &info, &f->err));
  OK(f, tuned_alloc(f->ctx, sizeof host, &x, &f->err));
  OK(f, tuned_alloc(f->ctx, sizeof host, &y, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, x, host, (size_t)n * 4, &f->err));
  OK(f, tuned_copy_to_device(f->ctx, y, host, (size_t)n * 4, &f->err));
  const void *const args[] = {NULL, &a, &x, &y};
  OK(f, tuned_launch(k, NULL, args, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, host, y, (size_t)n * 4, &f->err));
  for (int i = 0; i < n; i++) {
    assert_true(host[i] == 3 * (float)i);
  }
  OK(f, tuned_free(f->ctx, x, &f->err));
  OK(f, tuned_free(f->ctx, y, &f->err));
  return info;
}

/* A text that is too long costs its own row only. */
CONTEXT_TEST(test_long_texts_cost_their_row) {
  static const char *const damages[] = {
      "UPDATE trial SET config = printf('%.*c', 70000, 'x') WHERE id = 1",
      "UPDATE problem SET text = printf('saxpy n=%.*c', 70000, '1') WHERE id = 1",
      "UPDATE trial SET config = printf('BLOCK=%.*c', 70000, '1') WHERE id = 1",
      "UPDATE device SET name = printf('%.*c', 70000, 'x')",
      "UPDATE trial SET reason = printf('%.*c', 70000, 'x')",
      "PRAGMA writable_schema = ON; UPDATE trial SET image = NULL"};
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    remove(f->db_path);
    store_some(f);
    run_sql(f, damages[i]);
    reopen(f, f->folder);
    const tuned_kernel_info exact = serves(f, "saxpy n=5000", 5000);
    assert_true(exact.origin == TUNED_EXACT || i == 4); /* reasons are read with their rows */
    const tuned_kernel_info damaged = serves(f, "saxpy n=4096", 4096);
    assert_true(damaged.origin <= TUNED_NEAREST);
    assert_int_equal(serves(f, "saxpy n=6000", 6000).origin, TUNED_NEAREST);
  }
}

/* Texts with a few bytes changed, in every column that is read. */
static void spoil(fixture *f, const char *table, const char *column) {
  static const char alphabet[] = "0123456789=, ABCVEx%\n\t-";
  char sql[400], piece[24];
  size_t n = 0;
  for (uint32_t k = draw(4); k > 0 && n + 1 < sizeof piece; k--) {
    piece[n++] = alphabet[draw(sizeof alphabet - 1)];
  }
  piece[n] = 0;
  snprintf(sql, sizeof sql,
           "UPDATE %s SET %s = substr(%s, 1, %u) || '%s' || substr(%s, %u) WHERE rowid = %u", table,
           column, column, draw(40), piece, column, draw(40), 1 + draw(3));
  run_sql(f, sql);
}

CONTEXT_TEST(test_spoilt_rows_are_survived) {
  static const char *const where[][2] = {{"trial", "config"},      {"trial", "config"},
                                         {"problem", "text"},      {"trial", "status"},
                                         {"image_bulk", "source"}, {"portfolio", "text"}};
  size_t n_exact = 0;
  for (int round = 0; round < 12; round++) {
    remove(f->db_path);
    store_some(f);
    run_sql(f, "INSERT INTO portfolio (template, device, text) VALUES (1, 1, 'portfolio 1\nasked "
               "0.05\nsizes 2\nexpected 0 0\nrange n 1000 9000\nrange align 1 4\n"
               "config BLOCK=64\nleaf 0 0 0\n')");
    for (int k = 0; k < 4; k++) {
      const uint32_t i = draw(sizeof where / sizeof *where);
      spoil(f, where[i][0], where[i][1]);
    }
    reopen(f, f->folder);
    n_exact += serves(f, "saxpy n=4096", 4096).origin == TUNED_EXACT;
    serves(f, "saxpy n=7001", 7001);
  }
  assert_true(n_exact > 1 && n_exact < 12);
}

CONTEXT_TEST(test_spoilt_presets_are_survived) {
  auto_template *t = NULL;
  err e = {0};
  auto_str good = {0};
  size_t n_served = 0;
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  db_text_head(&good);
  for (int i = 0; i < 3; i++) {
    const db_line l = {.device = {"a card|sm_90|132|6016|1980|3201", "a card", 90, 132},
                       .template = {"saxpy", t->hash, "saxpy.lua", t->version},
                       .problem = i == 0   ? "saxpy n=4096 align=4"
                                  : i == 1 ? "saxpy n=8000 align=4"
                                           : "saxpy",
                       .config = i < 2 ? "BLOCK=512,VEC=4,COARSE=2,ORDER=interleaved"
                                       : "portfolio 1\nasked 0\nsizes 1\nexpected 0 0\n"
                                         "range n 20000 90000\nrange align 1 4\nconfig BLOCK=64\n"
                                         "leaf 0 0 0\n",
                       .kind = i < 2 ? DB_KIND_FINAL : DB_KIND_PORTFOLIO,
                       .sec = 1e-5,
                       .when = "2026-01-01T00:00:00Z"};
    db_text_write(&l, &good);
  }
  for (int round = 0; round < 40; round++) {
    auto_str bad = {0};
    str_add_n(&bad, good.p, good.n);
    for (uint32_t k = 1 + draw(6); k > 0; k--) {
      bad.p[draw((uint32_t)bad.n)] = (char)(1 + draw(255));
    }
    const gen_file list[] = {{"a.txt", bad.p, bad.n}, {NULL, NULL, 0}};
    remove(f->db_path);
    reopen(f, f->folder);
    inside(f)->sources.presets = list;
    n_served += info_of(f, "saxpy n=4096").origin == TUNED_PRESET;
    info_of(f, "saxpy n=40000");
  }
  assert_true(n_served > 10); /* most lines are whole */
  tuned_close(f->ctx);
  f->ctx = NULL;
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
