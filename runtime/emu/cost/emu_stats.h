/* emu_stats.h -- what a kernel did, and what bounds it on the profile's card. */
#ifndef EMU_STATS_H
#define EMU_STATS_H

#include <stdint.h>

#include "emu_pipe.h"

/* measured on the blocks that ran, scaled to the whole launch */
/* clang-format off */
typedef struct rt_emu_stats {
  uint64_t blocks, blocks_run;
  double warp_instructions, thread_instructions;
  double pipes[EMU_PIPES_N];         /* warp instructions issued to each unit */
  double global_requests, load_sectors, store_sectors; /* sectors of 32 bytes */
  double shared_requests, shared_wavefronts; /* more wavefronts than needed: bank conflicts */
  double constant_requests, constant_replays; /* loads; addresses beyond the first of a warp */
  double texture_requests, texels;   /* instructions of warps on textures and surfaces */
  double atomics, barriers;
  int regs, blocks_sm;               /* blocks_sm: occupancy */
  double waves;
  double sec;                        /* modelled time of the whole launch */
  const char *bound;                 /* "dram", "l2", "fma", "shared", "latency", ... */
} rt_emu_stats;
/* clang-format on */

#endif
