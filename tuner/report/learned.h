/* learned.h -- a table of the best values: a row a problem, a column a parameter; a cell holds the
 * value of the best configuration and what the next best value costs, where one was tried. */
#ifndef TUNE_LEARNED_H
#define TUNE_LEARNED_H

#include "arena.h"
#include "gen.h"
#include "str.h"

typedef struct learned_cell { /* of one parameter */
  bool used;                  /* the best configuration depends on it */
  uint16_t best, second;      /* places of the values */
  double cost;                /* time with the second best value over that with the best; 0: no
                               * other was tried */
} learned_cell;

typedef struct learned_row {
  const char *device;
  gen_problem problem;
  gen_config config; /* the best */
  double sec;
  bool modelled, shipped; /* shipped: from the presets, which hold only the best */
  size_t n_trials;        /* with times */
  learned_cell *cells;    /* by parameter */
} learned_row;

typedef struct learned_table {
  gen_template *t;
  const size_t *params; /* that are shown */
  size_t n_params;
  learned_row *rows;
  size_t n;
} learned_table;

/* learned_trial -- note the time of a configuration; *least are the least times by value, 0: none.
 * learned_cells fills in the row's cells from them.
 *   in  least[t->n_params]  arrays as long as the parameter's values */
void learned_trial(const gen_template *t, const gen_config *c, double sec, double **least);
void learned_cells(const gen_template *t, double *const *least, learned_row *row);

/* learned_sort -- by device, then by enumerations, then by numbers */
void learned_sort(learned_table *l);
/* learned_varies -- do the best configurations differ in this parameter? */
bool learned_varies(const learned_table *l, size_t param);

/* learned_text -- a table for each device; fields that are equal in all rows stand above it */
void learned_text(const learned_table *l, arena *a, str *out);
void learned_json(const learned_table *l, str *out); /* a line a row */

#endif
