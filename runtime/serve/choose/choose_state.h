/* choose_state.h -- what is known while the configuration of a problem is being chosen. */
#ifndef CHOOSE_STATE_H
#define CHOOSE_STATE_H

#include "serve_known.h"
#include "serve_pick.h"

enum { CHOOSE_ADAPT_MOST = 3 }; /* candidates that are adapted, at a millisecond or two each */

typedef struct serve_choose { /* state while one problem's kernel is being found */
  const serve_sources *from;
  gen_template *t;
  const gen_problem *p;
  gen_instance *g;
  const char *problem;
  serve_known *known;
  arena *memory;
  int step;
  const chooser_node *leaf; /* of the portfolio; NULL: not for this problem */
  size_t leaf_at;
  struct serve_ranked *ranked; /* the portfolio's by predicted time, those of the leaf's
                                  short list before the others; NULL: it has no model */
  size_t n_ranked;
  bool ranked_all;
  float *apart; /* distances of the model's sizes from this one; NULL: not needed yet */
  int64_t values[GEN_MAX_FIELDS]; /* of the problem's fields */
  double octaves[GEN_MAX_FIELDS]; /* the same for distances */
  double *distance;               /* per known row; infinite: not eligible, or tried already */
  struct serve_adapted **adapted; /* per known row; NULL: as it is */
  size_t n_looked, n_adapted;
} serve_choose;

#endif
