/* recorded.h -- a space that somebody measured completely, so that a search can be replayed on it.
 *
 * Read from a CSV file (one column a parameter, then `status` and `time_ms`; what follows is
 * ignored), a cache file of Kernel Tuner (JSON, closed or not) or a T4 file; each may be compressed
 * with gzip. The values of a parameter are sorted by size (names: alphabetically) and the points by
 * their values, so that the order of the file's rows means nothing. A strategy sees it through the
 * same view as a template's space: points that are not in the recording are not valid.
 */
#ifndef TUNE_RECORDED_H
#define TUNE_RECORDED_H

#include "arena.h"
#include "strategy.h"

typedef struct recorded {
  arena memory;
  const char *path;
  const char *params[GEN_MAX_PARAMS];
  const char *const *values[GEN_MAX_PARAMS]; /* as they are written in the file, in order */
  search_space view;                         /* view.self is this struct */
  uint64_t weights[GEN_MAX_PARAMS];          /* points below one value of each parameter */
  uint64_t *ranks;                           /* of each point in the Cartesian product; ascending */
  double *sec;                               /* of each point; INFINITY: it failed */
  double best;
  size_t n_failed;
} recorded;

/* recorded_open --
 *   err  ERR_NOTFOUND, ERR_IO  the file
 *        ERR_USAGE  what is wrong with its contents; place is file:line
 *        ERR_LIMIT  larger than we take: 1 GiB of text, 2^26 points, 65535 values, 48 parameters */
int recorded_open(const char *path, recorded **out, err *e);
/* recorded_parse -- the same from text that was read already; `path` is for messages */
int recorded_parse(const char *path, const char *text, size_t n, recorded **out, err *e);
void recorded_close(recorded *r);

#endif
