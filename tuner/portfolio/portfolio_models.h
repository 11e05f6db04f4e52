/* portfolio_models.h -- the models of a table's configurations (fit_model.h), and what follows from
 * them before there is a tree: what each configuration loses at each size, which of them are worth
 * having, and where a measurement would tell most. */
#ifndef TUNE_PORTFOLIO_MODELS_H
#define TUNE_PORTFOLIO_MODELS_H

#include "fit_model.h"
#include "portfolio_table.h"

/* What is lost at a size that is not served, a logarithm; no loss counts as more. */
#define PORTFOLIO_LOST_MOST 3.0

typedef struct portfolio_models {
  const gen_template *template;
  const portfolio_table *t;
  const size_t *chosen; /* the configurations, by their places in the table */
  size_t n_configs;
  const fit_sample *known;           /* [configuration * n_sizes + size] */
  const double *octaves;             /* [measured size * n_fields + field] */
  const float *distances;            /* [measured size * n_sizes + other]; NULL: no models */
  const fitted_model *const *models; /* per configuration; NULL: too little is known of it */
  double *lost; /* [size * n_configs + configuration]: a logarithm; at drawn sizes 0 until
                   portfolio_models_foresee */
  arena *a;
} portfolio_models;

/* portfolio_models_new -- models of these configurations, where the table has their work; in the
 * arena. err ERR_NOMEM */
int portfolio_models_new(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                         size_t n, arena *a, portfolio_models *out, err *e);
/* portfolio_models_any -- has any configuration a model? fit_model takes eight sizes at least */
bool portfolio_models_any(const portfolio_models *m);
/* portfolio_models_foresee -- fill in what is lost at the drawn sizes, as the models say */
void portfolio_models_foresee(portfolio_models *m);
/* portfolio_models_unseen -- what each measured size loses with the configuration that models
 * choose which have not seen that size: held[n_sizes]. err ERR_NOMEM */
int portfolio_models_unseen(const portfolio_models *m, double *held, err *e);
/* portfolio_models_put -- into the portfolio, in the arena. err ERR_NOMEM */
int portfolio_models_put(const portfolio_models *m, portfolio *out, err *e);

/* portfolio_thin -- drop configurations that gain little: each costs time wherever it is
 * considered, and two that the problem's size hardly distinguishes cost more by mistakes than they
 * gain. Dropped is a configuration without which the sizes, as models choose that have not seen
 * them, lose less than half a per cent more. Without the table's work all stay. err ERR_NOMEM */
int portfolio_thin(const gen_template *t, const portfolio_table *table, size_t *chosen, size_t *n,
                   arena *a, err *e);
/* portfolio_regret -- where a measurement would tell most: for each of the drawn sizes, by how much
 * the other configurations may turn out to be faster than the one that is chosen, added up; a
 * logarithm.
 *   in   the table  at most PORTFOLIO_CONFIGS
 *   out  regret[n_drawn]
 *   err  ERR_NOMEM */
int portfolio_regret(const gen_template *t, const portfolio_table *table, double *regret, err *e);

#endif
