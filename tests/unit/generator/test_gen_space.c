/* test_gen_space.c -- the enumeration of a space against trying every point. */
#define _GNU_SOURCE
#include <math.h>

#include "adapt.h"
#include "gen_diagram.h"
#include "gen_fixture.h"
#include "random.h"

/* A space with requirements at every depth that read derived values of derived values, fields,
 * limits and choices; nothing reads P0 and LAST. */
#define DEEP_SPACE                                                                                 \
  "  space = {\n"                                                                                  \
  "    { 'P0', { 1, 2 } }, { 'B', { 32, 64, 128 } }, { 'Q', { 7 } }, { 'MODE', { 'plain', 'wide' " \
  "} },\n"                                                                                         \
  "    { 'U', { -1, 0, 3 } }, { 'V', { 1, 2, 3, 4 } }, { 'W', { 'a', 'b', 'c' } }, { 'X', { 1, 2 " \
  "} },\n"                                                                                         \
  "    { 'Y', { 1, 2, 4 } }, { 'Z', { 5, 6 } }, { 'LAST', { 1, 2, 3 } },\n"                        \
  "  },\n"                                                                                         \
  "  derive = { { 'TWICE', 'U * 2' }, { 'TILE', \"B * sel(MODE == 'wide', 4, 1)\" },\n"            \
  "    { 'SUM', 'TWICE + V + Q' }, { 'HALF', 'Y / 1' }, { 'ODD', 'SUM % 2 == 1' }, { 'UNUSED', "   \
  "'B + 1' } },\n"                                                                                 \
  "  require = {\n"                                                                                \
  "    { 'always', 'n > 0 and dev_sms > 1' }, { 'too wide', 'TILE <= 256' },\n"                    \
  "    { 'sum', 'SUM > 6' }, { 'late', \"ODD or W == 'b'\" }, { 'mode', \"MODE ~= 'wide' or V > "  \
  "1\" },\n"                                                                                       \
  "    { 'pow', 'ispow2(HALF * X) and min(Z, V, 9) > 0' }, { 'last', 'Z + Y + TWICE ~= 7' },\n"    \
  "  },\n"                                                                                         \
  "  default = { P0 = 1, B = 32, Q = 7, MODE = 'plain', U = 0, V = 1, W = 'b', X = 1, Y = 1, Z = " \
  "5, LAST = 1 },\n"

static const char *old_space(void) {
  static char text[600];
  const char *from = strstr(mini_text, "  space ="), *to = strstr(mini_text, "  workspace =");
  snprintf(text, sizeof text, "%.*s", (int)(to - from), from);
  return text;
}

/* Counts through the whole product, the last parameter fastest; false at the end. */
static bool next_point(const gen_template *t, gen_config *c) {
  for (size_t i = t->n_params; i-- > 0;) {
    if (++c->index[i] < t->params[i].n) {
      return true;
    }
    c->index[i] = 0;
  }
  return false;
}

static void compare_with_trying_all(street *s) {
  auto_space *space = NULL;
  assert_ok(gen_space_new(s->g, &space, &s->e), &s->e);
  gen_config c = {{0}}, at;
  size_t valid = 0, i;
  double candidates = 0;
  do {
    err e = {0};
    bool is_valid = !gen_config_check(s->g, &c, &e);
    assert_true(is_valid || e.code == ERR_USAGE);
    if (gen_space_find(space, &c, &i) != is_valid) {
      str text = {0};
      gen_config_text(s->t, &c, &text);
      fail_msg("%s: %s", text.p, is_valid ? "valid but not found" : e.message);
    }
    if (is_valid) {
      assert_int_equal(i, valid);
      gen_space_at(space, valid++, &at);
      assert_memory_equal(at.index, c.index, s->t->n_params * sizeof *c.index);
    }
    candidates++;
  } while (next_point(s->t, &c));
  const gen_tally *tally = gen_space_tally(space);
  double sum = (double)valid;
  for (size_t k = 0; k < tally->n; k++) {
    sum += tally->rejected[k];
  }
  assert_int_equal(gen_space_count(space), valid);
  assert_int_equal(tally->valid, valid);
  assert_true(valid > 0 && candidates > (double)valid);
  assert_true(tally->candidates == candidates && sum == candidates);
}

TEST(the_enumeration_finds_what_trying_all_finds) {
  street s = street_mini(old_space(), DEEP_SPACE, "");
  compare_with_trying_all(&s);
  street_close(&s);
  s = street_open("saxpy", "n=1000");
  compare_with_trying_all(&s);
  street_close(&s);
  s = street_open("saxpy", "n=1001");
  compare_with_trying_all(&s);
  street_close(&s);
}

TEST(reasons_are_counted_where_they_are_seen) {
  auto_street s = street_mini("", "", "");
  auto_space *space = NULL;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 5);
  assert_true(gen_space_tally(space)->rejected[0] == 1);
}

/* Valid, but not in the space: it gains nothing. The requirement is declared before another. */
TEST(a_requirement_may_concern_searches_only) {
  auto_street s =
      street_mini("require = {", "require = { { 'no gain', 'B < 128', advice = 'search' },", "");
  auto_space *space = NULL;
  size_t i;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(s.t->n_requirements, 1);
  assert_string_equal(s.t->requirements[0].name, "too wide");
  assert_string_equal(s.t->requirements[1].name, "no gain");
  assert_int_equal(gen_space_count(space), 4);
  assert_int_equal(gen_space_tally(space)->n, 2);
  assert_true(gen_space_tally(space)->rejected[1] == 2);
  assert_ok(gen_config_parse(s.t, "B=128", &s.c, &s.e), &s.e);
  assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  assert_false(gen_space_find(space, &s.c, &i));
  assert_ok(gen_config_failing(s.g, &s.c, &i, &s.e), &s.e);
  assert_int_equal(i, s.t->n_requirements);
  assert_ok(gen_config_outside(s.g, &s.c, &i, &s.e), &s.e);
  assert_int_equal(i, 1);
  assert_true(adapt_to_space(s.t, s.g, &s.c) && gen_space_find(space, &s.c, &i));
}

static void assert_untuned(const char *problem, const char *expected) {
  street s = street_mini("default = {",
                         "untuned = { { when = 'n > 5000', B = 128, MODE = 'wide' },\n"
                         "    { when = \"n > 500 and kind == 'fast'\", B = 128 },\n"
                         "    { when = 'n > 50 and dev_sms > 100', MODE = 'wide' } },\n"
                         "  default = {",
                         problem);
  auto_str text = {0};
  bool suggested;
  assert_ok(gen_config_untuned(s.g, &s.c, &suggested, &s.e), &s.e);
  assert_int_equal(suggested, strcmp(problem, "n=10") != 0);
  gen_config_text(s.t, &s.c, &text);
  assert_string_equal(str_text(&text), expected);
  street_close(&s);
}

/* The first suggestion that applies to the problem and is valid for it. */
TEST(what_is_untuned_takes_a_suggestion) {
  assert_untuned("n=10", "B=32,MODE=plain");
  assert_untuned("n=100", "B=32,MODE=wide");
  assert_untuned("n=1000", "B=128,MODE=plain");
  assert_untuned("n=1000 kind=safe", "B=32,MODE=wide");
  assert_untuned("n=10000", "B=128,MODE=plain"); /* the tile of the first suggestion is too wide */
}

TEST(base_configurations_end_with_the_default) {
  static const char *const expected[] = {"B=128,MODE=wide", "B=32,MODE=wide", "B=32,MODE=plain"};
  street s = street_mini(
      "default = {", "base = { { B = 128, MODE = 'wide' }, { MODE = 'wide' } }, default = {", "");
  size_t i = 0;
  for (; gen_config_base(s.t, i, &s.c); i++) {
    auto_str text = {0};
    assert_in_range(i, 0, 2);
    gen_config_text(s.t, &s.c, &text);
    assert_string_equal(str_text(&text), expected[i]);
  }
  assert_int_equal(i, 3);
  street_close(&s);
}

TEST(a_textbook_configuration_differs_from_the_default) {
  street with = street_mini("default = {", "textbook = { MODE = 'wide' }, default = {", "");
  street without = street_mini("", "", "");
  auto_str text = {0};
  assert_true(gen_config_textbook(with.t, 0, &with.c));
  gen_config_text(with.t, &with.c, &text);
  assert_string_equal(str_text(&text), "B=32,MODE=wide");
  assert_false(gen_config_textbook(with.t, 1, &with.c));
  assert_false(gen_config_textbook(without.t, 0, &without.c));
  street_close(&with);
  street_close(&without);
}

TEST(textbooks_may_print_several_configurations) {
  street s =
      street_mini("default = {", "textbook = { { MODE = 'wide' }, { B = 128 } }, default = {", "");
  auto_str text = {0};
  assert_true(gen_config_textbook(s.t, 0, &s.c) && gen_config_textbook(s.t, 1, &s.c));
  gen_config_text(s.t, &s.c, &text);
  assert_string_equal(str_text(&text), "B=128,MODE=plain");
  assert_false(gen_config_textbook(s.t, 2, &s.c));
  street_close(&s);
}

/* Advice is for the search; a base configuration serves without it. */
TEST(base_configurations_need_not_take_advice) {
  street s = street_mini("'TILE <= 256' } },\n  default = {",
                         "'TILE <= 256' }, { 'B is small', 'B > 64', advice = true } },\n"
                         "  base = { { B = 64 }, { B = 128, MODE = 'wide' } }, default = {",
                         "");
  auto_space *space = NULL;
  assert_ok(gen_config_parse(s.t, "B=64", &s.c, &s.e), &s.e);
  assert_ok(gen_config_check(s.g, &s.c, &s.e), &s.e);
  assert_ok(gen_config_parse(s.t, "B=64,MODE=wide", &s.c, &s.e), &s.e);
  assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_USAGE, "B is small");
  assert_ok(gen_config_parse(s.t, "B=128,MODE=wide", &s.c, &s.e), &s.e);
  assert_fails(gen_config_check(s.g, &s.c, &s.e), &s.e, ERR_USAGE, "too wide");
  err_clear(&s.e);
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 1);
  street_close(&s);
}

TEST(a_parameter_of_no_use_keeps_its_default) {
  street s = street_mini("{ 'MODE', { 'plain', 'wide' } }",
                         "{ 'MODE', { 'plain', 'wide' }, when = 'B == 64' }", "");
  auto_space *space = NULL;
  gen_config c;
  compare_with_trying_all(&s);
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 4);
  assert_true(gen_space_tally(space)->rejected[0] == 2);
  assert_ok(gen_config_parse(s.t, "B=32,MODE=wide", &c, &s.e), &s.e);
  assert_fails(gen_config_check(s.g, &c, &s.e), &s.e, ERR_USAGE,
               "MODE is of use only when B == 64");
  street_close(&s);
  gen_template *t;
  assert_fails(mini_open(NULL, "{ 'MODE', { 'plain', 'wide' } }",
                         "{ 'MODE', { 'plain', 'wide' }, when = 'C == 64' }", &t, &s.e),
               &s.e, ERR_TEMPLATE, "C");
}

/* Parameters that are not in use have their defaults and are left out; the text means the same
 * without them. */
TEST(people_read_the_parameters_of_use) {
  static const struct {
    const char *config, *words;
  } all[] = {{"B=64,MODE=wide", "B=64,MODE=wide"},
             {"B=64,MODE=plain", "B=64,MODE=plain"},
             {"B=32,MODE=plain", "B=32"},
             {"B=32,MODE=wide", "B=32,MODE=wide"}}; /* invalid, and seen to be */
  street s = street_mini("{ 'MODE', { 'plain', 'wide' } }",
                         "{ 'MODE', { 'plain', 'wide' }, when = 'B == 64' }", "");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gen_config c, again;
    auto_str words = {0};
    assert_ok(gen_config_parse(s.t, all[i].config, &c, &s.e), &s.e);
    assert_ok(gen_config_words(s.g, &c, &words, &s.e), &s.e);
    assert_string_equal(str_text(&words), all[i].words);
    assert_ok(gen_config_parse(s.t, str_text(&words), &again, &s.e), &s.e);
    assert_memory_equal(again.index, c.index, s.t->n_params * sizeof *c.index);
  }
  street_close(&s);
}

TEST(an_empty_space_names_what_emptied_it) {
  gen_space *space;
  street s = street_mini("{ 'too wide', 'TILE <= 256' }",
                         "{ 'small', 'B < 64' }, { 'large', 'TILE > 200' }", "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_USAGE,
               "no configuration of mini is valid here; 4 of 6 are rejected by: small (B < 64)");
  street_close(&s);
  s = street_mini("{ 'too wide', 'TILE <= 256' }", "{ 'never', 'n > 100' }", "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_USAGE,
               "6 of 6 are rejected by: never (n > 100)");
  street_close(&s);
}

TEST(a_space_without_parameters_has_one_point) {
  street s =
      street_mini(old_space(),
                  "  space = {}, derive = { { 'B', '32' }, { 'TILE', 'B' } }, default = {},\n", "");
  auto_space *space = NULL;
  gen_config c;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 1);
  gen_space_at(space, 0, &c);
  assert_ok(gen_config_check(s.g, &c, &s.e), &s.e);
  street_close(&s);
}

/* GEN_MAX_PARAMS parameters with two values each and as many derived values as possible: Lua's
 * limit on local variables must leave room for them. */
TEST(the_largest_space_is_enumerated) {
  auto_str text = {0}, preset = {0}, derive = {0}, require = {0};
  str_add(&text, "  space = {");
  for (int i = 0; i < GEN_MAX_PARAMS; i++) {
    str_addf(&text, " { 'P%d', { 1, 2 } },", i);
    str_addf(&preset, "P%d = 1, ", i);
    str_addf(&require, "{ 'limit', 'P%d %s 1' },", i, i % 6 == 5 ? ">=" : "==");
  }
  for (int i = 0; i < GEN_MAX_DERIVED - 2; i++) {
    str_addf(&derive, "{ 'D%d', 'P%d + %d' },", i, i % GEN_MAX_PARAMS, i);
    str_addf(&require, "{ 'derived', 'D%d > 0' },", i);
  }
  str_addf(&text,
           " },\n derive = { { 'B', '32' }, { 'TILE', 'B' }, %s }, require = { %s },\n default = { "
           "%s },\n",
           derive.p, require.p, preset.p);
  auto_street s = street_mini(old_space(), text.p, "");
  auto_space *space = NULL;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 256); /* 8 parameters are free */
  for (size_t i = 0; i < 256; i++) {
    gen_config c;
    size_t k;
    gen_space_at(space, i, &c);
    assert_ok(gen_config_check(s.g, &c, &s.e), &s.e);
    assert_true(gen_space_find(space, &c, &k) && k == i);
  }
}

/* ---- diagrams -------------------------------------------------------------------------------- */

/* The diagram accepts a point exactly when the point is valid, and maps numbers to points and
 * back. */
static void compare_diagram_with_trying_all(street *s, const gen_diagram *d,
                                            const double *rejected) {
  uint64_t n = gen_diagram_count(d), valid = 0, i;
  double candidates = 0, sum = (double)n;
  char *seen = calloc(n + 1, 1);
  gen_config c = {{0}}, at;
  do {
    err e = {0};
    bool is_valid = !gen_config_check(s->g, &c, &e);
    assert_true(is_valid || e.code == ERR_USAGE);
    assert_int_equal(gen_diagram_find(d, &c, &i), is_valid);
    if (is_valid) {
      assert_true(i < n && !seen[i]);
      seen[i] = 1;
      gen_diagram_at(d, i, &at);
      assert_memory_equal(at.index, c.index, s->t->n_params * sizeof *c.index);
      valid++;
    }
    candidates++;
  } while (next_point(s->t, &c));
  for (size_t k = 0; k < s->t->n_search_requirements; k++) {
    sum += rejected[k];
  }
  assert_int_equal(valid, n);
  assert_true(sum == candidates);
  free(seen);
}

static uint64_t random_state;
static size_t draw(size_t n) {
  return random_below(&random_state, n);
}

/* A requirement of one of the kinds that templates have, over random parameters and derived values:
 * sums, products, guards. */
static void add_random_requirement(str *out, int n_params) {
  static const char *const forms[] = {"A * B * C <= 40",
                                      "A + B + C - D ~= 3",
                                      "(A + 2) * (B + C) * 2 <= 60",
                                      "A % B == 0 or C > 2",
                                      "B ~= 3 and A % B ~= 1",
                                      "S ~= 'b' or A * D > 4",
                                      "ceildiv(A * B, C) <= 5 and D <= 7",
                                      "D0 <= 30",
                                      "D1 + D0 <= 40",
                                      "not (D2 and A == B)",
                                      "sel(S == 'a', A, B) <= C + D",
                                      "A / B <= C",
                                      "S == 'c' or (A > 1 and B < 8) or C == D",
                                      "min(A, B, C) <= 2 and max(B, D) > 1",
                                      "A - B - C < 5 and D0 - A > -9",
                                      "n > 5 and A * n < B * 900",
                                      "(A * B) % (C * D) == 0 or A << B < 64"};
  const char *form = forms[draw(sizeof forms / sizeof *forms)];
  int order[4];
  for (int i = 0; i < 4; i++) {
    order[i] = (int)draw((size_t)n_params);
  }
  str_add(out, "{ 'r', \"");
  for (const char *p = form; *p; p++) {
    bool name = *p >= 'A' && *p <= 'D' && !(p[1] >= '0' && p[1] <= '9');
    if (name) {
      str_addf(out, "P%d", order[*p - 'A']);
    } else {
      str_add_n(out, p, 1);
    }
  }
  str_add(out, "\" }, ");
}

static void random_space(str *out) {
  int n_params = 4 + (int)draw(3);
  auto_str derive = {0}, require = {0}, preset = {0};
  str_add(out, "  space = { { 'S', { 'a', 'b', 'c' } }, ");
  for (int i = 0; i < n_params; i++) {
    str_addf(out, "{ 'P%d', { 1", i);
    for (int v = 2, last = 2 + (int)draw(6); v <= last; v++) {
      str_addf(out, ", %d", draw(2) ? v : v + 8);
    }
    str_add(out, " } }, ");
    str_addf(&preset, "P%d = 1, ", i);
  }
  str_addf(&derive, "{ 'D0', 'P%zu * P%zu + 1' }, { 'D1', 'D0 + P%zu' }, { 'D2', 'D1 %% 2 == 1' }",
           draw(3), draw(3), draw(4));
  for (size_t n = 1 + draw(5); n > 0; n--) {
    add_random_requirement(&require, n_params);
  }
  str_addf(
      out,
      "},\n derive = { { 'B', '32' }, { 'TILE', 'B' }, %s }, require = { %s },\n default = { S "
      "= 'a', %s },\n",
      derive.p, require.p, preset.p);
}

TEST(a_diagram_has_the_points_that_trying_all_finds) {
  size_t n_points = 0, n_empty = 0;
  for (random_state = 1; random_state < 50; random_state++) {
    uint64_t seed = random_state;
    auto_str text = {0};
    random_space(&text);
    auto_street s = street_mini(old_space(), text.p, "");
    gen_diagram *d;
    double rejected[16];
    if (gen_diagram_new(s.g, rejected, &d, &s.e)) {
      fail_msg("seed %zu: %s\n%s", (size_t)seed, s.e.message, text.p);
    }
    compare_diagram_with_trying_all(&s, d, rejected);
    n_points += gen_diagram_count(d);
    n_empty += !gen_diagram_count(d);
    gen_diagram_free(d);
    random_state = seed;
  }
  printf("50 random spaces, %zu valid points, %zu spaces empty\n", n_points, n_empty);
  assert_true(n_points > 10000 && n_empty < 25);
  auto_street s = street_mini(old_space(), DEEP_SPACE, "");
  gen_diagram *d;
  double rejected[16];
  assert_ok(gen_diagram_new(s.g, rejected, &d, &s.e), &s.e);
  compare_diagram_with_trying_all(&s, d, rejected);
  gen_diagram_free(d);
}

/* A space of n parameters with the values 0 to n_values - 1 and these requirements. */
static street open_digits(int n, int n_values, const char *sum, const char *require) {
  auto_str text = {0}, preset = {0}, values = {0}, all = {0};
  for (int v = 0; v < n_values; v++) {
    str_addf(&values, "%d, ", v);
  }
  str_add(&text, "  space = {");
  for (int i = 0; i < n; i++) {
    str_addf(&text, " { 'P%d', { %s } },", i, values.p);
    str_addf(&preset, "P%d = 0, ", i);
    str_addf(&all, "%sP%d", i ? sum : "", i);
  }
  str_addf(&text,
           " },\n  derive = { { 'B', '32' }, { 'TILE', 'B' }, { 'ALL', '%s' } },\n"
           "  require = { %s },\n  default = { %s },\n",
           all.p, require, preset.p);
  street s = street_mini(old_space(), text.p, "");
  return s;
}

/* The number of n-digit numbers whose sum of digits is at most `most`. */
static double digit_sums(int n, int most) {
  double ways[200] = {1};
  for (int i = 0; i < n; i++) {
    double next[200] = {0};
    for (int sum = 0; sum <= 9 * i; sum++) {
      for (int v = 0; v < 10; v++) {
        next[sum + v] += ways[sum];
      }
    }
    memcpy(ways, next, sizeof ways);
  }
  double total = 0;
  for (int sum = 0; sum <= most; sum++) {
    total += ways[sum];
  }
  return total;
}

TEST(spaces_larger_than_memory_are_counted) {
  auto_space *space = NULL;
  auto_street s = open_digits(12, 10, " + ", "{ 'sum', 'ALL <= 40' }");
  double drawn[10] = {0};
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  size_t n = gen_space_count(space), i;
  const gen_tally *tally = gen_space_tally(space);
  printf("%zu valid points of 10^12, %zu nodes, %zu bytes\n", n, tally->n_nodes, tally->nbytes);
  assert_true((double)n == digit_sums(12, 40));
  assert_true(tally->candidates == 1e12 && tally->rejected[0] == 1e12 - (double)n);
  enum { SAMPLES = 20000 };
  for (int k = 0; k < SAMPLES; k++) {
    gen_config c;
    size_t wanted = (size_t)((double)k / SAMPLES * (double)n) + draw(1000);
    gen_space_at(space, wanted, &c);
    assert_true(gen_space_find(space, &c, &i) && i == wanted);
    assert_ok(gen_config_check(s.g, &c, &s.e), &s.e);
    drawn[c.index[5]]++;
    c.index[0] = c.index[1] = c.index[2] = c.index[3] = c.index[4] = 9;
    assert_false(gen_space_find(space, &c, &i));
  }
  double share0 = digit_sums(11, 40) / (double)n, share9 = digit_sums(11, 31) / (double)n;
  assert_true(fabs(drawn[0] / SAMPLES - share0) < 0.01);
  assert_true(fabs(drawn[9] / SAMPLES - share9) < 0.01);
}

TEST(spaces_too_large_are_refused) {
  auto_space *space = NULL;
  street s = open_digits(48, 3, " + ", "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_LIMIT, "more than 2^63 of them");
  street_close(&s);
  s = open_digits(48, 3, " + ", "{ 'few', 'ALL < 3' }");
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 1 + 48 + 48 + 48 * 47 / 2);
  street_close(&s);
}

/* A search that finds nothing for very long ends as well. */
TEST(an_enumeration_can_be_limited_and_interrupted) {
  volatile int stop = 0;
  gen_options o = {.max_instructions = 900, .stop = &stop};
  const char *text =
      "  space = { { 'B', { 32, 64 } }, { 'P0', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { 'P1', { 1, 2, "
      "3, 4, 5, 6, 7, 8, 9 } },\n"
      "    { 'P2', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { 'P3', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { "
      "'P4', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } },\n"
      "    { 'P5', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { 'P6', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } } },\n"
      "  derive = { { 'TILE', 'B' } }, require = { { 'none', 'P0 + P1 + P2 + P3 + P4 + P5 + P6 < "
      "0' } },\n"
      "  default = { B = 32, P0 = 1, P1 = 1, P2 = 1, P3 = 1, P4 = 1, P5 = 1, P6 = 1 },\n";
  auto_street s = {0};
  gen_space *space;
  assert_ok(mini_open(&o, old_space(), text, &s.t, &s.e), &s.e);
  street_start(&s, "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_LIMIT, "it takes more than");
  stop = 1;
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_INTERRUPTED, "interrupted");
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
