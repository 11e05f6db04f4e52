/* tune_report.h -- the report of one tuned problem. */
#ifndef REPORT_TUNE_REPORT_H
#define REPORT_TUNE_REPORT_H

#include "db.h"
#include "gen.h"
#include "tune.h"

typedef struct tune_report { /* all borrowed */
  gen_template *t;
  const tune_state *state; /* at the end of the search */
  const db_result *rows;   /* all stored trials of the problem, the fastest first */
  size_t n;
  const char *data; /* file that the problem was tuned on; NULL: the template's own data */
  int64_t top;      /* configurations to show */
  bool quiet;       /* without how the time was spent */
} tune_report;

/* tune_report_text -- the fastest configurations, the failures by kind, how the time was spent */
void tune_report_text(const tune_report *r, str *out);
/* tune_report_json -- one object, one line */
void tune_report_json(const tune_report *r, str *out);

/* tune_report_best, _default -- seconds, measured or modelled; 0: none worked */
double tune_report_best(const tune_report *r);
double tune_report_default(const tune_report *r);

#endif
