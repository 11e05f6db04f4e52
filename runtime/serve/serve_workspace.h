/* serve_workspace.h -- the scratch memory that the context keeps for kernels that need some: one for
 * a kernel and a stream, zeroed once and kept, since a launch leaves the counters in it as it found
 * them. On a stream launches follow each other; two threads that launch the same kernel on the same
 * stream take turns, so that the stages of one launch are not split by another's. */
#ifndef SERVE_WORKSPACE_H
#define SERVE_WORKSPACE_H

#include "serve_context.h"

typedef struct serve_workspace {
  pthread_mutex_t turn; /* held around a launch */
  rt_ptr at;
} serve_workspace;

/* serve_workspace_get -- without a lock, but for the first launch on a stream
 *   err  ERR_USAGE  that one is being captured into a graph */
int serve_workspace_get(tuned_kernel *k, tuned_stream stream, serve_workspace **w, err *e);
void serve_workspaces_free(serve *s);

#endif
