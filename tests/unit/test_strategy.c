/* test_strategy.c -- every strategy proposes each valid point exactly once and repeats itself for
 * the same seed; strategies that learn beat random sampling. */
#define _GNU_SOURCE
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "sampling.h"
#include "search.h"
#include "search_fixture.h"

/* A smooth landscape with one best point and a wall of failures beside it. */
static double landscape(const bed *b, size_t point) {
  gen_config c;
  gen_space_at(b->space, point, &c);
  double a = c.index[0] - 3.0, bb = c.index[1] - 5.0, d = c.index[3] - 7.0, e = c.index[4];
  if (c.index[2] == 2 && c.index[3] > 7) {
    return INFINITY;
  }
  return 1 + 0.3 * a * a + 0.1 * bb * bb + 0.2 * d * d + 0.5 * fabs(e - 1) + (c.index[2] != 2);
}

/* The first n points proposed, each answered at once; returns their number. */
static size_t walk(const bed *b, const search_strategy *s, uint64_t seed, size_t *points,
                   size_t n) {
  void *self = NULL;
  err e = {0};
  size_t i = 0;
  assert_ok(search_strategy_open(s, &b->view, seed, &self, &e), &e);
  while (i < n && s->ask(self, &points[i])) {
    if (s->tell) {
      s->tell(self, points[i], landscape(b, points[i]));
    }
    i++;
  }
  search_strategy_close(s, self);
  return i;
}

FEW_POINTS_TEST(each_point_is_asked_exactly_once) {
  size_t n = gen_space_count(b->space);
  size_t *points = calloc(n + 1, sizeof *points);
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    uint8_t *seen = calloc(n, 1);
    assert_int_equal(walk(b, *s, 7, points, n + 1), n);
    for (size_t i = 0; i < n; i++) {
      assert_true(points[i] < n);
      assert_int_equal(seen[points[i]]++, 0);
    }
    free(seen);
  }
  free(points);
}

SPACE_TEST(the_same_seed_asks_the_same) {
  size_t one[200], two[200], other[200];
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    assert_int_equal(walk(b, *s, 3, one, 200), 200);
    walk(b, *s, 3, two, 200);
    walk(b, *s, 4, other, 200);
    assert_memory_equal(one, two, sizeof one);
    if (*s != &search_exhaustive) {
      assert_memory_not_equal(one, other, sizeof one);
    }
  }
}

SPACE_TEST(the_view_shows_the_space) {
  assert_int_equal(b->view.n, gen_space_count(b->space));
  assert_int_equal(b->view.n_params, 5);
  assert_int_equal(b->view.n_values[3], 10);
  for (size_t i = 0; i < b->view.n; i += 7) {
    uint16_t coordinates[GEN_MAX_PARAMS];
    gen_config c;
    size_t back;
    b->view.at(b->view.self, i, coordinates);
    gen_space_at(b->space, i, &c);
    assert_memory_equal(coordinates, c.index, sizeof c.index);
    assert_true(b->view.find(b->view.self, coordinates, &back) && back == i);
  }
  assert_false(
      b->view.find(b->view.self, (uint16_t[GEN_MAX_PARAMS]){5, 7}, &(size_t){0})); /* 32 * 8 */
}

/* Answers come late, out of order, or never; the space ends all the same. */
FEW_POINTS_TEST(many_questions_may_be_open) {
  enum { OPEN = 33 };
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    uint8_t *seen = calloc(b->view.n, 1);
    size_t waiting[OPEN], n = 0, n_asked = 0, point;
    void *self = NULL;
    err e = {0};
    assert_ok(search_strategy_open(*s, &b->view, 11, &self, &e), &e);
    while ((*s)->ask(self, &point)) {
      assert_int_equal(seen[point]++, 0);
      waiting[n++] = point;
      if (n == OPEN && (*s)->tell) {
        size_t late = waiting[n_asked % OPEN];
        waiting[n_asked % OPEN] = waiting[--n];
        if (n_asked % 5) { /* one in five is never answered */
          (*s)->tell(self, late, landscape(b, late));
        }
      }
      n -= n == OPEN;
      n_asked++;
    }
    assert_int_equal(n_asked, b->view.n);
    search_strategy_close(*s, self);
    free(seen);
  }
}

/* Results of an earlier run are reported before the first proposal: they are not proposed again,
 * and they help. */
SPACE_TEST(known_points_are_a_head_start) {
  enum { KNOWN = 60 };
  size_t known[KNOWN], points[KNOWN];
  walk(b, &search_random, 99, known, KNOWN);
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    void *self = NULL;
    err e = {0};
    if (!(*s)->tell) {
      continue;
    }
    assert_ok(search_strategy_open(*s, &b->view, 5, &self, &e), &e);
    for (size_t i = 0; i < KNOWN; i++) {
      (*s)->tell(self, known[i], landscape(b, known[i]));
    }
    (*s)->tell(self, known[0], landscape(b, known[0])); /* twice is once */
    for (size_t i = 0; i < KNOWN; i++) {
      assert_true((*s)->ask(self, &points[i]));
      (*s)->tell(self, points[i], landscape(b, points[i]));
      for (size_t k = 0; k < KNOWN; k++) {
        assert_int_not_equal(points[i], known[k]);
      }
    }
    search_strategy_close(*s, self);
  }
}

/* Nothing works: every point is still tried once. */
FEW_POINTS_TEST(a_space_of_failures_comes_to_its_end) {
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    size_t n = 0, point;
    void *self = NULL;
    err e = {0};
    assert_ok(search_strategy_open(*s, &b->view, 3, &self, &e), &e);
    for (; (*s)->ask(self, &point); n++) {
      if ((*s)->tell) {
        (*s)->tell(self, point, n % 2 ? INFINITY : n % 4 ? NAN : 0);
      }
    }
    assert_int_equal(n, b->view.n);
    search_strategy_close(*s, self);
  }
}

/* ---- a space with one point, and one with more than a million -------------------------------- */

/* One algorithm has ten points, the other a million: both are drawn equally often, and every point
 * of the small one is drawn once. */
TEST(algorithms_are_drawn_alike) {
  enum { FEW = 10, MANY = 1000000, DRAWN = 40 };
  search_space s = {.n = FEW + MANY,
                    .n_params = 1,
                    .n_values = {1},
                    .n_strata = 2,
                    .stratum = {0, FEW, FEW + MANY},
                    .at = grid_at,
                    .find = grid_find};
  s.self = &s;
  for (uint64_t seed = 0; seed < 20; seed++) {
    history t;
    err e = {0};
    size_t few = 0, point;
    bool met[FEW] = {false};
    assert_ok(history_init(&t, &s, seed, &e), &e);
    for (size_t i = 0; i < DRAWN; i++) {
      assert_true(sample_random(&t, &point));
      if (point < FEW) {
        assert_false(met[point]);
        met[point] = true;
        few++;
      }
    }
    assert_in_range(few, 5, FEW); /* 0 without strata */
    history_clear(&t);
  }
}

TEST(one_point_is_asked_once) {
  search_space one = {.n = 1, .n_params = 2, .n_values = {1, 1}, .at = grid_at, .find = grid_find};
  one.self = &one;
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    size_t point = 7;
    void *self = NULL;
    err e = {0};
    assert_ok(search_strategy_open(*s, &one, 1, &self, &e), &e);
    assert_true((*s)->ask(self, &point));
    assert_int_equal(point, 0);
    assert_false((*s)->ask(self, &point));
    search_strategy_close(*s, self);
  }
}

static double best_of_huge(const bed *b, const search_strategy *s, uint64_t seed) {
  enum { TRIALS = 200 };
  size_t points[TRIALS], n = 0, found;
  double best = INFINITY;
  void *self = NULL;
  err e = {0};
  assert_ok(search_strategy_open(s, &b->view, seed, &self, &e), &e);
  while (n < TRIALS && s->ask(self, &points[n])) {
    uint16_t coordinates[GEN_MAX_PARAMS];
    gen_config c;
    b->view.at(b->view.self, points[n], coordinates);
    memcpy(c.index, coordinates, sizeof c.index);
    assert_true(b->view.find(b->view.self, coordinates, &found) && found == points[n]);
    assert_ok(gen_config_check(b->g, &c, &e), &e);
    for (size_t i = 0; i < n; i++) {
      assert_int_not_equal(points[i], points[n]);
    }
    double sec = huge_sec(coordinates);
    if (s->tell) {
      s->tell(self, points[n], sec);
    }
    best = fmin(best, sec);
    n++;
  }
  search_strategy_close(s, self);
  assert_int_equal(n, TRIALS);
  return best;
}

static bool learns(const search_strategy *s) {
  return s != &search_exhaustive && s != &search_random && s != &search_lhs;
}

/* Every strategy searches a space too large to be listed. */
TEST(spaces_that_cannot_be_listed_are_searched) {
  bed b;
  double random = 0;
  bed_open_huge(&b);
  assert_true(b.view.n > 100000000000 && gen_space_tally(b.space)->n_nodes > 0);
  for (uint64_t seed = 1; seed <= 4; seed++) {
    random += best_of_huge(&b, &search_random, seed) / 4;
  }
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    double best = best_of_huge(&b, *s, 1);
    printf("%-12s best %.3f (random %.3f) among %zu\n", (*s)->name, best, random, b.view.n);
    assert_true(!learns(*s) || best < random);
  }
  bed_close(&b);
}

/* ---- learning -------------------------------------------------------------------------------- */

static double mean_best(const bed *b, const search_strategy *s, size_t budget) {
  enum { SEEDS = 8 };
  size_t *points = calloc(budget, sizeof *points);
  double sum = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    double best = INFINITY;
    size_t n = walk(b, s, seed, points, budget);
    for (size_t i = 0; i < n; i++) {
      best = fmin(best, landscape(b, points[i]));
    }
    sum += best;
  }
  free(points);
  return sum / SEEDS;
}

SPACE_TEST(learning_pays) {
  double random = mean_best(b, &search_random, 160);
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    double best = learns(*s) ? mean_best(b, *s, 160) : random;
    printf("mean best of 160 trials among %zu: %-10s %.3f, random %.3f (optimum 1)\n", b->view.n,
           (*s)->name, best, random);
    assert_true(!learns(*s) || best < 0.95 * random);
  }
}

TEST(an_unknown_name_lists_the_known_ones) {
  const search_strategy *s;
  err e = {0};
  assert_fails(search_strategy_find("randon", &s, &e), &e, ERR_USAGE, "did you mean 'random'");
  assert_fails(search_strategy_find("gradient", &s, &e), &e, ERR_USAGE, "exhaustive");
  assert_int_equal(search_strategy_find("random", &s, NULL), 0);
  assert_ptr_equal(s, &search_random);
}

/* ---- through search.h, in a part of the space ------------------------------------------------ */

static size_t count_inside(const bed *b, const search_subspace *w, size_t step) {
  size_t n = 0;
  for (size_t i = 0; i < b->view.n; i += step) {
    uint16_t coordinates[GEN_MAX_PARAMS];
    b->view.at(b->view.self, i, coordinates);
    n += coordinates[w->param] == w->value;
  }
  return n;
}

/* Every seventh point is known before; results outside the subspace do no harm. */
SPACE_TEST(a_narrowed_search_stays_inside) {
  const search_subspace w = {.param = 1, .value = 2};
  const size_t inside = count_inside(b, &w, 1);
  size_t asked = 0, point;
  searcher *s;
  err e = {0};
  assert_true(inside > 0 && inside < b->view.n);
  assert_ok(search_open(&b->view, &(search_options){.within = &w, .seed = 1}, &s, &e), &e);
  for (size_t i = 0; i < b->view.n; i += 7) {
    search_tell(s, i, landscape(b, i));
  }
  for (; search_ask(s, &point); asked++) {
    uint16_t coordinates[GEN_MAX_PARAMS];
    b->view.at(b->view.self, point, coordinates);
    assert_int_equal(coordinates[w.param], w.value);
    assert_true(point % 7 != 0);
    search_tell(s, point, landscape(b, point));
  }
  assert_int_equal(asked, inside - count_inside(b, &w, 7));
  search_close(s);
}

SPACE_TEST(an_empty_subspace_ends_at_once) {
  const search_subspace none = {.param = 1, .value = 99};
  size_t point;
  searcher *s;
  err e = {0};
  assert_ok(search_open(&b->view, &(search_options){.within = &none}, &s, &e), &e);
  search_tell(s, 0, 1);
  assert_false(search_ask(s, &point));
  search_close(s);
}

int main(void) {
  return tests_run();
}
