/* emu_children.h -- grids that kernels launch: the device runtime's calls record them here, and the
 * device runs them when the launching grid has ended. */
#ifndef EMU_CHILDREN_H
#define EMU_CHILDREN_H

#include "emu_state.h"

/* src: CUDA Programming Guide, CUDA Dynamic Parallelism: the default pool of pending launches, the
 * nesting of grids */
enum { EMU_CHILDREN_PENDING = 2048, EMU_CHILDREN_DEPTH = 24 };
/* only a buffer of parameters; launched; launched to run when all other children have ended */
enum { CHILD_BUFFER, CHILD_LAUNCHED, CHILD_TAIL };

typedef struct emu_child {
  const emu_func *func;
  uint32_t grid[3], block[3], smem;
  uint64_t params; /* its parameters, in global memory */
  uint64_t parent; /* the block that launches it */
  int state, order, depth;
  char place[160]; /* of the launch */
} emu_child;

typedef struct emu_children {
  emu_child *p;
  size_t capacity;
  int n, pending;
} emu_children;

#endif
