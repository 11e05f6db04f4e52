#include "within.h"

#include <stdlib.h>

typedef struct state {
  const tune_strategy *inner;
  void *self;        /* the inner one's */
  tune_space whole;  /* as the tuner numbers the points */
  tune_space inside; /* as the inner strategy sees them */
  size_t *points;    /* [inside.n], ascending: their numbers in the whole space */
} state;

static void at(const void *self, size_t point, uint16_t *places) {
  const state *s = self;
  s->whole.at(s->whole.self, s->points[point], places);
}

/* Where it stands among those inside; inside.n when it doesn't. */
static size_t number(const state *s, size_t point) {
  size_t low = 0, high = s->inside.n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->points[middle] < point) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < s->inside.n && s->points[low] == point ? low : s->inside.n;
}

static bool find(const void *self, const uint16_t *places, size_t *point) {
  const state *s = self;
  size_t whole;
  if (!s->whole.find(s->whole.self, places, &whole)) {
    return false;
  }
  *point = number(s, whole);
  return *point < s->inside.n;
}

static int collect(state *s, const tune_within *w, err *e) {
  s->points = malloc((s->whole.n + 1) * sizeof *s->points);
  if (!s->points) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < s->whole.n; i++) {
    uint16_t places[GEN_MAX_PARAMS];
    s->whole.at(s->whole.self, i, places);
    if (places[w->param] == w->place) {
      s->points[s->inside.n++] = i;
    }
  }
  return 0;
}

static void close_(void *self) {
  state *s = self;
  if (s->self) {
    s->inner->close(s->self);
  }
  free(s->points);
  free(s);
}

int tune_within_open(const tune_within *w, const tune_space *space, uint64_t seed, void **self,
                     err *e) {
  state *s = calloc(1, sizeof *s);
  if (!s) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  *self = s;
  s->inner = w->inner;
  s->whole = s->inside = *space;
  s->inside.n = s->inside.n_strata = 0;
  s->inside.self = s;
  s->inside.at = at;
  s->inside.find = find;
  TRY(collect(s, w, e));
  return s->inside.n ? s->inner->open(&s->inside, seed, &s->self, e) : 0;
}

static bool ask(void *self, size_t *point) {
  state *s = self;
  if (!s->self || !s->inner->ask(s->self, point)) {
    return false;
  }
  *point = s->points[*point];
  return true;
}

static void tell(void *self, size_t point, double sec) {
  state *s = self;
  size_t i = number(s, point);
  if (s->inner->tell && s->self && i < s->inside.n) {
    s->inner->tell(s->self, i, sec);
  }
}

const tune_strategy tune_within_strategy = {
    .name = "within", .brief = "a part of the space", .ask = ask, .tell = tell, .close = close_};
