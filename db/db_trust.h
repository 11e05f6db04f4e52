/* db_trust.h -- may the code in a database run?
 *
 * Everybody who can write to it can run code on the GPU with the caller's data; so can everybody who
 * can put a log beside it, which SQLite reads as part of it. */
#ifndef DB_TRUST_H
#define DB_TRUST_H

#include <stdbool.h>

#include "err.h"

/* db_trusts_all -- is TUNED_TRUST set? Then files that others can write to are used as they are */
bool db_trusts_all(void);

/* db_check_trust -- can only this user and root write to the file and to those beside it? An absent
 * file passes.
 *   in   trusted  only check that it is a file
 *   err  ERR_DB  says who can write to it, and what to do */
int db_check_trust(const char *path, bool trusted, err *e);

#endif
