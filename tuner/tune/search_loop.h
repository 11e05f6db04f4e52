/* search_loop.h -- the search for one problem: keeps compilers and device busy until the budget is
 * spent. */
#ifndef TUNE_SEARCH_LOOP_H
#define TUNE_SEARCH_LOOP_H

#include "session.h"

/* search_loop_owner -- what the session's pipeline calls */
pipeline_owner search_loop_owner(tune_session *s);
/* search_loop -- everything in flight is finished, or dropped, when it returns */
int search_loop(tune_session *s, err *e);

#endif
