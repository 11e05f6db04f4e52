/* serve_draw.h -- which variant is tried next while a program runs.
 *
 * First points drawn from all over the space. Then points near the fastest so far, changed until
 * they are valid (adapt.h), and again some from anywhere, of which the one is taken that the
 * times known by then speak for: a sum of effects, one for each parameter's value and for the
 * launch's size, fitted anew each time. */
#ifndef SERVE_DRAW_H
#define SERVE_DRAW_H

#include <stdatomic.h>

#include "gen.h"

enum { SERVE_DRAW_MOST = 512, SERVE_DRAW_SHAPES = 2 };

typedef struct serve_drawn {
  gen_config config;
  uint8_t shape[SERVE_DRAW_SHAPES]; /* octaves of blocks and of threads a block */
  _Atomic double sec;               /* 0: not known yet; INFINITY: it failed */
} serve_drawn;

typedef struct serve_draw {
  const gen_template *t;
  gen_instance *g;
  gen_space *space; /* the valid points; NULL: not counted yet, or too many to be */
  bool counted;
  double blocks_most; /* more than so many are as good as so many */
  serve_drawn list[SERVE_DRAW_MOST];
  atomic_size_t n;
  uint64_t random;
} serve_draw;

/* The instance is borrowed; all but serve_draw_tell need its template for themselves. */
void serve_draw_init(serve_draw *d, const gen_template *t, gen_instance *g, double sms);
void serve_draw_clear(serve_draw *d);
/* serve_draw_add -- this one; false: it was there already, or there are enough
 *   out  *place  its number, for serve_draw_tell */
bool serve_draw_add(serve_draw *d, const gen_config *c, size_t *place);
/* serve_draw_next -- another valid one; false: none was found. The first counts the space, which
 * takes seconds for a large one */
bool serve_draw_next(serve_draw *d, gen_config *c, size_t *place);
/* serve_draw_tell -- the time it took; INFINITY: it failed */
void serve_draw_tell(serve_draw *d, size_t place, double sec);

#endif
