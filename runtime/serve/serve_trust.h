/* serve_trust.h -- may this database be used? Who can write it can run code on the GPU with the
 * caller's data; so can whoever puts a log of changes beside it, which SQLite takes for its own. */
#ifndef SERVE_TRUST_H
#define SERVE_TRUST_H

#include <stdbool.h>

#include "err.h"

/* serve_trust -- a file that only its owner, the caller or root, can write, or none at all
 *   in   trusted  any file will do
 *   err  ERR_DB   says why not */
int serve_trust(const char *path, bool trusted, err *e);

#endif
