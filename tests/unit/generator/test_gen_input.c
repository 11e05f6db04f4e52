/* test_gen_input.c -- problems that name the matrix they are about. */
#define _GNU_SOURCE
#include "gen_fixture.h"

#include <math.h>

/* The small template's fields are followed by those of a matrix. */
static void matrix_template(const char *matrix, str *out) {
  const char *at = strstr(mini_text, "problem = {\n");
  const char *end = at + strlen("problem = {\n");
  str_add_n(out, mini_text, (size_t)(at - mini_text));
  str_addf(
      out,
      "matrix = %s,\n  problem = {\n    { 'rows', 0, 5000, default = 4 },\n"
      "    { 'm', 0, 5000, default = 'rows' },\n    { 'nnz', 0, 2^40, default = '4 * rows' },\n",
      matrix);
  str_add(out, end);
}

static int open_matrix(const char *matrix, bool no_inputs, gen_template **t, err *e) {
  auto_str text = {0};
  const gen_options o = {.no_inputs = no_inputs};
  matrix_template(matrix, &text);
  folder_write("mini.lua", text.p, text.n);
  return gen_open(&o, folder_path("mini.lua"), t, e);
}

static const char roles[] = "{ rows = 'rows', columns = 'm', entries = 'nnz' }";

TEST(the_matrix_decides_the_counts) {
  static const char *const cases[][3] = {
      {"matrix=stencil5 side=10", "rows=100 m=100 nnz=460", "matrix=stencil5 side=10"},
      {"nnz=460 matrix=stencil5 side=10", "rows=100 m=100 nnz=460", "matrix=stencil5 side=10"},
      {"rows=50 matrix=uniform m=70 degree=3", "rows=50 m=70 nnz=150",
       "matrix=uniform rows=50 columns=70 entries=150"},
      {"matrix=uniform rows=50 nnz=7 seed=3", "rows=50 m=50 nnz=7",
       "matrix=uniform rows=50 columns=50 entries=7 seed=3"},
      {"matrix=zipf rows=50 m=40 nnz=99", "rows=50 m=40 nnz=99",
       "matrix=zipf rows=50 columns=40 exponent=1.8 longest=40"}, /* checked when it is made */
      {"rows=3 m=2", "rows=3 m=2 nnz=12", NULL},
  };
  gen_template *t;
  err e = {0};
  assert_ok(open_matrix(roles, false, &t, &e), &e);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gen_problem p, again;
    auto_str text = {0}, full = {0};
    assert_ok(gen_problem_parse(t, cases[i][0], &p, &e), &e);
    gen_problem_text(t, &p, &text);
    gen_problem_full_text(t, &p, &full);
    assert_non_null(strstr(str_text(&text), cases[i][1]));
    assert_null(strstr(str_text(&text), "matrix"));
    assert_true(cases[i][2] ? strstr(str_text(&full), cases[i][2]) != NULL : !p.input);
    assert_ok(gen_problem_parse(t, str_text(&full), &again, &e), &e);
    assert_true(gen_problem_equal(t, &p, &again));
  }
  gen_close(t);
}

TEST(wrong_inputs_are_explained) {
  static const char *const wrong[][2] = {
      {"matrix=zip", "no generator of matrices is named 'zip', did you mean 'zipf'?"},
      {"matrix=", "matrix= names a generator, or file:FILE.mtx"},
      {"matrix=zipf matrix=path", "matrix= is given twice"},
      {"matrix=zipf block=3",
       "unknown field 'block' of mini; its fields are rows m nnz n kind type; matrix=zipf takes rows,"},
      {"matrix=stencil5 side=10 nnz=461",
       "nnz=461 is not that of matrix=stencil5 side=10, which has 460 entries"},
      {"matrix=stencil5 side=10 rows=99",
       "rows=99 is not that of matrix=stencil5 side=10, which has 100 rows"},
      {"matrix=stencil5 side=100", "rows=10000 is out of range: rows is 0 to 5000"},
      {"matrix=uniform rows=3 rows=4", "rows of matrix=uniform is given twice"},
      {"matrix=file:none.mtx", "none.mtx"},
  };
  gen_template *t;
  gen_problem p;
  err e = {0};
  assert_ok(open_matrix(roles, false, &t, &e), &e);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_true(gen_problem_parse(t, wrong[i][0], &p, &e) != 0);
    assert_non_null(strstr(e.message, wrong[i][1]));
    err_clear(&e);
  }
  gen_close(t);
  assert_ok(open_matrix(roles, true, &t, &e), &e);
  assert_fails(gen_problem_parse(t, "matrix=path rows=3", &p, &e), &e, ERR_USAGE,
               "matrix= is for autotune: a program passes its matrix to mini");
  gen_close(t);
}

TEST(graphs_are_square) {
  gen_template *t;
  gen_problem p;
  err e = {0};
  assert_ok(open_matrix("{ rows = 'rows', entries = 'nnz' }", false, &t, &e), &e);
  assert_ok(gen_problem_parse(t, "matrix=path rows=5", &p, &e), &e);
  assert_fails(gen_problem_parse(t, "matrix=uniform rows=5 columns=4", &p, &e), &e, ERR_USAGE,
               "has 5 rows and 4 columns; mini takes square ones");
  gen_close(t);
}

TEST(roles_are_fields) {
  static const char *const wrong[][2] = {
      {"{ rows = 'row', entries = 'nnz' }", "there is no field 'row'"},
      {"{ rows = 'rows' }", "'entries' is missing"},
      {"{ rows = 'kind', entries = 'nnz' }", "'kind' is no range of whole numbers"},
      {"{ rows = 'rows', entries = 'nnz', seed = 1 }", "a key 'seed' means nothing here"},
  };
  gen_template *t;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    err e = {0};
    assert_fails(open_matrix(wrong[i][0], false, &t, &e), &e, ERR_TEMPLATE, wrong[i][1]);
  }
}

/* ---- features ------------------------------------------------------------------------------- */

#define FEATURES                                                                                   \
  "{ workspace = { { 'stats', 'f64', 2 } }, stages = { { kernel = 'look', grid = 1, block = 1, "   \
  "args = { 'n', 'x', 'stats' } } }, source = 'text @{n}' }"

static int open_features(const char *field, const char *features, gen_template **t, err *e) {
  auto_str text = {0};
  const char *at = strstr(mini_text, "  problem = {\n"), *end = at + strlen("  problem = {\n");
  str_add_n(&text, mini_text, (size_t)(at - mini_text));
  str_addf(&text, "  features = %s,\n  problem = {\n    { %s },\n%s", features, field, end);
  folder_write("mini.lua", text.p, text.n);
  return gen_open(NULL, folder_path("mini.lua"), t, e);
}

static int64_t value_of(const gen_template *t, const gen_problem *p, const char *name) {
  return p->values[gen_field_find(t, name, strlen(name)) - t->fields].i;
}

TEST(features_are_rounded_and_may_be_unknown) {
  static const int64_t rounded[][2] = {{0, 0},   {1, 1},   {3, 3},   {9, 10},      {12, 11},
                                       {14, 13}, {15, 16}, {23, 23}, {1000, 1024}, {5000, 2000}};
  gen_template *t;
  gen_problem p;
  auto_str unknown = {0};
  err e = {0};
  assert_ok(
      open_features("'mean', 0, 2000, feature = 'stats', at = 1, scale = 16", FEATURES, &t, &e),
      &e);
  assert_ok(gen_problem_parse(t, "n=5", &p, &e), &e);
  assert_true(p.open && value_of(t, &p, "mean") == GEN_UNKNOWN);
  gen_problem_text(t, &p, &unknown);
  assert_string_equal(str_text(&unknown), "mini n=5 kind=fast type=f64");
  for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
    auto_str text = {0};
    str_addf(&text, "n=5 mean=%lld", (long long)rounded[i][0]);
    assert_ok(gen_problem_parse(t, str_text(&text), &p, &e), &e);
    assert_int_equal(value_of(t, &p, "mean"), rounded[i][1]);
    assert_true(!p.open);
  }
  const double of[] = {99, 3.1}, wrong[] = {99, NAN};
  const size_t two = 2, one = 1;
  assert_ok(gen_features_set(t, (const double *const[]){of}, &two, &p, &e), &e);
  assert_int_equal(value_of(t, &p, "mean"), 54); /* 49.6 */
  assert_ok(gen_features_set(t, (const double *const[]){wrong}, &two, &p, &e), &e);
  assert_int_equal(value_of(t, &p, "mean"), 0);
  assert_fails(gen_features_set(t, (const double *const[]){of}, &one, &p, &e), &e, ERR_TEMPLATE,
               "the feature 'stats' has 1 elements, and 'mean' is element 1");
  gen_close(t);
}

TEST(wrong_features_are_explained) {
  static const char good[] = "'mean', 0, 2000, feature = 'stats'";
  static const char *const wrong[][3] = {
      {"'mean', 0, 2000, feature = 'stat'", FEATURES, "is no workspace of `features`"},
      {"'mean', 0, 2000, feature = 'stats'", "nil", "is no workspace of `features`"},
      {"'mean', -5, 2000, feature = 'stats'", FEATURES, "a range of whole numbers from 0 or more"},
      {"'mean', { 1, 2 }, feature = 'stats'", FEATURES, "a range of whole numbers from 0 or more"},
      {"'mean', 0, 2000, feature = 'stats', scale = 0", FEATURES, "scale > 0"},
      {"'mean', 0, 2000, default = 1, at = 1", FEATURES, "'at' and 'scale' go with feature"},
      {"'mean', 0, 2000", FEATURES, "'default' is missing here"},
      {good,
       "{ workspace = { { 'stats', 'f32', 2 } }, stages = { { kernel = 'k', grid = 1, block = 1, args = { 'stats' } } }, source = 'x' }",
       "has to be of f64"},
      {good,
       "{ workspace = { { 'stats', 'f64', 1 } }, stages = { { kernel = 'k', grid = 1, block = 1, "
       "args = { 'y', 'stats' } } }, source = 'x' }",
       "features are computed from inputs on the device"},
      {good,
       "{ workspace = { { 'stats', 'f64', 1 } }, stages = { { kernel = 'k', grid = 'B', block = 1, "
       "args = { 'stats' } } }, source = 'x' }",
       "'B'"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gen_template *t;
    err e = {0};
    assert_int_equal(open_features(wrong[i][0], wrong[i][1], &t, &e), ERR_TEMPLATE);
    if (!strstr(e.message, wrong[i][2])) {
      fail_msg("'%s', not '%s'", e.message, wrong[i][2]);
    }
  }
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
