/* serve_model.h -- how long a configuration takes at sizes where nobody has timed it.
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
#ifndef SERVE_MODEL_H
#define SERVE_MODEL_H

#include "gen.h"

/* Costs of what is known of every template, then of the work that its launches tell. */
enum { SERVE_MODEL_PLAIN = 24, SERVE_MODEL_COSTS = SERVE_MODEL_PLAIN + 3 * GEN_MAX_WORK };
enum { SERVE_MODEL_SIZES = 4096, SERVE_ROWS_NEXT = 1 << 15 };

/* What two sizes must differ in, in octaves, for this to make them as strange to each other as
 * anything else set to one does: a field, a choice, the length of a block's work and its threads,
 * the last round's tail, a parameter of the form. Rounded from the maximum of the likelihood over
 * 15 configurations of sgemm at 589 sizes on an H200; half or twice of any changes little there.
 * Exported models (export_models.c) have them, too. */
enum {
  SERVE_MODEL_FIELD = 8,
  SERVE_MODEL_CHOICE = 4,
  SERVE_MODEL_LENGTH = 4,
  SERVE_MODEL_THREADS = 3,
  SERVE_MODEL_TAIL = 6,
  SERVE_MODEL_PARAMETER = 3
};
/* How far the sum of costs is off, a logarithm: as a rule, and at most. */
#define SERVE_MODEL_OFF 0.3
#define SERVE_MODEL_OFF_MOST 3.0
/* Seconds that each of several launches takes at least: a host that does other things besides needs
 * them. Two that a graph holds to 4.3 us took 5.5 us in a stream, or 7.6, by the moment, on an
 * H200, and 9.5 for 7.2 beside compilers: one launch of 6 us is the better choice. At 3,520 sizes
 * that no model had seen 4 us lost the least of 3.5, 4 and 4.5: 1.40 % in the mean. */
#define SERVE_MODEL_LAUNCH 4e-6

typedef struct serve_work { /* what a configuration does at one size */
  double launches;
  double blocks, threads;    /* of the launch that does most, threads of each; blocks 0: it does not
                                fit this size */
  double work[GEN_MAX_WORK]; /* of one of its blocks, as the template tells it */
  double flops, bytes;       /* of the whole problem */
  gen_config form;           /* as it is adapted to this size */
} serve_work;

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

/* Squared distances add up: of the fields, of the forms, of the loads. */

/* serve_model_octaves -- field values as distances are measured: logarithms, of base 2; names as
 * they are */
void serve_model_octaves(const gen_template *t, const int64_t *values, double *octaves);
struct serve_form;
double serve_fields_apart(const gen_template *t, const double *octaves, const double *other);
/* serve_parameters_apart -- in how many of the first n parameters they differ */
size_t serve_parameters_apart(const gen_config *a, const gen_config *b, size_t n);
double serve_forms_apart(const gen_template *t, const struct serve_form *form,
                         const struct serve_form *other);

typedef struct serve_load { /* as distances are measured */
  double length;            /* of the work of one block */
  double tail;              /* of the multiprocessors' time over what the blocks fill of it */
} serve_load;

serve_load serve_load_of(const serve_costs *c, double flops, double blocks);
double serve_loads_apart(const serve_load *a, const serve_load *b);
/* serve_alike -- how much two that are so far apart have in common: a covariance of logarithms */
double serve_alike(double apart);

typedef struct serve_told { /* by a measured size; there are tens of thousands */
  uint16_t size;
  float blocks, weight;
  float length, tail; /* the load of the blocks */
} serve_told;

typedef struct serve_form { /* that a configuration was measured in */
  gen_config config;
  double threads; /* of a block; length is their logarithm, as distances are measured */
  double length;
  const serve_told *told; /* by the sizes where it has this form */
  size_t n;
} serve_form;

/* Numbers in 16 bits each, between their least and their most: from + step * level. As against
 * single precision the times of sgemm's 24 models move by 5e-5 (root of the mean square over 600
 * sizes), at most by 2e-4. */
typedef struct serve_levels {
  float from, step;
  const uint16_t *level;
} serve_levels;

/* What a time is computed from: the forms and what was told in them, as the loops over them read
 * it, an array of each number, so that compilers make them go four at a time. A library that serves
 * keeps nothing else, at 10 bytes for what a size told. */
typedef struct serve_rows {
  size_t n, n_forms;         /* those that were told something */
  const uint16_t *size;      /* per row: whose distance counts, and is it the next form's first? */
  const float *weight;       /* per row */
  serve_levels length, tail; /* per row */
  const float *threads;      /* per form: its length */
  gen_config one;            /* a form: what all share is as it is here */
  size_t n_params;           /* in which forms differ */
  const uint8_t *param;
  const uint8_t *index; /* [of param * n_forms + form]; of values 256 apart one counts for both */
} serve_rows;

typedef struct serve_fit { /* of one configuration */
  serve_costs costs;
  const serve_form *forms; /* where the model was made, or read with serve_cover_read_all */
  size_t n_forms;
  serve_rows rows;
} serve_fit;

serve_told serve_told_new(size_t size, double blocks, double weight, const serve_load *load);
/* serve_form_new -- nothing told yet */
serve_form serve_form_new(const gen_config *c, double threads);
/* serve_level -- number i */
double serve_level(const serve_levels *l, size_t i);
/* serve_fit_rows -- out of the forms, once they are complete; at most SERVE_MODEL_SIZES rows; in
 * the arena. The forms may go then. err ERR_NOMEM */
int serve_fit_rows(const gen_template *t, serve_fit *fit, arena *a, err *e);
/* serve_fit_differ -- in how many parameters each form differs from that one: differ[rows.n_forms]
 */
void serve_fit_differ(const gen_template *t, const serve_fit *fit, const gen_config *from,
                      uint16_t *differ);

/* serve_fit_sec -- INFINITY where it does not fit, or was timed too rarely
 *   in    apart  of this size from the measured ones by the fields
 *   cost  a nanosecond a measured size, half a microsecond in any case */
double serve_fit_sec(const gen_template *t, const serve_fit *fit, const int64_t *values,
                     const serve_work *w, const float *apart);

/* serve_fit_strange -- how far the nearest is that was timed: for who takes forms where they were
 * not. At 200 sizes on an H200, of which 132 got such a form, it took 1.04 times what serve_fit_sec
 * says at 0.1 to 0.4, 1.17 to 0.8, 1.9 beyond; 0 where nothing was timed.
 *   in   as serve_fit_sec */
double serve_fit_strange(const gen_template *t, const serve_fit *fit, const serve_work *w,
                         const float *apart);
/* What a time is multiplied with then, a logarithm: twice the distance is twice the doubt. */
#define SERVE_MODEL_DOUBT 0.5

typedef struct serve_model { /* of a portfolio; n_sizes 0: it has none */
  size_t n_configs, n_sizes;
  const serve_fit *fits; /* per configuration */
  const double *first;   /* octaves of a size: what all share is as it is there */
  const uint16_t *field; /* [n_varying] that are not the same at all sizes */
  size_t n_varying;
  const serve_levels *octaves; /* [of field], per size */
  /* where the model was made, or read with serve_cover_read_all */
  const int64_t *values; /* [size * n_fields + field] */
  const double *flops;   /* per size */
} serve_model;

/* serve_model_nbytes -- of memory, of what asking needs */
size_t serve_model_nbytes(const serve_model *m);
/* serve_model_fields -- fill in from `first` on, out of the values; in the arena. These may go
 * then. err ERR_NOMEM */
int serve_model_fields(const gen_template *t, serve_model *m, arena *a, err *e);
/* serve_model_apart -- how far the measured sizes are from this one by the fields: apart[n_sizes]
 */
void serve_model_apart(const gen_template *t, const serve_model *m, const int64_t *values,
                       float *apart);

#endif
