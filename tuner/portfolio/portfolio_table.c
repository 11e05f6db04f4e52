#include "portfolio_table.h"

#include <math.h>

double portfolio_least(const portfolio_table *t, size_t size) {
  double least = INFINITY;
  for (size_t i = 0; i < t->n_configs; i++) {
    least = fmin(least, portfolio_sec(t, i, size));
  }
  return least;
}

double portfolio_loss(const portfolio_table *t, const size_t *chosen, size_t n, size_t size) {
  double best = INFINITY;
  for (size_t i = 0; i < n; i++) {
    best = fmin(best, portfolio_sec(t, chosen[i], size));
  }
  return isfinite(best) ? log(best / portfolio_least(t, size)) : INFINITY;
}
