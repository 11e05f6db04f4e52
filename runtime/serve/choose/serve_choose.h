/* serve_choose.h -- which configuration a problem gets: the candidates in order, best guess first.
 *
 * 1. Exactly this problem, tuned on this device.
 * 2. The same problem, tuned on another device of this size (mostly the shipped presets).
 * 3. The portfolio, if the problem lies in the range that it was made for (portfolio.h): its
 *    configurations in the order of its models, or of the tree's leaf, adapted if need be. Of those
 *    that are nearly as fast as the fastest by the models the least adapted one goes first. A
 *    portfolio from another device counts only while nothing of the family is tuned on this one.
 * 4. The family's tuned problems by distance (serve_distance.h), to which results from elsewhere
 *    add a charge: this device's results precede comparable ones, but a size tuned elsewhere
 *    precedes a much farther one tuned here. Of two at the same distance the one closer to its
 *    device's peak goes first. A configuration that is not valid here is adapted (adapt.h), which
 *    puts it an octave farther away.
 * 5. What the template suggests, or its default. */
#ifndef SERVE_CHOOSE_H
#define SERVE_CHOOSE_H

#include "choose_state.h"

/* serve_choose_next -- the next candidate whose requirements hold; texts live as long as the arena
 * and what is known.
 *   err  ERR_NOTFOUND  the default was the last one, no message
 *        else the database can't be read, or the default itself is not valid */
int serve_choose_next(serve_choose *c, serve_pick *pick, err *e);
/* serve_choose_is_quick -- the next candidate is at hand; else the portfolio's models are asked about
 * more configurations, or neighbours are adapted, at a millisecond or two for all of them */
bool serve_choose_is_quick(const serve_choose *c);
/* serve_choose_default -- skip to the default */
void serve_choose_default(serve_choose *c);

#endif
