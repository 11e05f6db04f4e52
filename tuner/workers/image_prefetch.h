/* image_prefetch.h -- images compiled ahead of their use by a worker pool, and kept in memory.
 *
 * For programs that measure or write many known configurations without a database: request images
 * early, wait for each when it is needed. Equal sources are compiled once. The functions hand
 * sources to idle workers whenever they are called; no thread does so in between.
 */
#ifndef TUNE_IMAGE_PREFETCH_H
#define TUNE_IMAGE_PREFETCH_H

#include "compile.h"

typedef struct image_prefetch image_prefetch;

/* image_prefetch_open -- start the processes; they need no device. `c` must outlive them.
 *   in  arch  sm_90a gives machine code, compute_90 PTX
 *       jobs  0: one per core
 *   err ERR_IO */
int image_prefetch_open(rt_compiler *c, const char *arch, int jobs, image_prefetch **out, err *e);
void image_prefetch_close(image_prefetch *p);
/* image_prefetch_request -- compile this source, unless it was requested before; returns at once.
 *   in  key  its rt_image_key */
int image_prefetch_request(image_prefetch *p, const rt_source *s, const char *key, err *e);
/* image_prefetch_wait -- for a requested image.
 *   out  *bytes  as the device takes it; borrowed until image_prefetch_close
 *   err  ERR_COMPILE;  ERR_NOTFOUND  it was not requested */
int image_prefetch_wait(image_prefetch *p, const char *key, const str **bytes, err *e);

#endif
