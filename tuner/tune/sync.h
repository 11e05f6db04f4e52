/* sync.h -- other searches of the same problem in the same database: each learns from the results
 * of all. */
#ifndef TUNE_SYNC_H
#define TUNE_SYNC_H

#include "session.h"

int sync_start(tune_session *s, err *e);
/* sync_read -- a few times a second, if another process has written to the database: tell its
 * results to the search */
int sync_read(tune_session *s, err *e);

#endif
