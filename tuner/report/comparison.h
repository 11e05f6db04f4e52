/* comparison.h -- the values of one parameter side by side, each with its best configuration; with
 * ALG, the steps of a textbook chapter. Text and arithmetic only. */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "str.h"

typedef struct comparison_step {
  const char *value;  /* of the parameter */
  double sec, spread; /* 0: none of its configurations works */
  double prepare_sec; /* of which sec has a share; 0: nothing is prepared */
  const char *config; /* the best */
  const char *words;  /* the same for people; NULL: config */
  const char *why;    /* there is none */
  size_t n_trials, n_failed;
} comparison_step;

typedef struct comparison {
  const char *label, *problem; /* short; canonical */
  comparison_step *steps;
  size_t n;
  double uses; /* of a preparation; 0: many */
} comparison;

typedef struct comparison_head {
  const char *family, *parameter, *device;
  bool modelled;
} comparison_head;

/* comparison_best -- the fastest step; n when none works */
size_t comparison_best(const comparison *l);
/* comparison_gain -- speed over that of the previous step that works; 0: there is none */
double comparison_gain(const comparison *l, size_t i);

/* comparison_text -- of one problem, with a bar for each step */
void comparison_text(const comparison_head *h, const comparison *l, str *out);
/* comparison_table -- of several: a row a problem, a column a value, the best marked */
void comparison_table(const comparison_head *h, const comparison *l, size_t n, str *out);
void comparison_json(const comparison_head *h, const comparison *l, str *out);
/* comparison_plot -- SVG: a bar for each step of each problem */
void comparison_plot(const comparison_head *h, const comparison *l, size_t n, str *out);

#endif
