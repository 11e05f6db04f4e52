/* online_draw.h -- which variant is tried next while a program runs.
 *
 * First points drawn from all over the space. Then points near the fastest so far, changed until
 * they are valid (adapt.h), and again some from anywhere, of which the one is taken that the
 * times known by then speak for: a sum of effects, one for each parameter's value and for the
 * launch's size, fitted anew each time. */
#ifndef ONLINE_DRAW_H
#define ONLINE_DRAW_H

#include <stdatomic.h>

#include "gen.h"

enum { ONLINE_DRAW_MOST = 512, ONLINE_DRAW_SHAPES = 2 };

typedef struct online_drawn {
  gen_config config;
  uint8_t shape[ONLINE_DRAW_SHAPES]; /* octaves of blocks and of threads a block */
  _Atomic double sec;                /* 0: not known yet; INFINITY: it failed */
} online_drawn;

typedef struct online_draw {
  const gen_template *t;
  gen_instance *g;
  gen_space *space; /* the valid points; NULL: not counted yet, or too many to be */
  bool counted;
  double blocks_most; /* more than so many are as good as so many */
  online_drawn list[ONLINE_DRAW_MOST];
  atomic_size_t n;
  uint64_t random;
} online_draw;

/* The instance is borrowed; all but online_draw_tell need its template for themselves. */
void online_draw_init(online_draw *d, const gen_template *t, gen_instance *g, double sms);
void online_draw_clear(online_draw *d);
/* online_draw_add -- this one; false: it was there already, or there are enough
 *   out  *place  its number, for online_draw_tell */
bool online_draw_add(online_draw *d, const gen_config *c, size_t *place);
/* online_draw_next -- another valid one; false: none was found. The first counts the space, which
 * takes seconds for a large one */
bool online_draw_next(online_draw *d, gen_config *c, size_t *place);
/* online_draw_tell -- the time it took; INFINITY: it failed */
void online_draw_tell(online_draw *d, size_t place, double sec);

#endif
