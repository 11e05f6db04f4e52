/* recorded.h -- a completely measured space, on which searches are replayed.
 *
 * Read from a CSV file (one column for each parameter, then `status` and `time_ms`; later columns
 * are ignored), a cache file of Kernel Tuner (JSON, closed or not) or a T4 file; each may be
 * compressed with gzip. The values of a parameter are sorted by size (names alphabetically), and
 * the points by their values, so the order of rows in the file has no effect. A strategy sees the
 * same view as of a template's space: points that were not recorded are invalid. */
#ifndef TUNE_RECORDED_H
#define TUNE_RECORDED_H

#include "arena.h"
#include "strategy.h"

typedef struct recorded {
  arena memory;
  const char *path;
  const char *params[GEN_MAX_PARAMS];
  const char *const *values[GEN_MAX_PARAMS]; /* as written in the file, sorted */
  search_space view;                         /* view.self is this struct */
  uint64_t weights[GEN_MAX_PARAMS];          /* distance in rank of neighbouring values of each
                                              * parameter */
  uint64_t *ranks;                           /* of each point in the Cartesian product; ascending */
  double *sec;                               /* of each point; INFINITY: it failed */
  double best;
  size_t n_failed;
} recorded;

/* recorded_open --
 *   err  ERR_NOTFOUND, ERR_IO  the file
 *        ERR_USAGE  its contents are wrong; place is file:line
 *        ERR_LIMIT  over 1 GiB of text, 2^26 points, 65535 values or 48 parameters */
int recorded_open(const char *path, recorded **out, err *e);
/* recorded_parse -- the same from text in memory; `path` is for messages */
int recorded_parse(const char *path, const char *text, size_t n, recorded **out, err *e);
void recorded_close(recorded *r);

#endif
