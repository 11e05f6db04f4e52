/* ladder.h -- the values of one parameter side by side, each with the best of what remains: the
 * steps of a textbook's chapter when the parameter is ALG. Text and arithmetic only. */
#ifndef TUNE_LADDER_H
#define TUNE_LADDER_H

#include <stdbool.h>
#include <stddef.h>

#include "str.h"

typedef struct ladder_step {
  const char *value;  /* of the parameter */
  double sec, spread; /* 0: none of its configurations works */
  const char *config; /* the best */
  const char *words;  /* the same for people; NULL: config */
  const char *why;    /* there is none */
  size_t n_trials, n_failed;
} ladder_step;

typedef struct ladder {
  const char *label, *problem; /* short; canonical */
  ladder_step *steps;
  size_t n;
} ladder;

typedef struct ladder_head {
  const char *family, *parameter, *device;
  bool modelled;
} ladder_head;

/* ladder_best -- the fastest step; n when none works */
size_t ladder_best(const ladder *l);
/* ladder_gain -- how many times as fast as the step before it that works; 0: there is none */
double ladder_gain(const ladder *l, size_t i);

/* ladder_text -- of one problem: a bar a step */
void ladder_text(const ladder_head *h, const ladder *l, str *out);
/* ladder_table -- of several: a row a problem, a column a value, the best marked */
void ladder_table(const ladder_head *h, const ladder *l, size_t n, str *out);
void ladder_json(const ladder_head *h, const ladder *l, str *out);
/* ladder_plot -- SVG: a bar a step, of all problems */
void ladder_plot(const ladder_head *h, const ladder *l, size_t n, str *out);

#endif
