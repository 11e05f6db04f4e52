/* chooser_model.h -- how long a configuration takes at sizes where it has not been timed.
 *
 * The model of a configuration comes from the sizes where it was timed. It has two parts. The first
 * is a sum of non-negative costs: per launch, per block, per operation and byte of the whole
 * problem, and per round of blocks over the multiprocessors, both constant and in proportion to the
 * work of a block: operations, and whatever else the template says that a block does (`work` of its
 * launches). Rounds are what a smooth curve through the times would miss: one block more than fits
 * into a round can cost as much as a whole round. The second part is a Gaussian process over the
 * logarithm of what the measured sizes took more or less than that sum. A measured size has a
 * weight, and counts the more the nearer it is: by the fields, by the work of a block, by how full
 * the last round is, and by the parameters, since a configuration is adapted to some sizes. src:
 * Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equations 2.25, 4.19
 *
 * Part of exported C, see chooser.h. */
#ifndef CHOOSER_MODEL_H
#define CHOOSER_MODEL_H

#include "chooser.h"

enum {
  CHOOSER_FIELDS = 32,    /* of a problem, at most */
  CHOOSER_SIZES = 4096,   /* measured sizes, at most */
  CHOOSER_WORK = 4,       /* kinds of work that a template may count */
  CHOOSER_PLAIN = 24,     /* costs of what is known of every template */
  CHOOSER_COSTS = 36,     /* and of its kinds of work, three each */
  CHOOSER_NEXT = 1 << 15, /* added to a row's size where the next variant begins */
  /* Two sizes that differ in one property by this much, in octaves, are at distance 1: a field, a
   * name, the work of a block, its threads, the tail of the last round, a parameter. Rounded from
   * the maximum of the likelihood over 15 configurations of sgemm at 589 sizes on an H200; half or
   * twice of any changes little there. */
  CHOOSER_FIELD_SCALE = 8,
  CHOOSER_NAME_SCALE = 4,
  CHOOSER_LENGTH_SCALE = 4,
  CHOOSER_THREADS_SCALE = 3,
  CHOOSER_TAIL_SCALE = 6,
  CHOOSER_PARAMETER_SCALE = 3
};

/* Seconds that each of several launches takes at least, since a host that is busy otherwise needs
 * them. Two that take 4.3 us in a graph took 5.5 or 7.6 us in a stream on an H200, and 9.5 for 7.2
 * beside compilers: one launch of 6 us is the better choice. At 3,520 sizes that no model had seen
 * 4 us lost the least of 3.5, 4 and 4.5: 1.40 % in the mean. */
#define CHOOSER_LAUNCH 4e-6

typedef struct chooser_fields { /* of the problem */
  size_t n;
  uint64_t names; /* bits: those that are names */
} chooser_fields;

typedef struct chooser_work { /* what a configuration does at one size */
  double launches;
  double blocks, threads, smem; /* of the launch that does most, threads and shared memory of a
                                   block; blocks 0: it does not fit this size */
  double each[CHOOSER_WORK];    /* of one of its blocks, as the template counts it */
  double flops, bytes;          /* of the whole problem */
} chooser_work;

typedef struct chooser_costs { /* of one configuration */
  double sms, at_once;         /* multiprocessors, and blocks that each holds at a time */
  double cost[CHOOSER_COSTS];
} chooser_costs;

/* Numbers in 16 bits each: from + step * level. As against single precision the times of sgemm's 24
 * models move by 5e-5 (root of the mean square over 600 sizes), at most by 2e-4. */
typedef struct chooser_levels {
  float from, step;
  const uint16_t *level;
} chooser_levels;

/* The measured sizes of a configuration, grouped by the adapted variant that it had there: an array
 * of each number, so that compilers vectorise the loops over them. 10 bytes a row. */
typedef struct chooser_rows {
  size_t n, n_variants;
  const uint16_t *size;        /* per row; + CHOOSER_NEXT: the first of its variant */
  const float *weight;         /* per row */
  chooser_levels length, tail; /* per row: chooser_load */
  const float *threads;        /* per variant: of a block, a logarithm as distances are measured */
} chooser_rows;

typedef struct chooser_fit { /* the model of one configuration */
  chooser_costs costs;
  chooser_rows rows;
} chooser_fit;

typedef struct chooser_sizes { /* all measured sizes */
  size_t n;
  chooser_fields fields;
  const double *first;           /* octaves of a size: what is equal in all sizes has these */
  size_t n_varying;              /* fields that are not the same at all sizes */
  const uint16_t *field;         /* [n_varying] */
  const chooser_levels *octaves; /* [n_varying], per size */
} chooser_sizes;

typedef struct chooser_load { /* as distances are measured */
  double length;              /* of the work of one block */
  double tail;                /* of the multiprocessors' time over what the blocks fill of it */
} chooser_load;

/* chooser_add_launch -- count a launch; the one that does most gives blocks, threads and so on.
 *   in  each  [CHOOSER_WORK] */
CHOOSER_FN void chooser_add_launch(chooser_work *w, double blocks, double threads, double smem,
                                   const double *each);
/* chooser_cost_terms -- what the costs are multiplied with: x[CHOOSER_COSTS] */
CHOOSER_FN void chooser_cost_terms(const chooser_fields *fields, const chooser_costs *c,
                                   const int64_t *values, const chooser_work *w, double *x);
CHOOSER_FN double chooser_cost_sum(const chooser_fields *fields, const chooser_costs *c,
                                   const int64_t *values, const chooser_work *w);

/* Distances are squared, so that those of the fields, of the variants and of the loads add up. */

/* chooser_octaves -- field values as distances are measured: logarithms of base 2; names as they
 * are */
CHOOSER_FN void chooser_octaves(const chooser_fields *fields, const int64_t *values,
                                double *octaves);
CHOOSER_FN double chooser_field_distance(const chooser_fields *fields, const double *octaves,
                                         const double *other);
/* chooser_size_distances -- of the measured sizes from this one, by the fields: out[s->n] */
CHOOSER_FN void chooser_size_distances(const chooser_sizes *s, const int64_t *values, float *out);
CHOOSER_FN double chooser_thread_length(double threads);
CHOOSER_FN chooser_load chooser_load_of(const chooser_costs *c, double flops, double blocks);
CHOOSER_FN double chooser_load_distance(const chooser_load *a, const chooser_load *b);
/* chooser_covariance -- of the logarithms of times at this distance */
CHOOSER_FN double chooser_covariance(double distance);

/* chooser_seconds -- INFINITY where the configuration does not fit, or was timed too rarely.
 *   in    differ     [rows.n_variants]: in how many parameters each differs from the one asked
 *         about
 *         distances  chooser_size_distances
 *   cost  a nanosecond a measured size, half a microsecond in any case */
CHOOSER_FN double chooser_seconds(const chooser_fields *fields, const chooser_fit *fit,
                                  const int64_t *values, const chooser_work *w,
                                  const uint16_t *differ, const float *distances);
/* chooser_cautious_seconds -- longer the farther the nearest measured size is, for variants that
 * were timed nowhere near. At 200 sizes on an H200, of which 132 got such a variant, it took 1.04
 * times what chooser_seconds says at distances of 0.1 to 0.4, 1.17 to 0.8, 1.9 beyond. */
CHOOSER_FN double chooser_cautious_seconds(const chooser_fields *fields, const chooser_fit *fit,
                                           const int64_t *values, const chooser_work *w,
                                           const uint16_t *differ, const float *distances);

#endif
