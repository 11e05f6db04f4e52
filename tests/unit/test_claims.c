/* test_claims.c -- the claims of textbooks: reading the list, comparing a measurement with a claim,
 * and every shipped claim naming two valid configurations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "claims.h"
#include "emu.h"
#include "gen.h"
#include "run.h"

static arena memory;

TEST(a_line_is_read) {
  claim *c;
  size_t n;
  err e = {0};
  assert_ok(claims_read("# a comment\n\n scan n=2^20 dtype=f32 | ALG=a > ALG=b | BLOCK=64 | 11: a\n"
                        "copy | WIDTH=4 ~ WIDTH=8 || no gain | at all",
                        "list", &memory, &c, &n, &e),
            &e);
  assert_int_equal(n, 2);
  assert_string_equal(c[0].family, "scan");
  assert_string_equal(c[0].problem, "n=2^20 dtype=f32");
  assert_string_equal(c[0].one, "BLOCK=64,ALG=a");
  assert_string_equal(c[0].other, "BLOCK=64,ALG=b");
  assert_string_equal(c[0].other_part, "ALG=b");
  assert_string_equal(c[0].text, "11: a");
  assert_false(c[0].even);
  assert_int_equal(c[0].line, 3);
  assert_string_equal(c[1].problem, "");
  assert_string_equal(c[1].one, "WIDTH=4");
  assert_string_equal(c[1].text, "no gain | at all");
  assert_true(c[1].even);
}

TEST(a_wrong_line_is_told) {
  static const struct {
    const char *text, *place, *why;
  } cases[] = {{"", "list", "no claims"},
               {"# nothing", "list", "no claims"},
               {"\nscan n=1 | ALG=a > ALG=b | BLOCK=64", "list:2", "fewer than four parts"},
               {"scan n=1 | ALG=a > ALG=b | BLOCK=64 | ", "list:1", "fewer than four parts"},
               {"scan | ALG=a, ALG=b | | text", "list:1", "neither > nor ~"},
               {"scan | ALG=a > | | text", "list:1", "without spaces"},
               {"scan | ALG=a, BLOCK=1 > ALG=b | | text", "list:1", "without spaces"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    claim *c;
    size_t n;
    err e = {0};
    assert_fails(claims_read(cases[i].text, "list", &memory, &c, &n, &e), &e, ERR_TEMPLATE,
                 cases[i].why);
    assert_string_equal(e.place, cases[i].place);
  }
}

TEST(a_time_decides) {
  const claim faster = {0}, even = {.even = true};
  static const struct {
    double other; /* beside 1 */
    claim_verdict faster, even;
  } cases[] = {{2, CLAIM_HOLDS, CLAIM_FAILS},    {1.03, CLAIM_HOLDS, CLAIM_HOLDS},
               {1.01, CLAIM_EVEN, CLAIM_HOLDS},  {0.99, CLAIM_EVEN, CLAIM_HOLDS},
               {0.97, CLAIM_FAILS, CLAIM_HOLDS}, {0.5, CLAIM_FAILS, CLAIM_FAILS}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const claim_times t = {1, cases[i].other, false};
    assert_int_equal(claim_verdict_of(&faster, &t), cases[i].faster);
    assert_int_equal(claim_verdict_of(&even, &t), cases[i].even);
  }
}

TEST(both_forms_say_the_same) {
  const claim c = {.family = "scan",
                   .problem = "n=1",
                   .one = "BLOCK=64,ALG=a",
                   .other = "BLOCK=64,ALG=b",
                   .one_part = "ALG=a",
                   .other_part = "ALG=b",
                   .text = "the text"};
  const claim_times t = {2e-6, 1e-6, true};
  auto_str s = {0};
  claim_line(&c, &t, &s);
  assert_non_null(
      strstr(str_text(&s), "does not hold   0.50  scan ALG=a: 2.00 us, ALG=b: 1.00 us (modelled)"));
  assert_non_null(strstr(str_text(&s), "n=1: the text\n"));
  str_reset(&s);
  claim_json(&c, &t, "a card", &s);
  assert_non_null(
      strstr(str_text(&s), "{\"event\":\"claim\",\"verdict\":\"does not hold\",\"ratio\":0.5,"));
  assert_non_null(
      strstr(str_text(&s), "\"one\":\"BLOCK=64,ALG=a\",\"one_modelled_seconds\":2e-06"));
}

/* ---- those that ship ------------------------------------------------------------------------- */

static bool is_there(const claim *c, const rt_device *d) {
  gen_number numbers[RT_NUMBERS];
  gen_options o = {0};
  auto_template *t = NULL;
  gen_problem p;
  gen_instance *g;
  gen_config one, other;
  err e = {0};
  rt_numbers(&d->info, numbers);
  assert_ok(gen_open(&o, c->family, &t, &e), &e);
  assert_ok(gen_problem_parse(t, c->problem, &p, &e), &e);
  assert_ok(gen_instance_new(t, &p, numbers, RT_NUMBERS, &g, &e), &e);
  assert_ok(gen_config_parse(t, c->one, &one, &e), &e);
  assert_ok(gen_config_parse(t, c->other, &other, &e), &e);
  const bool valid = !gen_config_check(g, &one, &e) && !gen_config_check(g, &other, &e);
  if (!valid) {
    print_message("line %d: %s\n", c->line, e.message);
  }
  assert_int_not_equal(memcmp(one.index, other.index, t->n_params * sizeof *one.index), 0);
  gen_instance_free(g);
  return valid;
}

TEST(what_ships_can_be_tried) {
  claim *c;
  size_t n;
  err e = {0};
  rt_device *d;
  assert_ok(rt_emu_open("h200", &d, &e), &e);
  assert_ok(claims_open(NULL, &memory, &c, &n, &e), &e);
  assert_true(n > 30);
  size_t n_there = 0;
  for (size_t i = 0; i < n; i++) {
    n_there += is_there(&c[i], d);
  }
  assert_int_equal(n_there, n);
  d->ops->close(d);
}

int main(void) {
  const int failed = tests_run();
  arena_clear(&memory);
  return failed;
}
