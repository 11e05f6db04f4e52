/* test_gen_expr.c -- expressions: values of the helpers, the names that are read, and their C. */
#define _GNU_SOURCE
#include "gen_fixture.h"
#include "random.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* The value of an expression with n = 100 and B = 32, read from a plan's grid. */
static uint32_t value(const char *expression) {
  char grid[200];
  snprintf(grid, sizeof grid, "grid = \"%s\"", expression);
  auto_street s = street_mini("grid = 'ceildiv(n, TILE)'", grid, "");
  const gen_plan *p;
  if (gen_plan_make(s.g, &s.c, &s.a, &p, &s.e)) {
    fail_msg("%s: %s", expression, s.e.message);
  }
  uint32_t v = p->n ? p->launches[0].grid[0] : 0;
  return v;
}

TEST(helpers_give_what_they_say) {
  static const struct {
    const char *expression;
    uint32_t value;
  } list[] = {
      {"ceildiv(10, 3)", 4},
      {"ceildiv(9, 3)", 3},
      {"ceildiv(0, 3)", 0},
      {"10 + ceildiv(-10, 3)", 7},
      {"10 + ceildiv(10, -3)", 7},
      {"ceildiv(-10, -3)", 4},
      {"ceildiv(10, -1) + 11", 1},
      {"roundup(10, 4)", 12},
      {"roundup(12, 4)", 12},
      {"10 + roundup(-3, 4)", 10},
      {"min(3, 2, 5)", 2},
      {"max(3, 2, 5.0)", 5},
      {"min(7)", 7},
      {"log2(1)", 0},
      {"log2(1024)", 10},
      {"log2(1023)", 9},
      {"log2(2^40)", 40},
      {"sel(ispow2(64), 1, 0)", 1},
      {"sel(ispow2(0) or ispow2(12) or ispow2(-8), 1, 0)", 0},
      {"pow2div(24, 16)", 8},
      {"pow2div(24, 4)", 4},
      {"pow2div(24, 7)", 4},
      {"pow2div(0, 16)", 16},
      {"pow2div(0, 12)", 8},
      {"pow2div(7, 16)", 1},
      {"pow2div(-8, 16)", 8},
      {"abs(-5)", 5},
      {"abs(2.0 - 5)", 3},
      {"floor(7 / 2)", 3},
      {"ceil(7 / 2)", 4},
      {"ceil(7) + floor(8)", 15},
      {"sqrt(144)", 12},
      {"2^10", 1024},
      {"7 // 2 * 2 + 7 % 2", 7},
      {"sel(kind == 'fast' and MODE ~= 'wide', n, B)", 100},
      {"sel(not (n < B), B, n)", 32},
      {"TILE + (3 << 2) + (6 & 3) + (1 | 2)", 49},
      {"  n -- a comment\\n + 1", 101},
      {"n\\n+\\n1", 101},
      {"0x10 + 1e2", 116},
      {"dev_sms + dev_warp", 164},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    uint32_t v = value(list[i].expression);
    if (v != list[i].value) {
      fail_msg("%s: got %u, wanted %u", list[i].expression, v, list[i].value);
    }
  }
}

/* What fails whatever the values is refused when the template is opened. */
static void is_refused(const char *expression, const char *words) {
  char grid[200];
  gen_template *t;
  err e = {0};
  snprintf(grid, sizeof grid, "grid = \"%s\"", expression);
  assert_fails(mini_open(NULL, "grid = 'ceildiv(n, TILE)'", grid, &t, &e), &e, ERR_TEMPLATE, words);
  assert_non_null(strstr(e.message, expression));
  assert_string_equal(e.place, folder_path("mini.lua:26"));
}

static void value_fails(const char *expression, const char *words) {
  char grid[200];
  snprintf(grid, sizeof grid, "grid = \"%s\"", expression);
  auto_street s = street_mini("grid = 'ceildiv(n, TILE)'", grid, "");
  const gen_plan *p;
  assert_fails(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e, ERR_TEMPLATE, words);
  assert_non_null(strstr(s.e.message, expression));
  assert_string_equal(s.e.place, folder_path("mini.lua:26"));
}

TEST(helpers_refuse_what_they_cannot_do) {
  value_fails("ceildiv(1, 0)", "division by zero");
  value_fails("roundup(1, 0)", "division by zero");
  value_fails("1 // 0", "division by zero");
  value_fails("1 % (n - 100)", "division by zero");
  value_fails("1 / 0", "a whole number is needed, not inf");
  value_fails("ceildiv(1.5, 2)", "a whole number is needed");
  is_refused("ceildiv('10', 2)", "a whole number is needed, not a text");
  is_refused("ceildiv(1)", "ceildiv takes 2 arguments, not 1");
  is_refused("ceildiv(1, 2, 3)", "ceildiv takes 2 arguments, not 3");
  is_refused("log2()", "log2 takes 1 argument, not 0");
  is_refused("ceildiv + 1", "'ceildiv' is a helper: its arguments are missing");
  is_refused("min()", "min takes at least 1 argument, not 0");
  is_refused("max(1, 'a')", "a number is needed");
  is_refused("max('a')", "a number is needed");
  value_fails("max(1, n > 3 or 1)", "max: a number is needed, not a condition");
  value_fails("log2(0)", "a number above 0 is needed");
  value_fails("pow2div(8, 0)", "a number above 0 is needed");
  is_refused("sel(1, 2, 3)", "a condition is needed");
  is_refused("sel(true, 2)", "sel takes 3 arguments, not 2");
  is_refused("sqrt('a')", "a number is needed");
  value_fails("sqrt(-1)", "a whole number is needed, not");
  is_refused("n < 'a'", "'<' cannot compare a number with a text");
  value_fails("1 + sel((n > 3 or n) < 3, 1, 2)", "'<' cannot compare a condition with a number");
  is_refused("'5' + 5", "+: a number is needed, not a text");
  value_fails("(n > 3 or n) + 5", "+: a number is needed, not a condition");
  value_fails("2^70 | 1", "|: a whole number is needed, not 1.1805916207174113e+21");
  is_refused("n and kind", "a number is needed, not a text");
  value_fails("n > 3 and kind or n", "a whole number is needed, not 'fast'");
}

/* ---- in C ------------------------------------------------------------------------------------ */

static const char *prefixed(void *ud, const char *name) {
  str *text = ud;
  str_reset(text);
  if (name[0] == '\'') {
    str_addf(text, "WORD_%.*s", (int)strlen(name) - 2, name + 1);
  } else {
    str_addf(text, "p->%s", name);
  }
  return strcmp(name, "hidden") ? text->p : NULL;
}

TEST(expressions_become_c) {
  static const char *const list[][2] = {
      {"n", "n"},
      {"a + b * c - d // 2 % 3", "a + b * c - d / 2 % 3"},
      {"(a + b) * c", "(a + b) * c"},
      {"-a * - b - -c", "-a * -b - -c"},
      {"- -a", "- -a"},
      {"a ~= b", "a != b"},
      {"a == b and c <= d or not (a < b)", "((a == b && c <= d) || !(a < b))"},
      {"true and not false", "(1 && !0)"},
      {"min(a, b, 3) // 2", "tuned_min(tuned_min(a, b), 3) / 2"},
      {"2 * min(a + b)", "2 * (a + b)"},
      {"max(a, b)", "tuned_max(a, b)"},
      {"ceildiv(a, roundup(b, 4))", "tuned_ceildiv(a, tuned_roundup(b, 4))"},
      {"sel(a > b, a, b) + 1", "((a > b) ? (a) : (b)) + 1"},
      {"ispow2(a) == (b < c)", "tuned_ispow2(a) == (b < c)"},
      {"pow2div(x // 4, 4)", "tuned_pow2div(x / 4, 4)"},
      {"log2(abs(n))", "tuned_log2(tuned_abs(n))"},
      {"2^24 + 0x10 + 32768 + 2^0", "16777216LL + 16 + 32768LL + 1"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    auto_str out = {0};
    err e = {0};
    assert_ok(gen_expression_c(list[i][0], NULL, NULL, &out, &e), &e);
    assert_string_equal(out.p, list[i][1]);
  }
}

TEST(names_and_texts_are_the_callers) {
  auto_str out = {0}, name = {0};
  err e = {0};
  assert_ok(
      gen_expression_c("sel(t == \"n\" and 'k' ~= u, m, min(k, 2))", prefixed, &name, &out, &e),
      &e);
  assert_string_equal(out.p,
                      "(((p->t == WORD_n && WORD_k != p->u)) ? (p->m) : (tuned_min(p->k, 2)))");
  assert_fails(gen_expression_c("hidden + 1", prefixed, &name, &out, &e), &e, ERR_TEMPLATE,
               "not available in C");
}

TEST(what_c_cannot_say_is_refused) {
  static const char *const list[][2] = {
      {"", "an expression is empty"},
      {"a +", "a value is missing at the end"},
      {"a / b", "write // for /"},
      {"a & b", "C cannot say this"},
      {"a << 2", "C cannot say this"},
      {"a ^ 2", "C has no ^"},
      {"2 ^ a", "C has no ^"},
      {"10 ^ 30", "too large"},
      {"a < b < c", "cannot compare a condition with another value"},
      {"a == b < c", "cannot compare a condition with another value"},
      {"a and b", "'and' and 'or' must join conditions"},
      {"a > b and a or b", "'and' and 'or' must join conditions"},
      {"not a", "'not' needs a condition"},
      {"-(a < b)", "-: a number is needed, not a condition"},
      {"a == 'x'", "C cannot compare texts"},
      {"sel(a, b, c)", "sel: a condition is needed"},
      {"sel(a < b, b, c < a)", "two values of one kind"},
      {"ceildiv(a)", "ceildiv takes 2 arguments, not 1"},
      {"ceildiv(a, b, c)", "ceildiv takes 2 arguments, not 3"},
      {"min(a < b)", "a number is needed, not a condition"},
      {"sqrt(a)", "C lacks a function of these"},
      {"(a", "')' is missing at the end"},
      {"a b", "an operator is missing before 'b'"},
      {"a < b + (c < d)", "+: a number is needed, not a condition"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    auto_str out = {0};
    err e = {0};
    assert_fails(gen_expression_c(list[i][0], NULL, NULL, &out, &e), &e, ERR_TEMPLATE, list[i][1]);
  }
  auto_str deep = {0}, out = {0};
  err e = {0};
  for (int i = 0; i < 100000; i++) {
    str_add(&deep, "(");
  }
  assert_fails(gen_expression_c(deep.p, NULL, NULL, &out, &e), &e, ERR_TEMPLATE,
               "too deeply nested");
  str_reset(&deep);
  for (int i = 0; i < 100000; i++) {
    str_add(&deep, "- ");
  }
  assert_fails(gen_expression_c(deep.p, NULL, NULL, &out, &e), &e, ERR_TEMPLATE,
               "too deeply nested");
}

/* Random sequences of tokens give C or an error, and the parentheses of the C always balance. */
TEST(random_tokens_are_refused_or_translated) {
  static const char *const tokens[] = {"a ",   "b ",   "1 ",   "2^3 ", "(",    ")",      "+ ",
                                       "- ",   "* ",   "// ",  "< ",   "== ",  "and ",   "or ",
                                       "not ", "min(", "sel(", ", ",   "'t' ", "ispow2("};
  uint64_t seed = 7;
  size_t good = 0;
  auto_str name = {0};
  for (int i = 0; i < 200000; i++) {
    auto_str text = {0}, out = {0};
    for (int n = 1 + i % 8; n > 0; n--) {
      str_add(&text, tokens[random_below(&seed, sizeof tokens / sizeof *tokens)]);
    }
    if (!gen_expression_c(text.p, prefixed, &name, &out, NULL)) {
      int depth = 0;
      for (const char *p = out.p; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        assert_true(depth >= 0);
      }
      assert_int_equal(depth, 0);
      good++;
    }
  }
  assert_true(good > 100);
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
