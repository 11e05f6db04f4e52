/* choose_nearest.h -- candidates from the tuned problems of the family, the nearest first. */
#ifndef CHOOSE_NEAREST_H
#define CHOOSE_NEAREST_H

#include "choose_state.h"

/* choose_same -- exactly this problem, tuned on another device of about this size; *found: there is
 * one */
int choose_same(serve_choose *c, serve_pick *pick, bool *found, err *e);
/* choose_nearest -- the next nearest; *found: there is one that precedes the template's suggestion
 * */
int choose_nearest(serve_choose *c, serve_pick *pick, bool *found, err *e);

#endif
