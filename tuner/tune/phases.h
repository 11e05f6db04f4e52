/* phases.h -- where the seconds of a tuning run went, for people and for machines. */
#ifndef TUNE_PHASES_H
#define TUNE_PHASES_H

#include "str.h"
#include "tune.h"

/* phases_text -- three lines: the compilers, the measuring process, the one that searches; `sec` is
 * the run's */
void phases_text(str *s, const tune_phases *p, double sec);
/* phases_json -- one object of seconds */
void phases_json(str *s, const tune_phases *p);
/* phases_add -- *sum += *p */
void phases_add(tune_phases *sum, const tune_phases *p);

#endif
