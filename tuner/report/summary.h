/* summary.h -- a table of many tuned problems, printed at the end. */
#ifndef TUNE_SUMMARY_H
#define TUNE_SUMMARY_H

#include "tune.h"

typedef struct summary {
  str rows;
  size_t n, n_failed, wanted; /* no table for one problem */
  uint64_t trials, settled;
  double sec, sum_vs_default; /* of logarithms */
  size_t n_vs_default, n_settled;
} summary;

void summary_start(summary *t, size_t n_problems);
/* summary_add -- best and def: seconds; 0: none */
void summary_add(summary *t, const tune_state *s, double best, double def);
void summary_failed(summary *t, const char *problem, const char *why);
void summary_print(summary *t);
void summary_clear(summary *t);

#endif
