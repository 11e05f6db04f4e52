/* serve_launch.h -- launching a found kernel. Kernels without a workspace take no lock and share
 * nothing that is written. */
#ifndef SERVE_LAUNCH_H
#define SERVE_LAUNCH_H

#include "err.h"
#include "tuned.h"

/* serve_check_launch -- was the context opened in this process, and is no argument missing? Typed
 * calls need not ask. */
int serve_check_launch(const tuned_kernel *k, const void *const *args, err *e);
/* serve_launch -- check the addresses; launch the kernel, or the one that replaces it */
int serve_launch(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e);
/* serve_launch_plain -- this kernel and no other, of checked arguments */
int serve_launch_plain(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e);
/* serve_launch_with -- in the caller's scratch memory: this kernel, or one that replaces it there
 * (serve_own_memory.h); launches in the same memory are ordered by the caller */
int serve_launch_with(tuned_kernel *k, tuned_stream stream, const void *const *args,
                      void *workspace, size_t nbytes, err *e);

#endif
