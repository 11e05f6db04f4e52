/* progress.h -- the progress of a search.
 *
 * On a terminal: a bar with the time left in one line, rewritten. In a pipe: a line for each new best, and one every ten
 * seconds. With --json: an object for each trial on standard output. With --quiet: nothing. */
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
/* progress_end -- clear the terminal's line */
void progress_end(progress *p);

#endif
