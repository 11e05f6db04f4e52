/* flock.h -- a fixed number of members, each with a place in the space: what differential evolution
 * and particle swarm have in common. Every question is asked on behalf of a member; its answer
 * comes back to it. */
#ifndef TUNE_FLOCK_H
#define TUNE_FLOCK_H

#include "trail.h"

enum { FLOCK = 20 };

typedef struct flock {
  trail t;
  size_t answer[FLOCK];  /* the best of each member; SIZE_MAX: none yet */
  size_t waiting[FLOCK]; /* the point last asked for on its behalf */
  size_t turn;           /* whose question comes next */
} flock;

int flock_init(flock *f, const tune_space *space, uint64_t seed, err *e);
/* flock_tell -- the member it was asked for, or the slowest one for points from elsewhere, takes
 * the answer if it is better than its own; returns its number, FLOCK when nobody took it */
size_t flock_tell(flock *f, size_t point, double sec);
/* flock_send -- ask for the valid point nearest to `wanted` on behalf of the member whose turn it
 * is; a member without an answer asks for a random point */
bool flock_send(flock *f, const double *wanted, size_t *point);
const uint16_t *flock_places(const flock *f, size_t member);

#endif
