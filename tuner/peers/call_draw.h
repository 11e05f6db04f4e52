/* call_draw.h -- typed calls drawn at random over all that they may be given: sizes, types,
 * operators, leading dimensions, increments, factors, addresses, and kinds of data.
 *
 * tuner/peers/calls.txt says what is drawn, a family a section:
 *
 *   [sgemm]
 *   m=16..8192 n=16..8192       log-uniform, both ends included; even where it begins below 1
 *   ta=n,n,n,t                  one of a list, evenly
 *   pad=0,0,1..32               a name that the call lacks is for expressions after it
 *   lda=sel(ta=='n',m,k)+pad    expressions (expr.h) over the names before
 *   data=uniform,sorted         kinds of the contents of inputs; `cuts` of those that ascend
 *
 * A choice that no line names is drawn evenly from all its values; a number that no line names has
 * its preset or sample. Buffers lie as cudaMalloc aligns them in seven of ten calls; in the others
 * each begins 0 to 15 elements further. Fields that the call computes (`align`) follow. */
#ifndef TUNE_CALL_DRAW_H
#define TUNE_CALL_DRAW_H

#include "gen.h"
#include "run.h"
#include "run_captured.h"

typedef struct call_drawer call_drawer;

typedef struct drawn_call {
  gen_problem p;
  str text;                /* "m=17 ... lda=20 A+3 data=zipf": every name that was drawn */
  uint64_t bits[64];       /* per argument: of a scalar that was drawn */
  bool given[64];          /* which those are */
  uint64_t shifts[64];     /* per argument: bytes from an aligned address to the buffer */
  const char *data, *cuts; /* kinds; NULL: as the template fills them */
  uint64_t seed;           /* of the contents */
} drawn_call;

/* call_drawer_open --
 *   in   lines  in place of the family's section; NULL: that
 *        most   no number of a range lies above it; 0: no bound
 *   out  *d     call_drawer_close; the template must outlive it
 *   err  ERR_NOTFOUND  the family has no typed call, or no section
 *        ERR_USAGE     what is wrong with which name */
int call_drawer_open(gen_template *t, const char *lines, int64_t most, uint64_t seed,
                     call_drawer **d, err *e);
void call_drawer_close(call_drawer *d);
/* call_draw -- the next call; only such as meet what the typed call requires.
 *   out  *c   drawn_call_clear, even after a failure
 *   err  ERR_USAGE  none in many draws meets it; what cannot be evaluated */
int call_draw(call_drawer *d, drawn_call *c, err *e);
void drawn_call_clear(drawn_call *c);

/* drawn_call_data -- the first case of a harness for this call (rt_harness_new_on).
 *   in   g   of c->p
 *   out  *x  in its own memory: rt_captured_close; c must outlive it */
int drawn_call_data(const drawn_call *c, gen_instance *g, const gen_template *t, rt_captured *x,
                    err *e);

#endif
