/* family_report.h -- a family as its user sees it: fields, parameters, algorithms, sizes. */
#ifndef REPORT_FAMILY_REPORT_H
#define REPORT_FAMILY_REPORT_H

#include "gen.h"
#include "str.h"

void family_text(const gen_template *t, str *s);
/* family_json -- one object, a line */
void family_json(const gen_template *t, str *s);
/* family_fields -- one line: " m n k ta=n|t" */
void family_fields(const gen_template *t, str *s);

#endif
