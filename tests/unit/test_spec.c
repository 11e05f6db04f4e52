/* test_spec.c -- T1 files: Python's expressions as Lua, and their spaces. */
#define _GNU_SOURCE
#include "check.h"

#include <stdlib.h>

#include "gen_space.h"
#include "python.h"
#include "spec.h"
#include "gen.h"

/* ---- expressions ----------------------------------------------------------------------------- */

static const python_name names[] = {{"x", false}, {"y", false}, {"s", true}};

static void check_condition(const char *python, const char *lua) {
  auto_str out = {0};
  err e = {0};
  if (python_condition(python, names, 3, &out, &e)) {
    fail_msg("%s: %s", python, e.message);
  }
  assert_string_equal(str_text(&out), lua);
}

TEST(conditions_become_lua) {
  check_condition("x % y == 0", "((x % y) == 0)");
  check_condition("32 <= x * y <= 1024", "((32 <= (x * y)) and ((x * y) <= 1024))");
  check_condition("x", "(x ~= 0)");
  check_condition("not x or y % 2", "((not (x ~= 0)) or ((y % 2) ~= 0))");
  check_condition("x and not y == 3", "((x ~= 0) and (not (y == 3)))");
  check_condition("s != 'half' or x**2 > -y", "((s ~= 'half') or ((x ^ 2) > (-y)))");
  check_condition("x in [1, 2] and y not in (3,)", "(((x == 1 or x == 2)) and (not (y == 3)))");
  check_condition("x // 2 == True", "((x // 2) == sel(true, 1, 0))");
  check_condition("(1 if x > 2 else y) > 1", "((sel((x > 2), 1, y)) > 1)");
  check_condition("max([x, y]) + int(x / 2) < 0x10", "((max(x, y) + floor((x / 2))) < 16)");
  check_condition("-x ** 2 < 1 - 2 - 3", "((-(x ^ 2)) < ((1 - 2) - 3))");
  check_condition("(x == 1) == (y == 2)", "(sel(((x == 1)), 1, 0) == sel(((y == 2)), 1, 0))");
}

TEST(what_is_not_understood_is_named) {
  static const char *const wrong[][2] = {{"x ==", "unexpected end"},
                                         {"x = 1", "unsupported Python: '='"},
                                         {"z > 1", "unknown parameter 'z'"},
                                         {"x > 1)", "unexpected ')'"},
                                         {"f(x) > 1", "unknown function: 'f'"},
                                         {"x < 'a'", "cannot compare these by '<'"},
                                         {"x in y", "a list in brackets"},
                                         {"(x, y) == 1", "a tuple"},
                                         {"s + 1 == 2", "numbers are needed on both sides of '+'"},
                                         {"lambda: 1", "unsupported Python: ':'"},
                                         {"x > 1; y", "unsupported Python: ';'"},
                                         {"'abc", "unsupported Python: ''"},
                                         {"1e400x", "unexpected"},
                                         {"", "unexpected end"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    auto_str out = {0};
    err e = {0};
    assert_fails(python_condition(wrong[i][0], names, 3, &out, &e), &e, ERR_USAGE, wrong[i][1]);
  }
  auto_str deep = {0}, out = {0};
  err e = {0};
  for (int i = 0; i < 5000; i++) {
    str_add(&deep, "(");
  }
  assert_fails(python_condition(deep.p, names, 3, &out, &e), &e, ERR_USAGE, "too deep");
}

/* ---- files ----------------------------------------------------------------------------------- */

#define HEAD                                                                                       \
  "{\"General\": {\"BenchmarkName\": \"toy\"}, \"ConfigurationSpace\": {\"TuningParameters\": ["
#define PARAM(name, values)                                                                        \
  "{\"Name\": \"" name "\", \"Type\": \"int\", \"Values\": " values ", \"Default\": 99}"

/* A T1 file of parameters, {name, values}, up to NULL, and conditions. Values are Python in a string,
 * or after "=" a list of JSON. */
static void t1(str *out, const char *const (*parameters)[2], const char *const *conditions) {
  str_reset(out);
  str_add(out, HEAD);
  for (size_t i = 0; parameters[i][0]; i++) {
    const char *values = parameters[i][1], *quote = *values == '=' ? "" : "\"";
    str_addf(out, "%s{\"Name\": \"%s\", \"Type\": \"int\", \"Values\": %s%s%s, \"Default\": 99}",
             i ? "," : "", parameters[i][0], quote, values + !*quote, quote);
  }
  str_add(out, "], \"Conditions\": [");
  for (size_t i = 0; conditions[i]; i++) {
    str_addf(out, "%s{\"Expression\": \"%s\"}", i ? "," : "", conditions[i]);
  }
  str_add(out, "]}}");
}

static spec open_text(const char *text) {
  spec s;
  err e = {0};
  assert_ok(spec_parse("toy.json", text, strlen(text), &s, &e), &e);
  return s;
}

TEST(lists_of_values_are_made) {
  static const char *const parameters[][2] = {{"a", "[1, 2, 4] + list(range(8, 21, 4))"},
                                              {"b", "[2**i for i in range(0, 5) if i % 2 == 0]"},
                                              {"c", "=[3, 1]"},
                                              {"d", "['x', 'y']"},
                                              {"e", "[True, False]"},
                                              {"f", "range(3, 0, -1)"},
                                              {NULL}};
  auto_str text = {0};
  t1(&text, parameters, (const char *const[]){NULL});
  spec s = open_text(str_text(&text));
  static const int64_t a[] = {1, 2, 4, 8, 12, 16, 20}, b[] = {1, 4, 16}, f[] = {3, 2, 1};
  assert_string_equal(s.name, "toy");
  assert_int_equal(s.t->params[0].n, 7);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(s.t->params[0].values[i].i, a[i]);
  }
  assert_int_equal(s.t->params[1].n, 3);
  assert_int_equal(s.t->params[5].n, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(s.t->params[1].values[i].i, b[i]);
    assert_int_equal(s.t->params[5].values[i].i, f[i]);
  }
  assert_int_equal(s.t->params[2].values[0].i, 3);
  assert_string_equal(s.t->params[3].values[1].s, "y");
  assert_int_equal(s.t->params[4].values[0].i, 1);
  spec_close(&s);
}

TEST(broken_files_are_told) {
  static const char *const wrong[][2] = {
      {"[", "not JSON"},
      {"{}", "not T1"},
      {HEAD "{\"Name\": \"a b\"}]}}", "not an identifier"},
      {HEAD "{\"Name\": \"a\"}]}}", "no list of values"},
      {HEAD PARAM("a", "\"1\"") "]}}", "values of 'a': a list is needed"},
      {HEAD PARAM("a", "\"[]\"") "]}}", "the list of values is empty"},
      {HEAD PARAM("a", "\"[0.5]\"") "]}}", "whole"},
      {HEAD PARAM("a", "\"range(10**9)\"") "]}}", ""},
      {HEAD PARAM("min", "\"[1]\"") "]}}", "min"},
      {HEAD PARAM("a", "\"[1]\"") "], \"Conditions\": [{\"Expression\": \"b > 1\"}]}}",
       "unknown parameter 'b'"},
      {HEAD PARAM("a", "\"[1]\"") "], \"Conditions\": [{}]}}", "no Expression"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    spec s;
    err e = {0};
    assert_int_not_equal(spec_parse("toy.json", wrong[i][0], strlen(wrong[i][0]), &s, &e), 0);
    if (!strstr(e.message, wrong[i][1])) {
      fail_msg("%s: '%s', wanted '%s'", wrong[i][0], e.message, wrong[i][1]);
    }
    assert_non_null(strstr(e.place, "toy.json"));
    spec_close(&s);
  }
}

TEST(a_space_has_the_points_that_trying_all_finds) {
  static const char *const parameters[][2] = {{"MWG", "[16, 32, 64, 128]"},
                                              {"NWG", "[16, 32, 64, 128]"},
                                              {"KWG", "[16, 32]"},
                                              {"MDIMC", "[8, 16, 32]"},
                                              {"NDIMC", "[8, 16, 32]"},
                                              {"MDIMA", "[8, 16, 32]"},
                                              {"NDIMB", "[8, 16, 32]"},
                                              {"VWM", "[1, 2, 4, 8]"},
                                              {"VWN", "[1, 2, 4, 8]"},
                                              {"SA", "[0, 1]"},
                                              {NULL}};
  static const char *const conditions[] = {
      "MWG % (MDIMC * VWM) == 0",
      "NWG % (NDIMC * VWN) == 0",
      "MWG % (MDIMA * VWM) == 0",
      "NWG % (NDIMB * VWN) == 0",
      "KWG % ((MDIMC * NDIMC)/MDIMA) == 0",
      "KWG % ((MDIMC * NDIMC)/NDIMB) == 0",
      "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)",
      NULL};
  auto_str text = {0};
  t1(&text, parameters, conditions);
  spec s = open_text(str_text(&text));
  auto_space *space = NULL, *all = NULL;
  gen_config c, d;
  size_t n, k;
  err e = {0};
  assert_ok(gen_space_new(s.g, &space, &e), &e);
  n = gen_space_count(space);
  auto_str brute = {0};
  auto_template *t = NULL;
  gen_problem p;
  gen_instance *g;
  static const gen_number device[] = {
#define LIMIT(name, brief) {#name, 0},
      GEN_DEVICE_LIST(LIMIT)
#undef LIMIT
  };
  assert_ok(spec_template("toy.json", str_text(&text), text.n, true, &brute, &e), &e);
  assert_ok(gen_open_text(NULL, "toy.json", brute.p, brute.n, &t, &e), &e);
  assert_ok(gen_problem_parse(t, "", &p, &e), &e);
  assert_ok(gen_instance_new(t, &p, device, sizeof device / sizeof *device, &g, &e), &e);
  assert_ok(gen_space_by_loops(g, &all, &e), &e);
  assert_int_equal(gen_space_count(all), n);
  assert_int_equal(n, 116928 / 8); /* the GEMM of CLBlast without STRM, STRN and SB */
  for (size_t i = 0; i < n; i++) {
    gen_space_at(space, i, &c);
    gen_space_at(all, i, &d);
    assert_memory_equal(c.index, d.index, sizeof c.index);
    assert_true(gen_space_find(space, &d, &k) && k == i);
  }
  gen_instance_free(g);
  spec_close(&s);
}

/* The four files of benchmark_hub and the number of configurations that Kernel Tuner finds in them;
 * needs TUNED_SPACES, the folder that has them. */
TEST_WHERE(getenv("TUNED_SPACES"), the_files_of_the_hub_have_their_counts) {
  static const struct {
    const char *file;
    size_t n;
  } hub[] = {{"convolution_milo", 4362},
             {"dedispersion_milo", 11130},
             {"gemm_milo", 116928},
             {"hotspot_milo", 82984}};
  for (size_t i = 0; i < sizeof hub / sizeof *hub; i++) {
    char path[300];
    spec s;
    auto_space *space = NULL;
    err e = {0};
    snprintf(path, sizeof path, "%s/t1/%s.json", getenv("TUNED_SPACES"), hub[i].file);
    assert_ok(spec_open(path, &s, &e), &e);
    assert_ok(gen_space_new(s.g, &space, &e), &e);
    assert_int_equal(gen_space_count(space), hub[i].n);
    spec_close(&s);
  }
}

int main(void) {
  return tests_run();
}
