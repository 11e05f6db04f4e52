/* serve_model.h -- how long a configuration takes at sizes where nobody has timed it.
 *
 * From the sizes where it was timed: a sum of non-negative costs, per launch, per block, per
 * operation and byte of all, and per round of blocks over the multiprocessors, in itself and for
 * the work of each of its blocks; and what the measured sizes nearby took more or less than that
 * sum. The rounds are what a smooth curve through the times would miss: a block more than fits into
 * a round can cost as much as a whole one. A portfolio carries the model of each of its
 * configurations, and a size gets the one that the model says is fastest; where little is known,
 * because nothing near was timed, or another form of the configuration, it is taken to be slower
 * than it looks. */
#ifndef SERVE_MODEL_H
#define SERVE_MODEL_H

#include "gen.h"

enum { SERVE_MODEL_COSTS = 24 };

typedef struct serve_work { /* what a configuration does at one size */
  double launches, blocks;  /* blocks 0: it does not fit this size */
  double flops, bytes;      /* of the whole problem */
  uint32_t variant;         /* equal for the same kernel: it is adapted to some sizes */
} serve_work;

/* serve_variant_of -- what a configuration's form goes by */
uint32_t serve_variant_of(const gen_template *t, const gen_config *c);
/* serve_work_of -- of a configuration as the problem has it */
void serve_work_of(gen_instance *g, const gen_template *t, const gen_config *c, serve_work *out);

typedef struct serve_costs { /* of one configuration */
  double sms, at_once;       /* multiprocessors, and blocks that each holds at a time */
  double cost[SERVE_MODEL_COSTS];
} serve_costs;

/* serve_costs_terms -- what the costs are multiplied with; values in field order */
void serve_costs_terms(const gen_template *t, const serve_costs *c, const int64_t *values,
                       const serve_work *w, double x[SERVE_MODEL_COSTS]);
double serve_costs_sum(const gen_template *t, const serve_costs *c, const int64_t *values,
                       const serve_work *w);

/* serve_model_octaves -- field values as distances are measured: logarithms, of base 2; names as
 * they are */
void serve_model_octaves(const gen_template *t, const int64_t *values, double *octaves);

typedef struct serve_near { /* what the measured sizes nearby add up to; all zero at the start */
  double off, weights;
} serve_near;

/* serve_near_weight -- how much a measured size counts for another one */
double serve_near_weight(const gen_template *t, const int64_t *values, const int64_t *other);
/* serve_near_add -- one measured size; off is log(measured / sum of costs) */
void serve_near_add(serve_near *n, double weight, bool same_variant, double off);
/* serve_near_factor -- to multiply the sum of costs with */
double serve_near_factor(const serve_near *n);
/* serve_near_doubt -- by how much it is to be taken for slower than that, for comparisons */
double serve_near_doubt(const serve_near *n);

typedef struct serve_measured { /* one entry of what follows */
  uint32_t size, variant;
  float off;
} serve_measured;

typedef struct serve_model { /* of a portfolio; n_sizes 0: it has none */
  size_t n_configs, n_sizes;
  const serve_costs *costs; /* per configuration */
  const int64_t *values;    /* [size * n_fields + field] */
  const double *octaves;    /* likewise, as serve_model_octaves has them; NULL: not computed */
  const float *off;         /* [size * n_configs + configuration]; not finite: not measured */
  const uint32_t *variant;  /* likewise */
  const serve_measured *const *measured; /* the same by configuration, for every new size; NULL: not
                                            computed */
  const uint32_t *n_measured;
} serve_model;

/* serve_model_weights -- of the measured sizes for this one: weight[n_sizes] */
void serve_model_weights(const gen_template *t, const serve_model *m, const int64_t *values,
                         double *weight);
/* serve_model_sec -- INFINITY where it does not fit, or was timed too rarely; weight as above
 *   out  *doubt  as above */
double serve_model_sec(const gen_template *t, const serve_model *m, size_t config,
                       const int64_t *values, const serve_work *w, const double *weight,
                       double *doubt);

#endif
