/* serve_trust.h -- may this database be used? Everybody who can write to it can run code on the GPU
 * with the caller's data; so can everybody who can put a log beside it, which SQLite reads as part
 * of it. */
#ifndef SERVE_TRUST_H
#define SERVE_TRUST_H

#include <stdbool.h>

#include "err.h"

/* serve_trust -- yes: there is no file, or only the caller and root can write to it and its log
 *   in   trusted  any regular file is accepted
 *   err  ERR_DB   why not */
int serve_trust(const char *path, bool trusted, err *e);

#endif
