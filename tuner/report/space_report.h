/* space_report.h -- a space for people and for machines: how large, and what rejected the rest. */
#ifndef TUNE_SPACE_REPORT_H
#define TUNE_SPACE_REPORT_H

#include "gen.h"

void space_report(const char *title, const gen_template *t, const gen_tally *tally, double sec,
                  str *out);
/* space_report_json -- members of an object, without its braces */
void space_report_json(const gen_template *t, const gen_tally *tally, double sec, str *out);

#endif
