/* run_captured.h -- a file with the arguments of one launch that a program made.
 *
 *   tuned data 1
 *   problem histogram n=1000 bins=16 dtype=i32 ...
 *   arg x i32 1000 4c1f...             a buffer that is read: type, elements, digest
 *   scalar alpha f32 000000003f800000  a value that no expression of the template fixes: its bits
 *   header 99aa...                     the digest of the lines before
 *
 *   the buffers' bytes, one after the other, to the end of the file
 *
 * A file is accepted only if it fits the problem: types and counts are the template's, the length
 * follows from them, and every digest is right. A kernel may use the values as indices, so a file
 * that other users can write to is refused. */
#ifndef RT_RUN_CAPTURED_H
#define RT_RUN_CAPTURED_H

#include "gen.h"

static const uint64_t RT_CAPTURED_MOST = (uint64_t)1 << 30; /* bytes of all buffers together */

typedef struct rt_captured {
  const gen_data *data;        /* the template's data for these scalars */
  const unsigned char **bytes; /* per argument: its contents; NULL: not kept */
  const uint64_t *shifts; /* per argument: bytes from an aligned address to its buffer; NULL: 0 */
  arena memory;
  void *map; /* the file; NULL: data of the template's magnitude, made in memory */
  size_t nbytes;
} rt_captured;

/* rt_captured_keeps -- is it a scalar that the caller gives, or a buffer that is read? */
bool rt_captured_keeps(const gen_template *t, const gen_data *data, size_t arg);
/* rt_captured_nbytes -- of the buffers that are kept.
 *   err  ERR_LIMIT  more than RT_CAPTURED_MOST */
int rt_captured_nbytes(const gen_template *t, const gen_data *data, uint64_t *nbytes, err *e);

/* rt_captured_write -- with mode 0600; replaces an existing file.
 *   in  problem  canonical text
 *       bytes    per argument: the contents of a buffer that is kept */
int rt_captured_write(const char *path, const gen_template *t, const char *problem,
                      const gen_data *data, unsigned char *const *bytes, err *e);
/* rt_captured_open -- map the file and check all of it; it must not change until it is closed.
 *   out *x  call rt_captured_close, even if this fails
 *   err ERR_USAGE  it is of another problem, damaged, or may be written by others
 *       ERR_NOTFOUND  no such file */
int rt_captured_open(const char *path, const gen_template *t, gen_instance *g, const char *problem,
                     bool trust, rt_captured *x, err *e);
void rt_captured_close(rt_captured *x);

#endif
