/* space_report.h -- the size of a space and what rejects points, as text and as JSON. */
#ifndef TUNE_SPACE_REPORT_H
#define TUNE_SPACE_REPORT_H

#include "gen.h"

void space_report(const char *title, const gen_template *t, const gen_tally *tally, double sec,
                  str *out);
/* space_report_json -- members of an object, without its braces */
void space_report_json(const gen_template *t, const gen_tally *tally, double sec, str *out);

#endif
