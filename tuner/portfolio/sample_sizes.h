/* sample_sizes.h -- sizes drawn at random from ranges, to make a portfolio for and to test it
 * on. */
#ifndef TUNE_SAMPLE_SIZES_H
#define TUNE_SAMPLE_SIZES_H

#include "sizes.h"

/* sample_sizes -- n problems of a grid: "m=16..8192 n=16..8192 k=64 ta=n,t". A range is drawn from
 * log-uniformly (an octave is as likely as any other), a list evenly; fields not named take their
 * preset. With `rounded`, every other problem has numbers that are multiples of 4, 16, 64 or an
 * eighth of their octave, as sizes in programs mostly are. Equal problems are taken once, so there
 * may be fewer. err  ERR_USAGE  what is wrong with which field */
int sample_sizes(gen_template *t, const char *grid, size_t n, uint64_t seed, bool rounded, arena *a,
                 sizes *out, err *e);

#endif
