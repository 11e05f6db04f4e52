/* emu_segment.h -- the clocks that a launch's code takes on one multiprocessor. */
#ifndef EMU_SEGMENT_H
#define EMU_SEGMENT_H

#include <math.h>

#include "emu_profile.h"
#include "emu_ptxas.h"
#include "emu_state.h"

/* clocks; where they come from: emu_segment.c, emu_cost.c */
enum {
  EMU_LAT_L1 = 41,
  EMU_LAT_L2 = 287,
  EMU_LAT_DRAM = 663,
  EMU_LAT_CONSTANT_FAR = 62, /* more than a hit of the first constant cache: Jia et al. 2018, 3.3 */
  EMU_LAT_CHAIN = 570 /* from a block's store to the load of another block that waits for it */
};
enum { EMU_SCHEDULERS = 4 }; /* of a multiprocessor; a warp stays with one */
enum { EMU_COPY_GROUPS = 16, EMU_LOADS_HELD = 64 };

typedef struct emu_model {
  const emu_launch *l;
  const emu_profile *p;
  const emu_worker *w;
  double lat_global, lat_constant; /* the latter beyond that of a hit */
  double crowd;        /* factor of a store's clocks: below 1 where few blocks share the L2 */
  double run, counted; /* blocks that ran, and whose traffic was counted */

  /* results, of one block */
  double lsu, fetch;         /* clocks of the multiprocessor; fetch: of instructions */
  double issue;              /* clocks of a scheduler for one warp: its busiest unit */
  double alone;              /* clocks of a block that has the multiprocessor to itself */
  double longest;            /* instructions of the warp that takes longest in it */
  double warp[EMU_WARPS];    /* clocks of each warp, */
  double steps[EMU_WARPS];   /* and its instructions */
  double hottest, hot_times; /* of the segment with the most work: clocks, executions by a warp */
  double pipes[EMU_PIPES_N]; /* clocks of the multiprocessor */

  /* of the function that is being added */
  double *ready;                 /* per register: clocks until its value is there */
  double *starts;                /* per instruction of a segment: when its operands are there */
  double group[EMU_COPY_GROUPS]; /* cp.async groups in flight: clocks until they land */
  int n_groups;
  struct emu_held {
    double until, words;
    int32_t guard;
  } held[EMU_LOADS_HELD]; /* loads in flight, oldest first: registers they will write, predicate */
  int n_held;
  double *times;  /* per instruction: executions by all warps of a block */
  emu_ptxas made; /* what ptxas makes of the function */
} emu_model;

/* emu_model_add_code -- the clocks of all functions that ran */
void emu_model_add_code(emu_model *m);

static inline double emu_larger(double a, double b) {
  return a > b ? a : b;
}

/* emu_shared_among -- clocks of n equal warps or blocks that share a unit, each needing it for
 * `work` of the `whole` clocks it takes alone: a stall of one shows only where the others stall too
 */
static inline double emu_shared_among(double n, double work, double whole, double overlap) {
  double stall = whole > work ? whole - work : 0;
  return n * work + (whole > 0 ? stall * pow(stall / whole, n > 1 ? overlap * (n - 1) : 0) : 0);
}

#endif
