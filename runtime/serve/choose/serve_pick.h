/* serve_pick.h -- a configuration chosen for a problem, and where it comes from. */
#ifndef SERVE_PICK_H
#define SERVE_PICK_H

#include "gen.h"
#include "tuned.h"

typedef struct serve_pick { /* valid for the problem */
  gen_config config;
  tuned_origin origin;
  const char *problem, *device_key; /* it was tuned for; NULL for the default */
  const char *image;                /* stored with it; NULL: none */
  double sec;                       /* expected here; 0: not known */
  double loss;                      /* expected of a portfolio, relative to the best */
  bool measured;
  int changed; /* parameters that were adapted */
} serve_pick;

#endif
