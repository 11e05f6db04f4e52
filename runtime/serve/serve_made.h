/* serve_made.h -- what a kernel has prepared for a plan, and its launches.
 *
 * Preparing takes the context's lock while it asks the template, and the device's turn, inside of it,
 * while it uses the device. */
#ifndef SERVE_MADE_H
#define SERVE_MADE_H

#include "prepared.h"
#include "serve_context.h"

typedef struct serve_made {
  tuned_kernel *k;
  rt_prepared *prepared; /* NULL: an empty problem */
  gen_instance *g;
  double sec;                /* of preparing */
  double uses;               /* gen_uses */
  struct serve_made *former; /* that this one has replaced: launches of it may be under way */
} serve_made;

/* serve_made_new -- waits for the stream.
 *   in   args  per argument of the template; those that the preparation reads
 *   err  ERR_USAGE  these inputs do not suit the configuration; ERR_NOMEM */
int serve_made_new(tuned_kernel *k, tuned_stream stream, const void *const *args, serve_made **out,
                   err *e);
/* serve_made_any -- or, after these two errors, of the template's default configuration */
int serve_made_any(tuned_kernel *k, tuned_stream stream, const void *const *args, serve_made **out,
                   err *e);
/* serve_made_again -- with other contents of the inputs; after an error it must not be launched */
int serve_made_again(serve_made *m, tuned_stream stream, const void *const *args, err *e);
/* serve_made_free -- with all former ones; under the lock if `locked` */
void serve_made_free(serve_made *m, bool locked);

/* serve_made_launch -- the arguments are complete and checked; takes no lock, but that of a workspace */
int serve_made_launch(serve_made *m, tuned_stream stream, const void *const *args, err *e);

#endif
