/* portfolio_model.h -- the models of a portfolio's configurations (chooser_model.h): how they are
 * laid out in memory, and what they are asked. A portfolio carries a model of each of its
 * configurations; a size gets the configuration that is fastest by the models. */
#ifndef PORTFOLIO_MODEL_H
#define PORTFOLIO_MODEL_H

#include "chooser_model.h"
#include "gen.h"

typedef struct model_work { /* what a configuration does at one size */
  chooser_work amount;
  gen_config config; /* as it is adapted to this size */
} model_work;

/* model_work_of -- of a configuration that is valid for the problem */
void model_work_of(gen_instance *g, const gen_config *c, model_work *out);
chooser_fields model_fields(const gen_template *t);

/* ---- the model of one configuration --------------------------------------------------------- */

typedef struct model_sample { /* a measured size; there are tens of thousands */
  uint16_t size;
  float blocks, weight;
  float length, tail; /* of the chooser_load */
} model_sample;

typedef struct model_variant { /* that a configuration was measured as */
  gen_config config;
  double threads;              /* of a block */
  const model_sample *samples; /* the sizes that were measured with it */
  size_t n;
} model_variant;

/* model_variant_distance -- squared, as those of chooser_model.h */
double model_variant_distance(const gen_template *t, const model_variant *a,
                              const model_variant *b);
model_sample model_sample_new(size_t size, double blocks, double weight, const chooser_load *load);

typedef struct model_fit { /* of one configuration */
  chooser_fit chooser;
  gen_config one;  /* a variant of the rows: parameters that all share are as here */
  size_t n_params; /* parameters in which variants differ */
  const uint8_t *param;
  const uint8_t *index; /* [of param * n_variants + variant]; values 256 apart count as equal */
  /* where the model was made, or read with portfolio_read_all */
  const model_variant *variants;
  size_t n_variants;
} model_fit;

/* model_fit_rows -- lay out the rows, once the variants are complete; at most CHOOSER_SIZES rows;
 * in the arena. The variants may go then. err ERR_NOMEM */
int model_fit_rows(const gen_template *t, model_fit *fit, arena *a, err *e);
/* model_fit_differences -- in how many parameters each variant of the rows differs from that one */
void model_fit_differences(const gen_template *t, const model_fit *fit, const gen_config *from,
                           uint16_t *differ);
/* model_fit_sec, model_fit_cautious_sec -- chooser_seconds, chooser_cautious_seconds */
double model_fit_sec(const gen_template *t, const model_fit *fit, const int64_t *values,
                     const model_work *w, const float *distances);
double model_fit_cautious_sec(const gen_template *t, const model_fit *fit, const int64_t *values,
                              const model_work *w, const float *distances);

/* ---- all models of a portfolio -------------------------------------------------------------- */

typedef struct portfolio_model { /* sizes.n 0: the portfolio has none */
  chooser_sizes sizes;
  size_t n_configs;
  const model_fit *fits; /* per configuration */
  bool embedded;         /* rows and sizes are constants of the library */
  /* where the model was made, or read with portfolio_read_all */
  const int64_t *values; /* [size * n_fields + field] */
  const double *flops;   /* per size */
} portfolio_model;

/* portfolio_model_nbytes -- the memory that asking needs */
size_t portfolio_model_nbytes(const portfolio_model *m);
/* portfolio_model_sizes -- lay out the sizes, whose number is set, from the values; in the arena.
 * The values may go then. err ERR_NOMEM */
int portfolio_model_sizes(const gen_template *t, portfolio_model *m, arena *a, err *e);

#endif
