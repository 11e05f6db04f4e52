/* test_gen_space.c -- the enumeration against trying every point, and how fast it is. */
#define _GNU_SOURCE
#include "gen_fixture.h"

/* A space whose requirements sit at every depth, read derived values of derived values, fields,
 * limits and choices; P0 and LAST are read by nothing. */
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

/* Odometer over the whole product, last parameter fastest; false at the end. */
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
  gen_space *space;
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
  gen_space_free(space);
}

static void the_enumeration_finds_what_trying_all_finds(void **state) {
  (void)state;
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

static void reasons_are_counted_where_they_are_seen(void **state) {
  (void)state;
  street s = street_mini("", "", "");
  gen_space *space;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 5);
  assert_true(gen_space_tally(space)->rejected[0] == 1);
  gen_space_free(space);
  street_close(&s);
}

static void an_empty_space_names_what_emptied_it(void **state) {
  (void)state;
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

static void a_space_without_parameters_has_one_point(void **state) {
  (void)state;
  street s =
      street_mini(old_space(),
                  "  space = {}, derive = { { 'B', '32' }, { 'TILE', 'B' } }, default = {},\n", "");
  gen_space *space;
  gen_config c;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 1);
  gen_space_at(space, 0, &c);
  assert_ok(gen_config_check(s.g, &c, &s.e), &s.e);
  gen_space_free(space);
  street_close(&s);
}

/* GEN_MAX_PARAMS parameters with two values each and the most derived values: what Lua's limit on
 * local variables must leave room for. */
static void the_largest_space_is_enumerated(void **state) {
  (void)state;
  str text = {0}, preset = {0}, derive = {0}, require = {0};
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
  street s = street_mini(old_space(), text.p, "");
  gen_space *space;
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  assert_int_equal(gen_space_count(space), 256); /* 8 parameters are free */
  for (size_t i = 0; i < 256; i++) {
    gen_config c;
    size_t k;
    gen_space_at(space, i, &c);
    assert_ok(gen_config_check(s.g, &c, &s.e), &s.e);
    assert_true(gen_space_find(space, &c, &k) && k == i);
  }
  gen_space_free(space);
  street_close(&s);
  str_clear(&text);
  str_clear(&preset);
  str_clear(&derive);
  str_clear(&require);
}

static void spaces_too_large_are_refused(void **state) {
  (void)state;
  str text = {0}, preset = {0};
  gen_space *space;
  str_add(&text, "  space = {");
  for (int i = 0; i < 9; i++) {
    str_addf(&text, "{ 'P%d', { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },", i);
    str_addf(&preset, "P%d = 0, ", i);
  }
  str_addf(&text,
           " },\n  derive = { { 'B', '32' }, { 'TILE', 'P0 + P1 + P2 + P3 + P4 + P5 + P6 + P7 + "
           "P8' } },\n"
           "  require = { { 'sum', 'TILE >= 0' } },\n  default = { %s },\n",
           preset.p);
  street s = street_mini(old_space(), text.p, "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_LIMIT,
               "more than 2^26 valid configurations");
  street_close(&s);
  str_clear(&text);
  str_clear(&preset);
  str_add(&text, "  space = {");
  for (int i = 0; i < 48; i++) {
    str_addf(&text, "{ 'P%d', { 0, 1, 2 } },", i);
    str_addf(&preset, "P%d = 0, ", i);
  }
  str_addf(&text, " },\n  derive = { { 'B', '32' }, { 'TILE', 'B' } },\n  default = { %s },\n",
           preset.p);
  s = street_mini(old_space(), text.p, "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_LIMIT, "more than 2^63 points");
  street_close(&s);
  str_clear(&text);
  str_clear(&preset);
}

/* A search that finds nothing for very long is ended, too. */
static void an_enumeration_can_be_limited_and_interrupted(void **state) {
  (void)state;
  volatile int stop = 0;
  gen_options o = {.max_instructions = 10000, .stop = &stop};
  const char *text =
      "  space = { { 'B', { 32, 64 } }, { 'P0', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { 'P1', { 1, 2, "
      "3, 4, 5, 6, 7, 8, 9 } },\n"
      "    { 'P2', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { 'P3', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { "
      "'P4', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } },\n"
      "    { 'P5', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }, { 'P6', { 1, 2, 3, 4, 5, 6, 7, 8, 9 } } },\n"
      "  derive = { { 'TILE', 'B' } }, require = { { 'none', 'P0 + P1 + P2 + P3 + P4 + P5 + P6 < "
      "0' } },\n"
      "  default = { B = 32, P0 = 1, P1 = 1, P2 = 1, P3 = 1, P4 = 1, P5 = 1, P6 = 1 },\n";
  street s = {0};
  gen_space *space;
  assert_ok(mini_open(&o, old_space(), text, &s.t, &s.e), &s.e);
  street_start(&s, "");
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_LIMIT, "it takes more than");
  stop = 1;
  assert_fails(gen_space_new(s.g, &space, &s.e), &s.e, ERR_INTERRUPTED, "interrupted");
  street_close(&s);
}

/* ---- speed ----------------------------------------------------------------------------------- */

/* Every requirement reads the last parameter, so that nothing is pruned and each candidate costs a
 * full evaluation: the worst there is. */
static void more_than_a_million_candidates_a_second(void **state) {
  (void)state;
  const char *text =
      "  space = { { 'B', { 32, 64, 128, 256 } }, { 'MODE', { 'plain', 'wide' } }, { 'U', { 1, 2, "
      "4, 8, 16 } },\n"
      "    { 'V', { 1, 2, 4, 8, 16 } }, { 'W', { 1, 2, 3, 4, 5, 6, 7, 8 } }, { 'X', { 1, 2, 3, 4, "
      "5, 6, 7, 8 } },\n"
      "    { 'Y', { 1, 2, 3, 4, 5, 6, 7, 8 } }, { 'Z', { 1, 2, 3, 4, 5, 6, 7, 8 } } },\n"
      "  derive = { { 'TILE', 'B * U' }, { 'SMEM', '4 * (TILE + V * W) * Z' } },\n"
      "  require = { { 'memory', 'SMEM <= dev_smem_block' }, { 'divides', 'B * Z % V == 0' },\n"
      "    { 'order', \"MODE == 'plain' or Z > X\" }, { 'waves', 'ceildiv(n, TILE * Z) >= Y' } },\n"
      "  default = { B = 32, MODE = 'plain', U = 1, V = 1, W = 1, X = 1, Y = 1, Z = 1 },\n";
  street s = street_mini(old_space(), text, "n=100000");
  gen_space *space;
  double from = now_sec();
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  double sec = now_sec() - from;
  double rate = gen_space_tally(space)->candidates / sec;
  printf("nothing pruned: %.0f candidates, %zu valid, %.2f million a second\n",
         gen_space_tally(space)->candidates, gen_space_count(space), 1e-6 * rate);
  /* sanitizers slow Lua down, and this machine may be doing other things */
  assert_true(rate > 3e5);
  gen_space_free(space);
  street_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_enumeration_finds_what_trying_all_finds),
      cmocka_unit_test(reasons_are_counted_where_they_are_seen),
      cmocka_unit_test(an_empty_space_names_what_emptied_it),
      cmocka_unit_test(a_space_without_parameters_has_one_point),
      cmocka_unit_test(the_largest_space_is_enumerated),
      cmocka_unit_test(spaces_too_large_are_refused),
      cmocka_unit_test(an_enumeration_can_be_limited_and_interrupted),
      cmocka_unit_test(more_than_a_million_candidates_a_second),
  };
  return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
