/* propose.h -- what to try next, and whether to try any more. */
#ifndef TUNE_PROPOSE_H
#define TUNE_PROPOSE_H

#include "session.h"

/* propose_out_of_time -- is the budget's time over? Not before the first initial configuration has
 * a result */
bool propose_out_of_time(const tune_session *s);
/* propose_wanted -- is there budget, a point, and need for another candidate? */
bool propose_wanted(const tune_session *s);
/* propose_draft_wanted -- and need for another draft? */
bool propose_draft_wanted(const tune_session *s);
/* propose_draft -- choose a point and write its source. It joins the drafts, or the pipeline's
 * ready queue when its image is stored; neither when no point is left. */
int propose_draft(tune_session *s, err *e);
/* propose_first -- start to compile initial configurations, one per compile worker, before the
 * space is enumerated */
int propose_first(tune_session *s, err *e);
/* propose_points -- the space is there: number the initial configurations
 *   err  ERR_TEMPLATE  a valid configuration is not in the space */
int propose_points(tune_session *s, err *e);

#endif
