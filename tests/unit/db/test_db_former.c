/* test_db_former.c -- problems of former texts of a template: the notation of digests.txt for
 * fields, and databases with such problems, shown and moved. */
#define _GNU_SOURCE
#include "db_fixture.h"

#include "db_text.h"
#include "gen_former.h"

#define FORMER "0123456789abcdef0123456789abcdef" /* saxpy's, db_fixture.h */
#define PRESENT "fedcba9876543210fedcba9876543210"
static const char table[] = "# comment\n"
                            "saxpy " FORMER " " PRESENT " order=fixed>bits=run order=any>bits=any"
                            " BLOCK=x>y +class=1\n"
                            "sgemm " FORMER " " PRESENT " m>rows size>height\n"
                            "sgemm " PRESENT " " PRESENT " rows>size old> +beta_is=0 +last=7\n";

/* ---- the notation ---------------------------------------------------------------------------- */

static void check_update(const char *family, const char *problem, const char *expected) {
  auto_str now = {0};
  gen_problem_update_by(table, family, problem, &now);
  assert_string_equal(str_text(&now), expected);
}

TEST(test_problems_are_updated) {
  check_update("saxpy", "saxpy n=1000 order=fixed", "saxpy n=1000 bits=run class=1");
  check_update("saxpy", "saxpy n=1000 order=any align=4", "saxpy n=1000 bits=any align=4 class=1");
  check_update("saxpy", "saxpy n=1000 bits=shape class=any", "saxpy n=1000 bits=shape class=any");
  check_update("sgemm", "sgemm m=5 n=7", "sgemm height=5 n=7 beta_is=0 last=7");
  check_update("sgemm", "sgemm rows=5 old=3 beta_is=1", "sgemm height=5 beta_is=1 last=7");
  check_update("sgemm", "sgemm", "sgemm beta_is=0 last=7");
  check_update("gemm", "gemm m=5", "gemm m=5");
}

/* ---- databases ------------------------------------------------------------------------------- */

static int rename_problem(void *self, const char *family, const char *problem, str *out) {
  (void)self;
  gen_problem_update_by(table, family, problem, out);
  return 0;
}

static const db_former list[] = {{"saxpy", FORMER, PRESENT}};
static const db_formers formers = {list, 1, NULL, rename_problem, NULL};

static void put(scratch *s, db *d, int64_t template_id, const char *problem, double sec) {
  int64_t id;
  const db_trial t = {.problem = problem, .config = "BLOCK=128", .status = DB_OK, .error = 0.5};
  const db_sample sample = sample_of(DB_FINAL, sec);
  OK(s, db_trial_put(d, template_id, 1, &t, &id, &s->e));
  OK(s, db_preparation_put(d, id, 2 * sec, &s->e));
  OK(s, db_sample_put(d, id, &sample, &s->e));
  OK(s, db_effort_add(d, template_id, 1, problem, 3, &s->e));
}

static int64_t put_present_template(scratch *s, db *d) {
  int64_t id;
  db_template now = saxpy;
  now.hash = PRESENT;
  OK(s, db_template_put(d, &now, &id, &s->e));
  return id;
}

static void put_three(scratch *s) {
  auto_db *d = open_writer(s);
  put(s, d, 1, "saxpy n=1000 order=fixed", 1e-3);
  put(s, d, 1, "saxpy n=1000 order=any", 2e-3);
  put(s, d, 1, "saxpy n=2000 bits=run", 3e-3);
}

static db *open_and_follow(scratch *s, db_mode mode) {
  db *d;
  OK(s, db_open(s->path, mode, &d, &s->e));
  OK(s, db_follow(d, &formers, &s->e));
  return d;
}

static void check_best(scratch *s, db *d, const char *problem, double sec) {
  db_result best;
  db_result *rows;
  size_t n;
  int64_t id;
  OK(s, db_best(d, PRESENT, card.key, problem, &s->a, &best, &s->e));
  assert_string_equal(best.t.problem, problem);
  assert_true(best.median == sec);
  OK(s, db_template_find(d, PRESENT, &id, &s->e));
  OK(s, db_results(d, id, 1, problem, &s->a, &rows, &n, &s->e));
  assert_int_equal(n, 1);
  assert_string_equal(rows[0].t.problem, problem);
}

static void check_three(scratch *s, db *d) {
  double sec;
  int64_t id;
  check_best(s, d, "saxpy n=1000 bits=run class=1", 1e-3);
  check_best(s, d, "saxpy n=1000 bits=any class=1", 2e-3);
  check_best(s, d, "saxpy n=2000 bits=run class=1", 3e-3);
  FAILS(s, ERR_NOTFOUND, "nothing is tuned",
        db_best(d, PRESENT, card.key, "saxpy n=1000 order=any", &s->a, &(db_result){0}, &s->e));
  OK(s, db_template_find(d, PRESENT, &id, &s->e));
  OK(s, db_effort_get(d, id, 1, "saxpy n=1000 bits=run class=1", &sec, &s->e));
  assert_true(sec == 3);
}

/* All that is exported. */
static const char *exported(scratch *s, db *d) {
  auto_str text = {0};
  db_line *lines;
  size_t n;
  OK(s, db_lines(d, NULL, NULL, &s->a, &lines, &n, &s->e));
  for (size_t i = 0; i < n; i++) {
    db_text_write(&lines[i], &text);
  }
  db_text_end(&text);
  return arena_text(&s->a, str_text(&text));
}

SCRATCH_TEST(test_a_reader_sees_what_a_writer_moves) {
  put_three(s);
  auto_db *reader = open_and_follow(s, DB_READ);
  check_three(s, reader);
  const char *before = exported(s, reader);
  db_close(open_and_follow(s, DB_WRITE));
  check_three(s, reader); /* opened before they were moved */
  auto_db *after = open_and_follow(s, DB_READ);
  check_three(s, after);
  assert_string_equal(exported(s, after), before);
  assert_string_equal(exported(s, reader), before);
  OK(s, db_verify(after, &s->e));
}

SCRATCH_TEST(test_a_reader_sees_new_rows) {
  put_three(s);
  auto_db *reader = open_and_follow(s, DB_READ);
  auto_db *d = open_and_follow(s, DB_WRITE);
  put(s, d, put_present_template(s, d), "saxpy n=4000 bits=any class=1", 4e-3);
  check_best(s, reader, "saxpy n=4000 bits=any class=1", 4e-3);
}

/* Of the same problem under both digests, or twice under the former one, all facts are kept. */
SCRATCH_TEST(test_problems_that_become_one_are_joined) {
  put_three(s);
  {
    auto_db *d = open_writer(s);
    put(s, d, 1, "saxpy n=2000 order=fixed", 2.5e-3);
    put(s, d, put_present_template(s, d), "saxpy n=1000 bits=run class=1", 0.5e-3);
  }
  auto_db *d = open_and_follow(s, DB_WRITE);
  int64_t id;
  double sec;
  db_stats stats;
  check_best(s, d, "saxpy n=1000 bits=run class=1", 0.5e-3);
  check_best(s, d, "saxpy n=2000 bits=run class=1", 2.5e-3);
  OK(s, db_template_find(d, PRESENT, &id, &s->e));
  OK(s, db_effort_get(d, id, 1, "saxpy n=2000 bits=run class=1", &sec, &s->e));
  assert_true(sec == 6);
  OK(s, db_stat(d, &stats, &s->e));
  assert_string_equal(stats.tables[6].table, "sample");
  assert_int_equal(stats.tables[6].rows, 5);
  assert_string_equal(stats.tables[DB_TABLES - 1].table, "preparation");
  assert_int_equal(stats.tables[DB_TABLES - 1].rows, 3);
  OK(s, db_verify(d, &s->e));
  assert_true(db_template_find(d, FORMER, &id, &s->e) == ERR_NOTFOUND);
}

int main(void) {
  return tests_run();
}
