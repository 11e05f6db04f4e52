/* choose_state.h -- what is known while the configuration of a problem is being chosen, and the parts
 * that find candidates. */
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
  int64_t values[GEN_MAX_FIELDS]; /* of the problem's fields; of a class, the portfolio's */
  double octaves[GEN_MAX_FIELDS]; /* the same for distances */
  double *distance;               /* per known row; infinite: not eligible, or tried already */
  struct serve_adapted **adapted; /* per known row; NULL: as it is */
  size_t n_looked, n_adapted;
} serve_choose;

/* ---- candidates: tuned problems of the family, the nearest first ------------------------------ */

/* choose_same -- the next of: exactly this problem, tuned on another device of about this size; this
 * problem of another class (gen_field), tuned here, then on such a device. *found: there is one */
int choose_same(serve_choose *c, serve_pick *pick, bool *found, err *e);
/* choose_nearest -- the next nearest; *found: there is one that precedes the template's suggestion
 * */
int choose_nearest(serve_choose *c, serve_pick *pick, bool *found, err *e);

/* ---- candidates: the family's portfolio, by its models' times or the leaf of its tree -------- */

/* choose_open_portfolio -- does it serve this problem? Once, before choose_portfolio */
void choose_open_portfolio(serve_choose *c);
/* choose_portfolio -- the next one; false: there is none */
bool choose_portfolio(serve_choose *c, serve_pick *pick);

/* ---- how fast a result is, relative to the least time that its device's peak rates allow: so
 * results of different problems can be compared ------------------------------------------------ */

/* choose_floor -- the least time of the problem that is being served; 0: not known */
double choose_floor(serve_choose *c, const gen_config *config);
/* choose_slowness -- a row's time over the least time of its own problem on its device; 0: not
 * known
 *   in  config  NULL: the row's */
double choose_slowness(serve_choose *c, serve_known_row *row, const gen_config *config);
/* choose_lateness -- the same with a launch's overhead in the least time, to compare small problems
 * with large */
double choose_lateness(serve_choose *c, serve_known_row *row, const gen_config *config);

/* choose_text -- of a row, as a C string in c's arena; NULL: out of memory */
const char *choose_text(serve_choose *c, const serve_known_text *text);
/* choose_parse_config -- false: the template does not accept it */
bool choose_parse_config(serve_choose *c, const serve_known_row *row, gen_config *out);

#endif
