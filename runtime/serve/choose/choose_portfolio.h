/* choose_portfolio.h -- candidates from the family's portfolio: in the order of its models'
 * predicted times, or of the leaf of its tree. */
#ifndef CHOOSE_PORTFOLIO_H
#define CHOOSE_PORTFOLIO_H

#include "choose_state.h"

/* choose_open_portfolio -- does it serve this problem? Once, before choose_portfolio */
void choose_open_portfolio(serve_choose *c);
/* choose_portfolio -- the next one; false: there is none */
bool choose_portfolio(serve_choose *c, serve_pick *pick);

#endif
