/* gp.h -- a Gaussian process over points of a space, small enough to be fitted often.
 *
 * Kernel: Matern 5/2 of the distance between coordinates, each scaled to [0, 1]. The length scale,
 * common to all parameters, and the noise maximise the likelihood over a short list; the targets
 * are standardised. Cost: n^3 / 6 for a fit, n^2 / 2 for a prediction with its deviation.
 * src: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1 and
 * chapter 4.
 */
#ifndef SEARCH_GP_H
#define SEARCH_GP_H

#include <stdbool.h>

#include "search_space.h"

enum { GP_MAX = 128 }; /* points that it can be fitted to */

typedef struct gp {
  const search_space *space;
  size_t n;
  double length, noise, mean, scale;
  const uint16_t *coordinates[GP_MAX];
  double target[GP_MAX], alpha[GP_MAX], chol[GP_MAX][GP_MAX];
} gp;

/* gp_fit -- to n <= GP_MAX points; false when the matrix is singular to working precision */
bool gp_fit(gp *g, const search_space *space, const uint16_t *const *coordinates,
            const double *target, size_t n);
void gp_predict(const gp *g, const uint16_t *coordinates, double *mean, double *deviation);

#endif
