/* emu_exec_cluster.h -- the barrier of a cluster of blocks. */
#ifndef EMU_EXEC_CLUSTER_H
#define EMU_EXEC_CLUSTER_H

#include "emu_state.h"

/* emu_cluster_release -- wake the fragments at the cluster's barrier if it is complete */
bool emu_cluster_release(emu_block *first);

#endif
