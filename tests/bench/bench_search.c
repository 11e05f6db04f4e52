/* bench_search.c -- the cost of searching: enumerating a space, and each strategy's time for a
 * trial, in a space of a million listed points and in one of 10^11.
 *
 *   make build/tests/bench/bench_search && build/tests/bench/bench_search
 *
 * Exit status 1 when fewer than a million candidates are enumerated in a second, or a trial takes 5
 * ms or more. */
#define _GNU_SOURCE
#include "gen_fixture.h"
#include "search.h"
#include "search_fixture.h"

static bool slow;

/* Every requirement reads the last parameter, so nothing is pruned and each candidate costs a full
 * evaluation: the worst case. */
static void enumerate(void) {
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
  const char *from = strstr(mini_text, "  space = {"), *to = strstr(mini_text, "  workspace");
  char *old = strndup(from, (size_t)(to - from));
  gen_space *space;
  void *unused = NULL;
  folder_make(&unused);
  street s = street_mini(old, text, "n=100000");
  double start = now_sec();
  assert_ok(gen_space_new(s.g, &space, &s.e), &s.e);
  const double rate = gen_space_tally(space)->candidates / (now_sec() - start);
  printf("nothing pruned: %.0f candidates, %zu valid, %.2f million a second\n",
         gen_space_tally(space)->candidates, gen_space_count(space), 1e-6 * rate);
  slow = slow || rate < 1e6;
  gen_space_free(space);
  street_close(&s);
  folder_remove(&unused);
  free(old);
}

static double grid_time(const search_space *s, const uint16_t *coordinates) {
  size_t point;
  grid_find(s, coordinates, &point);
  return grid_sec(s, point);
}

static double huge_time(const search_space *s, const uint16_t *coordinates) {
  (void)s;
  return huge_sec(coordinates);
}

static void run(const search_space *space, const search_strategy *s,
                double (*sec)(const search_space *, const uint16_t *)) {
  enum { TRIALS = 200 };
  size_t point;
  void *self = NULL;
  err e = {0};
  const double start = now_sec();
  assert_ok(search_strategy_open(s, space, 1, &self, &e), &e);
  for (size_t i = 0; i < TRIALS && s->ask(self, &point); i++) {
    uint16_t coordinates[GEN_MAX_PARAMS];
    space->at(space->self, point, coordinates);
    if (s->tell) {
      s->tell(self, point, sec(space, coordinates));
    }
  }
  search_strategy_close(s, self);
  const double ms = 1e3 * (now_sec() - start) / TRIALS;
  printf("%-12s %8.3f ms a trial among %zu\n", s->name, ms, space->n);
  slow = slow || ms >= 5;
}

int main(void) {
  search_space grid = {.n = 1, .n_params = 10, .at = grid_at, .find = grid_find};
  bed b;
  grid.self = &grid;
  for (size_t i = 0; i < grid.n_params; i++) {
    grid.n_values[i] = i < 7 ? 4 : 5;
    grid.n *= grid.n_values[i];
  }
  enumerate();
  bed_open_huge(&b);
  for (const search_strategy *const *s = search_strategies(); *s; s++) {
    run(&grid, *s, grid_time);
    run(&b.view, *s, huge_time);
  }
  bed_close(&b);
  return slow;
}
