/* portfolio_model.h -- how long a configuration takes at sizes where nobody has timed it.
 *
 * From the sizes where it was timed. First a sum of non-negative costs, per launch, per block, per
 * operation and byte of all, and per round of blocks over the multiprocessors, in itself and for
 * the work of each of its blocks: operations, and whatever else the template says that a block does
 * (`work` of its launches), such as the steps of a tile that hangs over an edge. The rounds are
 * what a smooth curve through the times would miss: a block more than fits into a round can cost as
 * much as a whole one. Then what the measured sizes took more or less than that sum, a Gaussian
 * process: every one of them has a weight, and tells the more the closer it lies, by the fields, by
 * what a block does, by how full the last round is, and by the form that the configuration has
 * there, for it is adapted to some sizes. A portfolio carries the model of each of its
 * configurations, and a size gets the one that the model says is fastest. src: Rasmussen and
 * Williams, Gaussian Processes for Machine Learning, 2006, equations 2.25, 4.19 */
#ifndef PORTFOLIO_MODEL_H
#define PORTFOLIO_MODEL_H

#include "gen.h"

/* Costs of what is known of every template, then of the work that its launches tell. */
enum { MODEL_PLAIN = 24, MODEL_COSTS = MODEL_PLAIN + 3 * GEN_MAX_WORK };
enum { MODEL_SIZES = 4096, MODEL_ROWS_NEXT = 1 << 15 };

/* What two sizes must differ in, in octaves, for this to make them as strange to each other as
 * anything else set to one does: a field, a choice, the length of a block's work and its threads,
 * the last round's tail, a parameter of the form. Rounded from the maximum of the likelihood over
 * 15 configurations of sgemm at 589 sizes on an H200; half or twice of any changes little there.
 * Exported models (export_models.c) have them, too. */
enum {
  MODEL_FIELD = 8,
  MODEL_CHOICE = 4,
  MODEL_LENGTH = 4,
  MODEL_THREADS = 3,
  MODEL_TAIL = 6,
  MODEL_PARAMETER = 3
};
/* How far the sum of costs is off, a logarithm: as a rule, and at most. */
#define MODEL_OFF 0.3
#define MODEL_OFF_MOST 3.0
/* Seconds that each of several launches takes at least: a host that does other things besides needs
 * them. Two that a graph holds to 4.3 us took 5.5 us in a stream, or 7.6, by the moment, on an
 * H200, and 9.5 for 7.2 beside compilers: one launch of 6 us is the better choice. At 3,520 sizes
 * that no model had seen 4 us lost the least of 3.5, 4 and 4.5: 1.40 % in the mean. */
#define MODEL_LAUNCH 4e-6

typedef struct model_work { /* what a configuration does at one size */
  double launches;
  double blocks, threads;    /* of the launch that does most, threads of each; blocks 0: it does not
                                fit this size */
  double work[GEN_MAX_WORK]; /* of one of its blocks, as the template tells it */
  double flops, bytes;       /* of the whole problem */
  gen_config form;           /* as it is adapted to this size */
} model_work;

/* model_work_of -- of a configuration as the problem has it */
void model_work_of(gen_instance *g, const gen_template *t, const gen_config *c, model_work *out);

typedef struct model_costs { /* of one configuration */
  double sms, at_once;       /* multiprocessors, and blocks that each holds at a time */
  double cost[MODEL_COSTS];
} model_costs;

/* model_cost_terms -- what the costs are multiplied with; values in field order */
void model_cost_terms(const gen_template *t, const model_costs *c, const int64_t *values,
                      const model_work *w, double x[MODEL_COSTS]);
double model_cost_sum(const gen_template *t, const model_costs *c, const int64_t *values,
                      const model_work *w);

/* Squared distances add up: of the fields, of the forms, of the loads. */

/* model_octaves -- field values as distances are measured: logarithms, of base 2; names as
 * they are */
void model_octaves(const gen_template *t, const int64_t *values, double *octaves);
struct model_variant;
double model_field_distance(const gen_template *t, const double *octaves, const double *other);
/* model_param_distance -- in how many of the first n parameters they differ */
size_t model_param_distance(const gen_config *a, const gen_config *b, size_t n);
double model_variant_distance(const gen_template *t, const struct model_variant *form,
                              const struct model_variant *other);

typedef struct model_load { /* as distances are measured */
  double length;            /* of the work of one block */
  double tail;              /* of the multiprocessors' time over what the blocks fill of it */
} model_load;

model_load model_load_of(const model_costs *c, double flops, double blocks);
double model_load_distance(const model_load *a, const model_load *b);
/* model_covariance -- how much two that are so far apart have in common: a covariance of logarithms */
double model_covariance(double apart);

typedef struct model_sample { /* by a measured size; there are tens of thousands */
  uint16_t size;
  float blocks, weight;
  float length, tail; /* the load of the blocks */
} model_sample;

typedef struct model_variant { /* that a configuration was measured in */
  gen_config config;
  double threads; /* of a block; length is their logarithm, as distances are measured */
  double length;
  const model_sample *told; /* by the sizes where it has this form */
  size_t n;
} model_variant;

/* Numbers in 16 bits each, between their least and their most: from + step * level. As against
 * single precision the times of sgemm's 24 models move by 5e-5 (root of the mean square over 600
 * sizes), at most by 2e-4. */
typedef struct model_levels {
  float from, step;
  const uint16_t *level;
} model_levels;

/* What a time is computed from: the forms and what was told in them, as the loops over them read
 * it, an array of each number, so that compilers make them go four at a time. A library that serves
 * keeps nothing else, at 10 bytes for what a size told. */
typedef struct model_rows {
  size_t n, n_forms;         /* those that were told something */
  const uint16_t *size;      /* per row: whose distance counts, and is it the next form's first? */
  const float *weight;       /* per row */
  model_levels length, tail; /* per row */
  const float *threads;      /* per form: its length */
  gen_config one;            /* a form: what all share is as it is here */
  size_t n_params;           /* in which forms differ */
  const uint8_t *param;
  const uint8_t *index; /* [of param * n_forms + form]; of values 256 apart one counts for both */
} model_rows;

typedef struct model_fit { /* of one configuration */
  model_costs costs;
  const model_variant *forms; /* where the model was made, or read with portfolio_read_all */
  size_t n_forms;
  model_rows rows;
} model_fit;

model_sample model_sample_new(size_t size, double blocks, double weight, const model_load *load);
/* model_variant_new -- nothing told yet */
model_variant model_variant_new(const gen_config *c, double threads);
/* model_level -- number i */
double model_level(const model_levels *l, size_t i);
/* model_fit_rows -- out of the forms, once they are complete; at most MODEL_SIZES rows; in
 * the arena. The forms may go then. err ERR_NOMEM */
int model_fit_rows(const gen_template *t, model_fit *fit, arena *a, err *e);
/* model_fit_differences -- in how many parameters each form differs from that one: differ[rows.n_forms]
 */
void model_fit_differences(const gen_template *t, const model_fit *fit, const gen_config *from,
                           uint16_t *differ);

/* model_fit_sec -- INFINITY where it does not fit, or was timed too rarely
 *   in    apart  of this size from the measured ones by the fields
 *   cost  a nanosecond a measured size, half a microsecond in any case */
double model_fit_sec(const gen_template *t, const model_fit *fit, const int64_t *values,
                     const model_work *w, const float *apart);

/* model_fit_novelty -- how far the nearest is that was timed: for who takes forms where they were
 * not. At 200 sizes on an H200, of which 132 got such a form, it took 1.04 times what model_fit_sec
 * says at 0.1 to 0.4, 1.17 to 0.8, 1.9 beyond; 0 where nothing was timed.
 *   in   as model_fit_sec */
double model_fit_novelty(const gen_template *t, const model_fit *fit, const model_work *w,
                         const float *apart);
/* What a time is multiplied with then, a logarithm: twice the distance is twice the doubt. */
#define MODEL_DOUBT 0.5

typedef struct portfolio_model { /* of a portfolio; n_sizes 0: it has none */
  size_t n_configs, n_sizes;
  const model_fit *fits; /* per configuration */
  const double *first;   /* octaves of a size: what all share is as it is there */
  const uint16_t *field; /* [n_varying] that are not the same at all sizes */
  size_t n_varying;
  const model_levels *octaves; /* [of field], per size */
  /* where the model was made, or read with portfolio_read_all */
  const int64_t *values; /* [size * n_fields + field] */
  const double *flops;   /* per size */
} portfolio_model;

/* portfolio_model_nbytes -- of memory, of what asking needs */
size_t portfolio_model_nbytes(const portfolio_model *m);
/* portfolio_model_fields -- fill in from `first` on, out of the values; in the arena. These may go
 * then. err ERR_NOMEM */
int portfolio_model_fields(const gen_template *t, portfolio_model *m, arena *a, err *e);
/* model_field_distances -- how far the measured sizes are from this one by the fields: apart[n_sizes]
 */
void model_field_distances(const gen_template *t, const portfolio_model *m, const int64_t *values,
                           float *apart);

#endif
