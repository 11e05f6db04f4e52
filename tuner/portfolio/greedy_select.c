#include "greedy_select.h"

#include <math.h>
#include <stdlib.h>

static const double LEAST_GAIN = 1e-6; /* of a place: less is rounding */

static double gain_of(const greedy_item *x, const float *now) {
  double sum = 0;
  for (size_t i = 0; i < x->n; i++) {
    sum += (double)fmaxf(0, now[x->from + i] - x->lost[i]);
  }
  return sum;
}

static size_t most_hopeful(const double *bound, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++) {
    best = bound[i] > bound[best] ? i : best;
  }
  return best;
}

static void take(const greedy_item *x, float *now) {
  for (size_t i = 0; i < x->n; i++) {
    now[x->from + i] = fminf(now[x->from + i], x->lost[i]);
  }
}

/* What an item gained before is a bound on what it gains now, since others have been selected
 * meanwhile: an item that gains as much as its bound is the next. src: Minoux, Accelerated greedy
 * algorithms for maximizing submodular set functions, 1978 */
static void take_few(const greedy_item *items, size_t n, size_t most, float *now, double *bound,
                     bool *kept) {
  while (most) {
    const size_t i = most_hopeful(bound, n);
    const double gain = kept[i] ? 0 : gain_of(&items[i], now);
    if (bound[i] <= LEAST_GAIN) {
      return;
    }
    if (gain >= bound[i]) {
      take(&items[i], now);
      kept[i] = true;
      most--;
    }
    bound[i] = kept[i] ? 0 : gain;
  }
}

int greedy_select(const greedy_item *items, size_t n, size_t n_places, float nothing, size_t most,
                  bool *kept, double *mean, err *e) {
  float *now = calloc(n_places + 1, sizeof *now);
  double *bound = calloc(n + 1, sizeof *bound), sum = 0;
  if (now && bound) {
    for (size_t i = 0; i < n_places; i++) {
      now[i] = nothing;
    }
    for (size_t i = 0; i < n; i++) {
      kept[i] = false;
      bound[i] = gain_of(&items[i], now);
    }
    take_few(items, n, n ? most : 0, now, bound, kept);
    for (size_t i = 0; i < n_places; i++) {
      sum += (double)now[i];
    }
    *mean = n_places ? sum / (double)n_places : 0;
  }
  const bool failed = !now || !bound;
  free(now);
  free(bound);
  return failed ? err_nomem(e) : 0;
}
