/* test_importance.c -- functional ANOVA against functions whose shares are known by calculation. */
#define _GNU_SOURCE
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "grid_space.h"
#include "importance.h"
#include "sampling.h"

enum { PARAMS = 5, VALUES = 8 };

static search_space grid(size_t n_params, uint16_t n_values) {
  search_space s = {.n = 1, .n_params = n_params, .at = grid_at, .find = grid_find};
  for (size_t i = 0; i < n_params; i++) {
    s.n_values[i] = n_values;
    s.n *= n_values;
  }
  return s;
}

typedef double log_time(const uint16_t *coordinates);

/* Records n random points in the history. */
static void measure(history *t, log_time *f, size_t n) {
  uint16_t coordinates[GEN_MAX_PARAMS];
  size_t point;
  for (size_t i = 0; i < n && sample_random(t, &point); i++) {
    grid_at(t->space, point, coordinates);
    history_tell(t, point, exp(f(coordinates)) * 1e-3);
  }
}

static void analyse(search_space *s, log_time *f, size_t n, importance *out) {
  history t;
  err e = {0};
  s->self = s;
  assert_ok(history_init(&t, s, 7, &e), &e);
  measure(&t, f, n);
  assert_ok(importance_find(&t, out, &e), &e);
  history_clear(&t);
}

static void assert_near(double got, double wanted, double off) {
  if (fabs(got - wanted) > off) {
    fail_msg("%.4f, wanted %.4f +- %.2f", got, wanted, off);
  }
}

static double share_of(const importance *m, size_t a, size_t b) {
  for (size_t i = 0; i < m->n_pairs; i++) {
    if (m->pairs[i].a == a && m->pairs[i].b == b) {
      return m->pairs[i].share;
    }
  }
  fail_msg("no pair %zu %zu", a, b);
  return 0;
}

/* Values 0..7 have the variance 63 / 12: the shares of 0.3 a + 0.2 b + 0.1 c are as 9 : 4 : 1. */
static double sum(const uint16_t *p) {
  return 0.3 * p[0] + 0.2 * p[1] + 0.1 * p[2];
}

TEST(a_sum_has_main_effects_only) {
  search_space s = grid(PARAMS, VALUES);
  importance *m = calloc(1, sizeof *m);
  analyse(&s, sum, 4000, m);
  assert_near(m->main[0], 9 / 14.0, 0.03);
  assert_near(m->main[1], 4 / 14.0, 0.03);
  assert_near(m->main[2], 1 / 14.0, 0.03);
  assert_near(m->main[3] + m->main[4], 0, 0.01);
  for (size_t i = 0; i < m->n_pairs; i++) {
    assert_near(m->pairs[i].share, 0, 0.02);
  }
  assert_int_equal(m->n_pairs, PARAMS * (PARAMS - 1) / 2);
  assert_int_equal(m->best[0], 0);
  assert_near(m->range[0], exp(0.3 * 7), 1.2);
  assert_near(m->fit, 1, 0.05);
  free(m);
}

/* With x = +-1 for the two halves of the list: x0 x1 + 0.5 x2 has no main effect of 0 or 1; their
 * pair has the share 0.8, and 2 has 0.2. */
static double half(uint16_t place) {
  return place < VALUES / 2 ? -1 : 1;
}
static double product(const uint16_t *p) {
  return half(p[0]) * half(p[1]) + 0.5 * half(p[2]);
}

TEST(a_product_is_a_pair) {
  search_space s = grid(PARAMS, VALUES);
  importance *m = calloc(1, sizeof *m);
  analyse(&s, product, 4000, m);
  assert_near(m->main[0] + m->main[1], 0, 0.03);
  assert_near(m->main[2], 0.2, 0.03);
  assert_near(share_of(m, 0, 1), 0.8, 0.05);
  assert_int_equal(m->pairs[0].a, 0);
  assert_int_equal(m->pairs[0].b, 1);
  assert_near(m->pairs[1].share, 0, 0.02);
  free(m);
}

/* A few hundred trials, as a search leaves them, suffice to rank the parameters. */
TEST(few_trials_give_the_order) {
  search_space s = grid(PARAMS, VALUES);
  importance *m = calloc(1, sizeof *m);
  analyse(&s, sum, 150, m);
  assert_true(m->main[0] > m->main[1] && m->main[1] > m->main[2]);
  assert_true(m->main[2] > m->main[3] && m->main[2] > m->main[4]);
  assert_near(m->main[0], 9 / 14.0, 0.15);
  free(m);
}

/* More values than bins, and too few trials to meet most of them. */
static double long_list(const uint16_t *p) {
  return p[0] < 1500 ? 1 : 2;
}

TEST(long_lists_are_taken_in_bins) {
  search_space s = grid(2, 3000);
  importance *m = calloc(1, sizeof *m);
  analyse(&s, long_list, 500, m);
  assert_near(m->main[0], 1, 0.03);
  assert_near(m->main[1], 0, 0.02);
  free(m);
}

static double noise(const uint16_t *p) {
  return (double)((p[0] * 7919u + p[1] * 104729u + p[2] * 1299709u + p[3] * 15485863u +
                   p[4] * 32452843u) %
                  1009u) /
         1009;
}

TEST(noise_is_told_by_the_fit) {
  search_space s = grid(PARAMS, VALUES);
  importance *m = calloc(1, sizeof *m);
  analyse(&s, noise, 500, m);
  assert_true(m->fit < 0.2);
  free(m);
}

static double constant(const uint16_t *p) {
  return 1 + 0 * p[0];
}

TEST(nothing_to_tell_is_said) {
  search_space s = grid(PARAMS, VALUES);
  importance *m = calloc(1, sizeof *m);
  history t;
  err e = {0};
  s.self = &s;
  assert_ok(history_init(&t, &s, 7, &e), &e);
  measure(&t, sum, IMPORTANCE_LEAST - 1);
  assert_fails(importance_find(&t, m, &e), &e, ERR_NOTFOUND, "too few");
  history_clear(&t);
  assert_ok(history_init(&t, &s, 7, &e), &e);
  measure(&t, constant, 100);
  assert_fails(importance_find(&t, m, &e), &e, ERR_NOTFOUND, "the same time");
  history_clear(&t);
  free(m);
}

int main(void) {
  return tests_run();
}
