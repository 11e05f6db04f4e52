/* run_captured.h -- the arguments of one launch as a program gave them, in a file.
 *
 *   tuned data 1
 *   problem histogram n=1000 bins=16 dtype=i32 ...
 *   arg x i32 1000 4c1f...             a buffer that is read: type, elements, digest
 *   scalar alpha f32 000000003f800000  a value that no expression of the template fixes: its bits
 *   header 99aa...                     the digest of the lines before
 *
 *   the buffers' bytes, one after the other, to the end of the file
 *
 * A file is believed only as far as it fits the problem: types and counts are the template's, the
 * length is what these make, every digest is right. What the values do to a kernel that takes them
 * for indices nobody can tell, so a file that others can write to is refused. */
#ifndef RT_RUN_CAPTURED_H
#define RT_RUN_CAPTURED_H

#include "gen.h"

static const uint64_t RT_CAPTURED_MOST = (uint64_t)1 << 30; /* bytes of all buffers together */

typedef struct rt_captured {
  const gen_data *data;        /* what the template makes of the scalars */
  const unsigned char **bytes; /* per argument: its contents; NULL: not kept */
  arena memory;
  void *map;
  size_t nbytes;
} rt_captured;

/* rt_captured_keeps -- a scalar that the caller gives, or a buffer whose contents are read? */
bool rt_captured_keeps(const gen_template *t, const gen_data *data, size_t arg);
/* rt_captured_nbytes -- of the buffers that are kept. err ERR_LIMIT  more than is written */
int rt_captured_nbytes(const gen_template *t, const gen_data *data, uint64_t *nbytes, err *e);

/* rt_captured_write -- mode 0600, in place of what was there.
 *   in  problem  canonical text
 *       bytes    per argument: what a buffer that is kept holds */
int rt_captured_write(const char *path, const gen_template *t, const char *problem,
                      const gen_data *data, unsigned char *const *bytes, err *e);
/* rt_captured_open -- map the file and check all of it; it must stay as it is until it is closed.
 *   out *x  rt_captured_close it, whether or not this failed
 *   err ERR_USAGE  it is not of this problem, damaged, or not to be trusted
 *       ERR_NOTFOUND  no such file */
int rt_captured_open(const char *path, const gen_template *t, gen_instance *g, const char *problem,
                     bool trust, rt_captured *x, err *e);
void rt_captured_close(rt_captured *x);

#endif
