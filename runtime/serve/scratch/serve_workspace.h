/* serve_workspace.h -- the scratch memory that a context keeps for kernels that need some: one
 * workspace per kernel and stream, zeroed once, since a launch leaves the counters in it as it
 * found them. Two threads that launch the same kernel on the same stream take turns, so that the
 * stages of their launches are not mixed. */
#ifndef SERVE_WORKSPACE_H
#define SERVE_WORKSPACE_H

#include "serve_context.h"

typedef struct serve_workspace_key {
  tuned_kernel *kernel;
  tuned_stream stream;
  pthread_t thread; /* of the per-thread default stream; else 0 */
} serve_workspace_key;

typedef struct serve_workspace {
  serve_workspace_key key;
  pthread_mutex_t turn; /* held around a launch */
  _Atomic(rt_ptr) at;   /* written in turn; 0: released by a trim */
} serve_workspace;

/* serve_workspace_get -- takes the context's lock for the first launch on a stream only
 *   err  ERR_USAGE  the first launch is being captured into a graph */
int serve_workspace_get(tuned_kernel *k, tuned_stream stream, serve_workspace **w, err *e);
/* serve_workspace_renew -- memory for a workspace that a trim released; in turn
 *   err  ERR_USAGE  as serve_workspace_get */
int serve_workspace_renew(serve_workspace *w, err *e);
/* serve_workspaces_trim -- release the memory of a stream's, or of all (TUNED_EVERY_STREAM)
 *   err  ERR_USAGE  the stream is being captured */
int serve_workspaces_trim(serve *s, tuned_stream stream, err *e);
/* serve_workspace_exists -- with memory, of this kernel, for this stream */
bool serve_workspace_exists(tuned_kernel *k, tuned_stream stream);
void serve_workspaces_free(serve *s);

#endif
