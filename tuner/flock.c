#include "flock.h"

#include <math.h>

int flock_init(flock *f, const tune_space *space, uint64_t seed, err *e) {
  for (size_t i = 0; i < FLOCK; i++) {
    f->answer[i] = f->waiting[i] = SIZE_MAX;
  }
  f->turn = 0;
  return trail_init(&f->t, space, seed, e);
}

static double sec_of(const flock *f, size_t i) {
  return f->answer[i] == SIZE_MAX ? INFINITY : f->t.told[f->answer[i]].sec;
}

static size_t owner(const flock *f, size_t point) {
  size_t slowest = 0;
  for (size_t i = 0; i < FLOCK; i++) {
    if (f->waiting[i] == point) {
      return i;
    }
    slowest = sec_of(f, i) > sec_of(f, slowest) ? i : slowest;
  }
  return slowest;
}

size_t flock_tell(flock *f, size_t point, double sec) {
  size_t member = owner(f, point), new = trail_tell(&f->t, point, sec);
  if (f->waiting[member] == point) {
    f->waiting[member] = SIZE_MAX;
  }
  if (new == SIZE_MAX || !(f->t.told[new].sec < sec_of(f, member))) { /* 0 is no time either */
    return FLOCK;
  }
  f->answer[member] = new;
  return member;
}

bool flock_send(flock *f, const double *wanted, size_t *point) {
  uint16_t places[GEN_MAX_PARAMS] = {0};
  const tune_space *s = f->t.space;
  bool found;
  if (f->answer[f->turn] == SIZE_MAX) {
    found = trail_fresh(&f->t, point);
  } else {
    for (size_t i = 0; i < s->n_params; i++) {
      double v = fmin(fmax(round(wanted[i]), 0), s->n_values[i] - 1.0);
      places[i] = (uint16_t)v;
    }
    found = trail_near(&f->t, places, point);
  }
  f->waiting[f->turn] = found ? *point : SIZE_MAX;
  f->turn = (f->turn + 1) % FLOCK;
  return found;
}

const uint16_t *flock_places(const flock *f, size_t member) {
  return f->t.places[f->answer[member]];
}
