/* replay.h -- run a strategy on a recorded space, and measure how fast it approaches the
 * optimum. */
#ifndef TUNE_REPLAY_H
#define TUNE_REPLAY_H

#include <signal.h>

#include "recorded.h"

enum { REPLAY_EVALUATIONS = 400 };

typedef struct replay_options {
  int64_t runs; /* each with its own seed: seed, seed + 1, ... */
  int64_t seed;
  int64_t jobs;  /* threads; they do not change the result */
  int64_t ahead; /* candidates requested ahead of results, as compilers running ahead do; 1: none */
  const volatile sig_atomic_t *stop; /* may be NULL */
} replay_options;

typedef struct replay_curve {
  double fraction[REPLAY_EVALUATIONS]; /* speed of the best of the first i + 1 trials over the
                                        * optimum's, mean over the runs; failures count as trials */
  double ask_sec;                      /* processor time of the strategy per trial */
} replay_curve;

/* replay --
 *   err  ERR_INTERRUPTED  `stop` was set */
int replay(const recorded *r, const search_strategy *s, const replay_options *o, replay_curve *out,
           err *e);

/* replay_plot -- the curves as an SVG picture, appended */
typedef struct replay_line {
  const char *name;
  const replay_curve *curve;
} replay_line;
void replay_plot(const replay_line *lines, size_t n, const char *title, str *out);

#endif
