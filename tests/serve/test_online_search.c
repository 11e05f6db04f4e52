/* test_online_search.c -- which variants are tried while a program runs: valid ones, each once and
 * finally all, and first those that the known times favour. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "open_device.h"
#include "random.h"
#include "run.h"
#include "online_search.h"
#include "gen.h"

typedef struct bench {
  gen_template *t;
  gen_instance *g;
  online_search s;
} bench;

static void bench_new(bench *b, const char *family, const char *problem) {
  err e = {0};
  rt_device *d;
  gen_problem p;
  gen_number limits[RT_NUMBERS];
  assert_ok(rt_device_open("emu:h200", &d, &e), &e);
  rt_numbers(&d->info, limits);
  assert_ok(gen_open(NULL, family, &b->t, &e), &e);
  assert_ok(gen_problem_parse(b->t, problem, &p, &e), &e);
  assert_ok(gen_instance_new(b->t, &p, limits, RT_NUMBERS, &b->g, &e), &e);
  online_search_init(&b->s, b->t, b->g);
  d->ops->close(d);
}

static void bench_free(bench *b) {
  online_search_clear(&b->s);
  gen_instance_free(b->g);
  gen_close(b->t);
}

static size_t n_valid(bench *b) {
  auto_space *s = NULL;
  err e = {0};
  assert_ok(gen_space_new(b->g, &s, &e), &e);
  const size_t n = gen_space_count(s);
  return n;
}

TEST(test_each_valid_one_comes_once) {
  static bench b;
  gen_config c;
  size_t place, n = 0;
  err e = {0};
  bench_new(&b, "saxpy", "saxpy n=100001");
  gen_config_default(b.t, &c);
  assert_true(online_search_add(&b.s, &c, &place));
  assert_false(online_search_add(&b.s, &c, &place));
  online_search_tell(&b.s, 0, 1);
  for (n = 1; online_search_next(&b.s, &c, &place); n++) {
    assert_int_equal(place, n);
    assert_ok(gen_config_check(b.g, &c, &e), &e);
    assert_false(online_search_add(&b.s, &c, &place));
    online_search_tell(&b.s, n, n % 7 ? 1 + (double)(n % 5) : INFINITY);
  }
  const size_t all = n_valid(&b);
  printf("%zu of %zu\n", n, all);
  assert_true(n <= all && n * 10 >= (all < ONLINE_SEARCH_MOST ? all : ONLINE_SEARCH_MOST) * 9);
  bench_free(&b);
}

/* A time on which every parameter has an effect, and two of them together. */
static double time_of(const bench *b, const gen_config *c, uint64_t seed) {
  double sum = 0;
  for (size_t i = 0; i < b->t->n_params; i++) {
    for (size_t j = i; j < i + 2; j++) {
      const uint64_t other = j == i ? 99 : c->index[j % b->t->n_params];
      uint64_t x = (seed * 1000003 + i * 101 + c->index[i] * 7 + other * 13 + 1);
      x *= UINT64_C(0x9e3779b97f4a7c15);
      x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
      sum += (j == i ? 0.6 : 0.2) * (double)(x >> 40) * 0x1p-24;
    }
  }
  return 1e-5 * exp(sum);
}

static double best_found(bench *b, size_t n, uint64_t seed) {
  gen_config c;
  size_t place;
  double best = INFINITY;
  online_search_init(&b->s, b->t, b->g);
  while (b->s.n < n && online_search_next(&b->s, &c, &place)) {
    const double sec = time_of(b, &c, seed);
    online_search_tell(&b->s, place, sec);
    best = fmin(best, sec);
  }
  online_search_clear(&b->s);
  return best;
}

static double best_of_random(bench *b, gen_space *s, size_t n, uint64_t seed) {
  gen_config c;
  double best = INFINITY;
  uint64_t x = seed;
  for (size_t i = 0; i < n; i++) {
    gen_space_at(s, random_below(&x, gen_space_count(s)), &c);
    best = fmin(best, time_of(b, &c, seed));
  }
  return best;
}

TEST(test_times_are_learnt_from) {
  enum { OBJECTIVES = 6, TRIED = 80 };
  static bench b;
  auto_space *s = NULL;
  err e = {0};
  double sum = 0;
  bench_new(&b, "gemv", "gemv m=1000 n=1000");
  assert_ok(gen_space_new(b.g, &s, &e), &e);
  for (uint64_t seed = 1; seed <= OBJECTIVES; seed++) {
    const double found = best_found(&b, TRIED, seed);
    sum += log(found / best_of_random(&b, s, 10 * TRIED, seed)) / OBJECTIVES;
  }
  printf("the best of %d found takes %.3f times that of %d at random\n", TRIED, exp(sum),
         10 * TRIED);
  assert_true(sum < 0.02);
  bench_free(&b);
}

int main(void) {
  return tests_run();
}
