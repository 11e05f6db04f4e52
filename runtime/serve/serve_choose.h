/* serve_choose.h -- which configuration a problem gets: the candidates in order, best guess first.
 *
 * Exactly this problem on this device comes first, the template's default last. After the exact one
 * comes the same problem from another device of this size (the shipped presets, mostly), then the
 * portfolio, where the problem lies in the range that it was made for (portfolio.h):
 * its configurations in the order of the tree's leaf, adapted if need be. A portfolio from another
 * device counts only while nothing of the family is tuned on this one. Then stand the tuned
 * problems of the family by their distance: in octaves, the root of the summed squares over the
 * integer fields (an octave is a factor of two), plus a charge for what was tuned elsewhere. So
 * this device's own results win among comparable ones, and yet a size tuned elsewhere beats a much
 * farther one tuned here. Fields that are names, a transposition or a type, must be equal. Of two
 * at the same distance the one that comes nearer to its device's peak goes first. One whose
 * configuration does not fit is adapted (adapt.h), which puts it an octave farther away. */
#ifndef SERVE_CHOOSE_H
#define SERVE_CHOOSE_H

#include "serve_known.h"
#include "serve_pick.h"

typedef struct serve_choose { /* while one problem's kernel is being found */
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
  struct serve_ranked *ranked; /* the portfolio's as its model has them, best first, those of
                                  the leaf's short list before the others; NULL: no model */
  size_t n_ranked;
  bool ranked_all;
  float *apart;                   /* of the model's sizes from this one; NULL: nobody asked yet */
  int64_t values[GEN_MAX_FIELDS]; /* of the problem's fields */
  double octaves[GEN_MAX_FIELDS]; /* and as distances have them */
  double *distance;               /* per known row; infinite: not eligible, or tried already */
  struct serve_adapted **adapted; /* per known row; NULL: as it is */
  size_t n_looked, n_adapted;
} serve_choose;

/* serve_choose_next -- the next candidate whose requirements hold; texts live as long as the arena
 * and what is known.
 *   err  ERR_NOTFOUND  the default was the last one, no message
 *        else the database can't be read, or the default itself is not valid */
int serve_choose_next(serve_choose *c, serve_pick *pick, err *e);
/* serve_choose_default -- leave out all but the default */
void serve_choose_default(serve_choose *c);

#endif
