/* test_greedy_select.c -- the lazy greedy selection selects what the plain one does: the item that
 * gains most is the next. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "greedy_select.h"

enum { THINGS = 60, PLACES = 200 };
static const float NOTHING = 1.5f;

static float lost[THINGS][PLACES];
static greedy_item items[THINGS];

/* Each item serves some of the places, some well and some badly. */
static void draw(unsigned seed) {
  srand(seed);
  for (size_t i = 0; i < THINGS; i++) {
    const size_t from = (size_t)rand() % PLACES, n = 1 + (size_t)rand() % (PLACES - from);
    items[i] = (greedy_item){.lost = lost[i], .from = from, .n = n};
    for (size_t j = 0; j < n; j++) {
      lost[i][j] = rand() % 3 ? (float)rand() / (float)RAND_MAX : NOTHING;
    }
  }
}

static double loss_with(const bool *kept) {
  double sum = 0;
  for (size_t j = 0; j < PLACES; j++) {
    float best = NOTHING;
    for (size_t i = 0; i < THINGS; i++) {
      if (kept[i] && j >= items[i].from && j < items[i].from + items[i].n) {
        best = fminf(best, lost[i][j - items[i].from]);
      }
    }
    sum += (double)best;
  }
  return sum / PLACES;
}

static void add_best(bool *kept) {
  double least = INFINITY;
  size_t best = 0;
  for (size_t i = 0; i < THINGS; i++) {
    if (!kept[i]) {
      kept[i] = true;
      const double loss = loss_with(kept);
      best = loss < least ? i : best;
      least = fmin(least, loss);
      kept[i] = false;
    }
  }
  kept[best] = true;
}

TEST(test_greedy) {
  for (unsigned seed = 1; seed <= 5; seed++) {
    bool kept[THINGS], expected[THINGS] = {false};
    double mean;
    draw(seed);
    for (size_t most = 1; most <= 12; most++) {
      add_best(expected);
      assert_int_equal(greedy_select(items, THINGS, PLACES, NOTHING, most, kept, &mean, NULL), 0);
      assert_float_equal(mean, loss_with(kept), 1e-5);
      assert_float_equal(mean, loss_with(expected), 1e-5);
    }
  }
}

/* An item that gains nothing is not selected, even where more are allowed. */
TEST(test_useless) {
  bool kept[3];
  double mean;
  const float none[] = {NOTHING, NOTHING}, some[] = {0.5f, 1};
  const greedy_item list[] = {{none, 0, 2}, {some, 0, 2}, {some, 1, 1}};
  assert_int_equal(greedy_select(list, 3, 3, NOTHING, 3, kept, &mean, NULL), 0);
  assert_true(!kept[0] && kept[1] && kept[2]);
  assert_float_equal(mean, (0.5 + 0.5 + 1.5) / 3, 1e-6);
  assert_int_equal(greedy_select(list, 0, 2, NOTHING, 3, kept, &mean, NULL), 0);
  assert_float_equal(mean, 1.5, 1e-6);
}

int main(void) {
  return tests_run();
}
