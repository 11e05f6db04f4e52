/* test_gen_while.c -- plans with loops that run until a word is 0. */
#define _GNU_SOURCE
#include "gen_fixture.h"

#define SET "{ memset = 'sums', value = 255, when = \"kind == 'safe'\" },"
#define LOOP(loop, args)                                                                           \
  SET "{ loop = { while_word = 'sums'" loop " }, when = \"kind == 'safe'\", stages = { "           \
      "{ memset = 'y', nbytes = 4 }, { kernel = 'more', grid = 2, block = 'B', args = { " args     \
      " } } } },"

static street street_looped(const char *loop, const char *problem) {
  return street_mini(SET, loop, problem);
}

/* The host's loops have the stages alone; those of a graph have a launch before, and one behind them unless
 * a kernel takes the loop's handle. */
TEST(plans_hold_loops_until_a_word_is_0) {
  static const struct {
    const char *loop;
    size_t n;
    bool next;
  } cases[] = {{LOOP(", max = 'n', graph = true", "'x', 'sums'"), 4, true},
               {LOOP(", max = 'n', graph = true", "{ loop = 'sums' }, 'sums'"), 3, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    auto_street s = street_looped(cases[i].loop, "n=100 kind=safe");
    const gen_plan *p;
    assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
    const gen_loop *loop = p->launches[1].loop;
    assert_int_equal(p->n, 1 + cases[i].n + 1);
    assert_true(loop->is_while && loop->graph && !gen_plan_blocks(p));
    assert_true(loop->times == 100 && loop->n == cases[i].n && loop->word == 0);
    assert_string_equal(loop->word_name, "sums");
    const gen_launch *begin = &p->launches[1];
    assert_string_equal(begin->kernel, "while_begin");
    assert_int_equal(begin->n_operands, 3);
    assert_true(begin->operands[0].from == GEN_FROM_LOOP && begin->operands[0].nbytes == 16);
    assert_true(begin->operands[1].from == GEN_FROM_WORKSPACE && begin->operands[2].bits == 100);
    assert_string_equal(p->launches[cases[i].n].kernel, cases[i].next ? "while_next" : "more");
    assert_true(gen_plan_launches(p) == (double)p->n);
  }
}

TEST(bounds_of_loops) {
  const gen_plan *p;
  auto_street s = street_looped(LOOP(", graph = true", "'sums'"), "n=100 kind=safe");
  assert_ok(gen_plan_make(s.g, &s.c, &s.a, &p, &s.e), &s.e);
  assert_int_equal(p->launches[1].loop->times, 100); /* of the largest buffer */
  auto_street fast = street_looped(LOOP(", max = 'n - 200'", "'sums'"), "n=100 kind=fast");
  assert_ok(gen_plan_make(fast.g, &fast.c, &fast.a, &p, &fast.e), &fast.e);
  assert_int_equal(p->n, 1);
  auto_street less = street_looped(LOOP(", max = 'n - 200'", "'sums'"), "n=100 kind=safe");
  assert_fails(gen_plan_make(less.g, &less.c, &less.a, &p, &less.e), &less.e, ERR_TEMPLATE,
               "max is -100; it can be 0");
  auto_street small = street_looped(LOOP(", graph = true", "'sums'"), "n=32 kind=safe");
  assert_fails(gen_plan_make(small.g, &small.c, &small.a, &p, &small.e), &small.e, ERR_TEMPLATE,
               "the workspace sums of a loop's word has 4 bytes; it needs two u32");
}

TEST(hosts_loops_need_the_callers_leave) {
  static const char *const loops[] = {LOOP("", "'sums'"),
                                      LOOP(", ahead = true, batch = 'B // 4'", "'sums'")};
  for (int i = 0; i < 2; i++) {
    const gen_plan *p;
    auto_street none = street_looped(loops[i], "n=100 kind=safe");
    assert_fails(gen_plan_make(none.g, &none.c, &none.a, &p, &none.e), &none.e, ERR_TEMPLATE,
                 "callers must allow it: add the field { \"blocking\"");
  }
}

TEST(wrong_loops_are_refused) {
  static const char *const wrong[][2] = {
      {LOOP(", times = 3", "'x'"), "'times' means nothing here"},
      {LOOP(", swap = { { 'x', 'y' } }", "'x'"), "'swap' means nothing here"},
      {LOOP(", ahead = true", "'x'"), "'batch', how many these are, go together"},
      {LOOP("", "{ loop = 'x' }"), "'x' is no workspace; loop names the one"},
      {SET "{ loop = { while_word = 'y' }, stages = {} },",
       "while_word names a workspace of two or more u32"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gen_template *t = NULL;
    err e = {0};
    assert_fails(mini_open(NULL, SET, wrong[i][0], &t, &e), &e, ERR_TEMPLATE, wrong[i][1]);
  }
}

int main(void) {
  return tests_run_with(NULL, folder_make, folder_remove);
}
