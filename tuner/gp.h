/* gp.h -- a Gaussian process over points of a space, small enough to be fitted anew for every
 * question.
 *
 * Kernel: Matern 5/2 in each parameter's place, scaled to [0, 1], multiplied with a common length
 * scale that is chosen by the likelihood from a short list, as is the noise; mean and scale of the
 * targets are taken out. Cost: n^3 / 6 for the fit, n^2 / 2 for one prediction with its deviation.
 * src: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1 and
 * chapter 4.
 */
#ifndef TUNE_GP_H
#define TUNE_GP_H

#include "trail.h"

enum { GP_MAX = 128 }; /* points it is fitted to */

typedef struct gp {
  const tune_space *space;
  size_t n;
  double length, noise, mean, scale;
  const uint16_t *places[GP_MAX];
  double target[GP_MAX], alpha[GP_MAX], chol[GP_MAX][GP_MAX];
} gp;

/* gp_fit -- to n <= GP_MAX points; false when the matrix is singular to working precision */
bool gp_fit(gp *g, const tune_space *space, const uint16_t *const *places, const double *target,
            size_t n);
void gp_predict(const gp *g, const uint16_t *places, double *mean, double *deviation);

#endif
