/* serve_open.h -- a context: its device, database and templates. */
#ifndef SERVE_OPEN_H
#define SERVE_OPEN_H

#include "serve_context.h"

/* serve_open -- as the options and the environment say; out *s: serve_close */
int serve_open(const tuned_options *options, serve **s, err *e);
/* serve_close -- closes its hooks first; frees its kernels and all memory it keeps */
void serve_close(serve *s);

#endif
