/* serve_own_memory.h -- which kernel of a problem launches in scratch memory of the caller's own.
 *
 * A kernel expects such memory zeroed or as its own last launch left it, and a graph that captured a
 * launch replays it there. So a kernel that was compiled in the background takes over in each memory
 * by itself: at the first launch there that it is large enough for and that is not captured, after
 * the context has zeroed it. Memory in which the first kernel was captured meanwhile keeps that one. */
#ifndef SERVE_OWN_MEMORY_H
#define SERVE_OWN_MEMORY_H

#include "serve_kernel.h"

/* serve_own_memory_nbytes -- what memory must have for this kernel, and for the better one */
size_t serve_own_memory_nbytes(const tuned_kernel *k);
/* serve_own_memory_kernel -- the one to launch now: k, or what replaces it. Takes the context's lock
 * once for each memory.
 *   in   nbytes  of the memory at `at`; it is large enough for k
 *   err  the memory cannot be zeroed */
int serve_own_memory_kernel(tuned_kernel *k, tuned_stream stream, void *at, size_t nbytes,
                            tuned_kernel **now, err *e);

#endif
