/* progress.h -- what a user sees while a search runs.
 *
 * On a terminal one line, rewritten; in a pipe plain lines, one for each new best and one every ten
 * seconds; with --json one object per trial on standard output; with --quiet nothing.
 */
#ifndef TUNE_PROGRESS_H
#define TUNE_PROGRESS_H

#include "tune.h"

typedef enum progress_kind {
  PROGRESS_LINE,
  PROGRESS_PLAIN,
  PROGRESS_JSON,
  PROGRESS_NONE
} progress_kind;

typedef struct progress {
  progress_kind kind;
  double shown_at, shown_best; /* of the last line */
} progress;

void progress_init(progress *p, bool json, bool quiet);
/* progress_report -- a tune_options.report */
void progress_report(void *self, const tune_state *s, const db_result *trial);
/* progress_end -- leave the terminal's line clean */
void progress_end(progress *p);

#endif
