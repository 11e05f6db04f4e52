/* serve_base.h -- a problem's kernel from the base set. */
#ifndef SERVE_BASE_H
#define SERVE_BASE_H

#include "serve_make.h"

/* serve_base_load -- the first base configuration that is valid and whose image is at hand. The set
 * holds the images of problems that promise most (gen_field): they serve all others, and an image of
 * the problem's own promise is looked for only if its configuration is not valid with theirs.
 *   err  ERR_NOTFOUND  there is none, no message; the make can go on from serve_make_begin only */
int serve_base_load(serve_make *m);

#endif
