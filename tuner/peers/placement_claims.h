/* placement_claims.h -- claims about where memory lies: pinned and pageable, mapped, managed; and about
 * copies beside each other and beside kernels. Their sides are programs of copies and launches. */
#ifndef TUNE_PLACEMENT_CLAIMS_H
#define TUNE_PLACEMENT_CLAIMS_H

#include "claims.h"
#include "compile.h"
#include "device.h"

/* The family's name in lines. */
#define PLACEMENT_FAMILY "memory"

typedef struct placement_try {
  claim claim;
  claim_times times;
  int rc; /* of the trial: not 0: the claim could not be tried, and why */
  err why;
} placement_try;

typedef struct placement_run {
  rt_device *device;
  rt_compiler *compiler;
  size_t nbytes; /* of a buffer, of which there are two in each place; a multiple of 2^20 */
  int64_t rounds;
  int (*tell)(void *self, const placement_try *t, err *e); /* after each; not 0 ends the run */
  void *self;
} placement_run;

/* placement_claims -- try all.
 *   err  ERR_USAGE  a modelled device: placement of memory is not modelled */
int placement_claims(const placement_run *run, err *e);

#endif
