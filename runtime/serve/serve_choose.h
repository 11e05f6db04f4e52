/* serve_choose.h -- which configuration a problem gets: the candidates in order, best guess first.
 *
 * 1. Exactly this problem, tuned on this device.
 * 2. The same problem, tuned on another device of this size (mostly the shipped presets).
 * 3. The portfolio, if the problem lies in the range that it was made for (portfolio.h): its
 *    configurations in the order of its models, or of the tree's leaf, adapted if need be. A
 *    portfolio from another device counts only while nothing of the family is tuned on this one.
 * 4. The family's tuned problems by distance (serve_distance.h), to which results from elsewhere
 *    add a charge: this device's results precede comparable ones, but a size tuned elsewhere
 *    precedes a much farther one tuned here. Of two at the same distance the one closer to its
 *    device's peak goes first. A configuration that is not valid here is adapted (adapt.h), which
 *    puts it an octave farther away.
 * 5. What the template suggests, or its default. */
#ifndef SERVE_CHOOSE_H
#define SERVE_CHOOSE_H

#include "serve_known.h"
#include "serve_pick.h"

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

/* serve_choose_next -- the next candidate whose requirements hold; texts live as long as the arena
 * and what is known.
 *   err  ERR_NOTFOUND  the default was the last one, no message
 *        else the database can't be read, or the default itself is not valid */
int serve_choose_next(serve_choose *c, serve_pick *pick, err *e);
/* serve_choose_default -- skip to the default */
void serve_choose_default(serve_choose *c);

#endif
