/* phases.h -- where the seconds of a tuning run went, for people and for machines.
 *
 * One process generates, searches, stores and waits; `jobs` others compile; one loads, checks and
 * measures: the three groups run at the same time. */
#ifndef TUNE_PHASES_H
#define TUNE_PHASES_H

#include "str.h"

typedef struct tune_phases {
  double setup; /* the problem's buffers and reference results, again after that process died */
  double generate, search, store, wait;
  double compile; /* summed over the processes */
  double load, check, measure;
  double finals;
  size_t jobs;
} tune_phases;

/* phases_text -- three lines: the compilers, the measuring process, the searching one
 *   in  sec  of the run */
void phases_text(str *s, const tune_phases *p, double sec);
/* phases_json -- one object of seconds */
void phases_json(str *s, const tune_phases *p);

#endif
