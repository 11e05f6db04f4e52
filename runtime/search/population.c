#include "population.h"

#include <math.h>

#include "sampling.h"

void population_init(population *p) {
  for (size_t i = 0; i < POPULATION; i++) {
    p->best[i] = p->pending[i] = SIZE_MAX;
  }
}

static double sec_of(const population *p, size_t i) {
  return p->best[i] == SIZE_MAX ? INFINITY : p->h.evaluations[p->best[i]].sec;
}

static size_t member_of(const population *p, size_t point) {
  size_t slowest = 0;
  for (size_t i = 0; i < POPULATION; i++) {
    if (p->pending[i] == point) {
      return i;
    }
    slowest = sec_of(p, i) > sec_of(p, slowest) ? i : slowest;
  }
  return slowest;
}

void population_tell(population *p, size_t point, double sec) {
  size_t member = member_of(p, point), new = history_tell(&p->h, point, sec);
  if (p->pending[member] == point) {
    p->pending[member] = SIZE_MAX;
  }
  /* the history's time: a time of 0 counts as a failure there */
  if (new != SIZE_MAX && p->h.evaluations[new].sec < sec_of(p, member)) {
    p->best[member] = new;
  }
}

static bool ask_near(population *p, const double *wanted, size_t *point) {
  uint16_t coordinates[GEN_MAX_PARAMS] = {0};
  const search_space *s = p->h.space;
  for (size_t i = 0; i < s->n_params; i++) {
    double v = fmin(fmax(round(wanted[i]), 0), s->n_values[i] - 1.0);
    coordinates[i] = (uint16_t)v;
  }
  return sample_nearest(&p->h, coordinates, point);
}

bool population_ask(population *p, const double *wanted, size_t *point) {
  bool found =
      p->best[p->turn] == SIZE_MAX ? sample_random(&p->h, point) : ask_near(p, wanted, point);
  p->pending[p->turn] = found ? *point : SIZE_MAX;
  p->turn = (p->turn + 1) % POPULATION;
  return found;
}

const uint16_t *population_best(const population *p, size_t member) {
  return p->h.coordinates[p->best[member]];
}
