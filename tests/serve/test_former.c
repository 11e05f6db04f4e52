/* test_former.c -- templates whose text changed while their kernels did not: the table of digests,
 * and a database with former digests, read-only and writable. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "serve_fixture.h"
#include "db_text.h"
#include "serve_former.h"
#include "serve_presets.h"

/* ---- the table ------------------------------------------------------------------------------- */

static bool is_among(const gen_former *list, size_t n, const char *family, const char *present) {
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(list[i].family, family)) {
      return !strcmp(list[i].present, present);
    }
  }
  return false;
}

/* The table has the present digest of every template. */
TEST(the_table_is_up_to_date) {
  auto_arena a = {0};
  err e = {0};
  gen_former *list;
  size_t n;
  assert_ok(gen_former_list(&a, &list, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    auto_template *t = NULL;
    assert_ok(gen_open(NULL, list[i].family, &t, &e), &e);
    if (strcmp(list[i].present, t->hash) != 0) {
      fail_msg(
          "the text of %s has changed: if make machine-code FAMILIES=%s finds the same kernels, "
          "make digests says so in templates/digests.txt; if not, the results have to be "
          "measured again",
          t->name, t->name);
    }
    assert_true(gen_digest_is(t, list[i].digest));
    assert_true(gen_digest_is(t, t->hash));
    assert_false(gen_digest_is(t, "00000000000000000000000000000000"));
  }
}

/* Shipped results belong to present texts or to former ones of the table, except a few older
 * ones. */
TEST(shipped_results_are_of_known_texts) {
  auto_arena a = {0};
  err e = {0};
  gen_former *list;
  size_t n, known = 0, all = 0;
  assert_ok(gen_former_list(&a, &list, &n, &e), &e);
  for (const gen_file *f = serve_presets; f->name; f++) {
    for (const char *at = f->text, *end; *at; at = *end ? end + 1 : end) {
      db_line l;
      bool none;
      auto_template *t = NULL;
      end = strchrnul(at, '\n');
      if (db_text_read(at, (size_t)(end - at), &a, &l, &none, &e) || none) {
        continue;
      }
      assert_ok(gen_open(&(gen_options){.lazy = true}, l.template.family, &t, &e), &e);
      all++;
      known += gen_digest_is(t, l.template.hash);
    }
  }
  assert_true(all >= 635 && known >= all - 35);
  assert_false(is_among(list, n, "saxpy", ""));
}

TEST(former_names_are_read) {
  auto_template *t = NULL;
  gen_config c;
  err e = {0};
  auto_str text = {0};
  assert_ok(gen_open(NULL, "sgemm", &t, &e), &e);
  assert_ok(gen_config_parse(t,
                             "ALG=tf32,QUEUE=4,LOADER=tensor,SCHEDULE=strips,PUT=lean,HEAD=exact,"
                             "LINES=8,STAGES=2",
                             &c, &e),
            &e);
  gen_config_text(t, &c, &text);
  static const char *const present[] = {"ALG=tf32,",
                                        "TENSOR_STAGES=4,",
                                        "LOADER=tma,",
                                        "SCHEDULE=stationary_a,",
                                        "WRITEBACK=coalesced,",
                                        "K_TAIL=exact,",
                                        "LOADS_ACROSS=8,",
                                        "STAGES=2,"};
  for (size_t i = 0; i < sizeof present / sizeof *present; i++) {
    assert_non_null(strstr(str_text(&text), present[i]));
  }
  assert_fails(gen_config_parse(t, "LOADER=tensors", &c, &e), &e, ERR_USAGE,
               "LOADER=tensors: LOADER is one of register, cp_async");
  assert_fails(gen_config_parse(t, "QUEUES=4", &c, &e), &e, ERR_USAGE,
               "unknown parameter 'QUEUES'");
}

/* ---- databases ------------------------------------------------------------------------------- */

static const char *former_of_saxpy(arena *a) {
  gen_former *list;
  size_t n;
  err e = {0};
  assert_ok(gen_former_list(a, &list, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(list[i].family, "saxpy")) {
      return list[i].digest;
    }
  }
  fail_msg("saxpy had no other digest");
  return NULL;
}

static void put_former(fixture *f, const char *problem, const char *config) {
  auto_arena a = {0};
  store_saxpy(f, problem, config, former_of_saxpy(&a));
}

static void check_served(fixture *f, const char *problem, const char *config, tuned_origin origin) {
  const tuned_kernel_info info = info_of(f, problem);
  assert_int_equal(info.origin, origin);
  assert_non_null(strstr(info.config, config));
  assert_true(info.expected_sec > 1.24e-6 && info.expected_sec < 1.26e-6);
}

CONTEXT_TEST(a_read_only_database_of_before_is_served) {
  put_former(f, "saxpy n=1000 align=4", "BLOCK=128,VEC=4");
  assert_int_equal(chmod(f->db_path, 0400), 0);
  assert_int_equal(chmod(f->folder, 0500), 0);
  reopen(f, NULL);
  check_served(f, "saxpy n=1000", "BLOCK=128,VEC=4", TUNED_EXACT);
  assert_int_equal(chmod(f->folder, 0700), 0);
}

/* Results of the present text precede those of former ones. */
CONTEXT_TEST(new_results_come_first) {
  put_former(f, "saxpy n=1000 align=4", "BLOCK=128");
  put_former(f, "saxpy n=4000 align=4", "BLOCK=64");
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=256", NULL);
  reopen(f, NULL);
  check_served(f, "saxpy n=1000", "BLOCK=256", TUNED_EXACT);
}

static int64_t count_of(db *d, const char *hash) {
  auto_arena a = {0};
  err e = {0};
  db_problem *rows;
  size_t n;
  int64_t found = 0;
  assert_ok(db_problems(d, "saxpy", &a, &rows, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    found += !strcmp(rows[i].template_hash, hash);
  }
  return found;
}

CONTEXT_TEST(a_writer_moves_the_rows) {
  auto_arena a = {0};
  err e = {0};
  db *d;
  db_stats stats;
  auto_template *t = NULL;
  const char *former = former_of_saxpy(&a);
  put_former(f, "saxpy n=1000 align=4", "BLOCK=128");
  put_former(f, "saxpy n=4000 align=4", "BLOCK=64");
  store_saxpy(f, "saxpy n=1000 align=4", "BLOCK=256", NULL);
  assert_ok(gen_open(NULL, "saxpy", &t, &e), &e);
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &e), &e);
  assert_int_equal(count_of(d, former), 2);
  assert_ok(serve_follow(d, &e), &e);
  assert_int_equal(count_of(d, former), 0);
  assert_int_equal(count_of(d, t->hash), 2); /* one has the trials of both digests */
  assert_ok(db_stat(d, &stats, &e), &e);
  assert_string_equal(stats.tables[5].table, "trial");
  assert_int_equal(stats.tables[5].rows, 3);
  assert_ok(serve_follow(d, &e), &e);
  assert_ok(db_verify(d, &e), &e);
  db_close(d);
  reopen(f, NULL);
  check_served(f, "saxpy n=4000", "BLOCK=64", TUNED_EXACT);
  check_served(f, "saxpy n=1000", "BLOCK=128", TUNED_EXACT); /* equally fast: in the alphabet */
}

/* ---- problems that lacked fields ------------------------------------------------------------- */

/* As the texts of before had them, complete. */
static const struct {
  const char *problem, *config;
  const char *now; /* its text now; NULL: with the fields of products added */
} of_before[] = {
    {"sgemm m=160 n=96 k=64 ta=n tb=t align=4 align_a=4 align_b=4 scale=none bias=none act=none"
     " accuracy=strict",
     "BM=16,BN=16"},
    {"gemm m=64 n=64 k=64 ta=t tb=n dtype=f64 ctype=f64 align=8 scale=none bias=row act=relu", ""},
    {"gemm_batched m=8 n=8 k=8 batch=1000 ta=n tb=n dtype=f32 layout=packed align=4 scale=none"
     " bias=none act=none",
     ""},
    {"gemv m=300 n=70 trans=t dtype=f32 unit=1 align=4 scale=none bias=none act=none", "BLOCK=64"},
    {"scan n=9000 kind=inclusive op=sum dtype=f32 align=16", "BLOCK=128",
     "scan n=9000 kind=inclusive op=sum dtype=f32 align=16 reproducible=any"},
    {"reduce n=9000 op=sum dtype=f32 align=4 order=fixed", "BLOCK=64",
     "reduce n=9000 op=sum dtype=f32 align=4 reproducible=run"},
    {"reduce n=9000 op=max dtype=f32 align=4 order=any", "BLOCK=64",
     "reduce n=9000 op=max dtype=f32 align=4 reproducible=any"},
};
enum { OF_BEFORE = sizeof of_before / sizeof *of_before };

/* The i-th former digest of the problem's family; NULL: there are no more. */
static const char *former_of(arena *a, const char *problem, size_t i) {
  gen_former *list;
  size_t n;
  err e = {0};
  const size_t length = strcspn(problem, " ");
  assert_ok(gen_former_list(a, &list, &n, &e), &e);
  for (size_t k = 0; k < n; k++) {
    if (strlen(list[k].family) == length && !strncmp(list[k].family, problem, length) && !i--) {
      return list[k].digest;
    }
  }
  return NULL;
}

static void check_all_served(fixture *f) {
  reopen(f, NULL);
  for (size_t i = 0; i < OF_BEFORE; i++) {
    char tuned[300];
    const tuned_kernel_info info = info_of(f, of_before[i].problem);
    snprintf(tuned, sizeof tuned, "%s alpha_is=1 beta_is=0 reproducible=any", of_before[i].problem);
    assert_int_equal(info.origin, TUNED_EXACT);
    assert_string_equal(info.tuned_problem, of_before[i].now ? of_before[i].now : tuned);
    assert_non_null(strstr(info.config, of_before[i].config));
    assert_true(info.expected_sec > 1.24e-6 && info.expected_sec < 1.26e-6);
  }
}

static void put_all_of_before(fixture *f, size_t digest) {
  auto_arena a = {0};
  for (size_t i = 0; i < OF_BEFORE; i++) {
    store_put(f, &(stored){.problem = of_before[i].problem,
                           .config = of_before[i].config,
                           .hash = former_of(&a, of_before[i].problem, digest),
                           .no_image = true});
  }
}

/* Results of every former text, read-only and written, are those of the class they were measured
 * with. */
CONTEXT_TEST(results_without_classes_are_served) {
  auto_arena a = {0};
  for (size_t digest = 0; former_of(&a, "sgemm", digest); digest++) {
    err e = {0};
    db *d;
    db_problem *rows;
    size_t n;
    remove(f->db_path);
    put_all_of_before(f, digest);
    check_all_served(f);
    assert_ok(db_open(f->db_path, DB_WRITE, &d, &e), &e);
    assert_ok(serve_follow(d, &e), &e);
    assert_ok(db_verify(d, &e), &e);
    assert_ok(db_problems(d, NULL, &a, &rows, &n, &e), &e);
    assert_int_equal(n, OF_BEFORE);
    for (size_t i = 0; i < n; i++) {
      assert_non_null(strstr(rows[i].problem, " reproducible="));
    }
    db_close(d);
    check_all_served(f);
  }
}

/* Texts are updated without their template; what comes of it is canonical. */
TEST(updated_problems_are_canonical) {
  for (size_t i = 0; i < OF_BEFORE; i++) {
    auto_template *t = NULL;
    auto_str now = {0}, text = {0};
    gen_problem p;
    err e = {0};
    char family[20];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(of_before[i].problem, " "),
             of_before[i].problem);
    assert_ok(gen_open(NULL, family, &t, &e), &e);
    gen_problem_update(family, of_before[i].problem, &now);
    assert_ok(gen_problem_parse(t, str_text(&now), &p, &e), &e);
    gen_problem_text(t, &p, &text);
    assert_string_equal(str_text(&text), str_text(&now));
  }
}

/* A portfolio of before serves all classes. */
CONTEXT_TEST(a_portfolio_without_classes_is_served) {
  static const char text[] =
      "portfolio 1\nasked 0.05\nsizes 2\nexpected 0.01 0.1\nrange m 100 1000\nrange n 16 1000\n"
      "range trans n\nrange dtype f32\nrange unit 1 1\nrange align 1 8\nrange scale none\n"
      "range bias none\nrange act none\nconfig BLOCK=128\nleaf 0.125 0.2 0\n";
  auto_arena a = {0};
  err e = {0};
  db *d;
  bool kept;
  int64_t template_id, device_id;
  put_all_of_before(f, 0);
  assert_ok(db_open(f->db_path, DB_WRITE, &d, &e), &e);
  assert_ok(db_template_find(d, former_of(&a, "gemv", 0), &template_id, &e), &e);
  assert_ok(db_device_find(d, str_text(&inside(f)->device_key), &device_id, &e), &e);
  assert_ok(db_portfolio_put(d, template_id, device_id, text, NULL, &kept, &e), &e);
  db_close(d);
  reopen(f, NULL);
  assert_int_equal(info_of(f, "gemv m=500 n=100").origin, TUNED_PORTFOLIO);
  assert_int_equal(info_of(f, "gemv m=500 n=100 beta_is=any").origin, TUNED_PORTFOLIO);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
