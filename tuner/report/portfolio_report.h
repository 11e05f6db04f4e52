/* portfolio_report.h -- a portfolio for people and for machines. */
#ifndef TUNE_PORTFOLIO_REPORT_H
#define TUNE_PORTFOLIO_REPORT_H

#include "portfolio.h"

/* portfolio_report -- the configurations, and the tree as nested questions; several lines */
void portfolio_report(gen_template *t, const portfolio *c, str *out);
/* portfolio_json -- one object, one line; `family` and `device` as named */
void portfolio_json(const gen_template *t, const portfolio *c, const char *device, str *out);

#endif
