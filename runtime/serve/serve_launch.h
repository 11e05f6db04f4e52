/* serve_launch.h -- launching a found kernel. Kernels without a workspace take no lock and share
 * nothing that is written. */
#ifndef SERVE_LAUNCH_H
#define SERVE_LAUNCH_H

#include "err.h"
#include "tuned.h"

/* serve_check_launch -- may this kernel be launched from here, and is no argument missing? Typed
 * calls know both. */
int serve_check_launch(const tuned_kernel *k, const void *const *args, err *e);
/* serve_launch -- check the addresses and launch the kernel, or what takes its place */
int serve_launch(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e);
/* serve_launch_plain -- this kernel and no other, of checked arguments */
int serve_launch_plain(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e);
/* serve_launch_with -- this kernel in the caller's scratch memory, where the order of launches is
 * the caller's business */
int serve_launch_with(tuned_kernel *k, tuned_stream stream, const void *const *args,
                      void *workspace, size_t nbytes, err *e);

#endif
