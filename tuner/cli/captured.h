/* captured.h -- between tune-captured and the tuning of a family: which problems have data that a
 * program gave. */
#ifndef TUNE_CAPTURED_H
#define TUNE_CAPTURED_H

#include "cli.h"

typedef struct captured_data {
  const char *fields; /* of the problem, as in the list */
  const char *path;   /* its data */
} captured_data;

/* tune_captured -- as cmd_tune, with data for some of the problems; one whose data do not fit is
 * left out, which is told and makes the whole fail. */
int tune_captured(const cli *c, const captured_data *data, size_t n, err *e);

#endif
