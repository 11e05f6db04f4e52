/* images.h -- images that are wanted, compiled ahead by worker processes and kept in memory.
 *
 * For who measures many known configurations without a database to write: what is wanted early is
 * there when its turn comes, and what several want is compiled once. Workers are handed the next
 * source whenever one of these functions is called.
 */
#ifndef TUNE_IMAGES_H
#define TUNE_IMAGES_H

#include "compile.h"
#include "device.h"

typedef struct images images;

/* images_open -- start the processes; they need no device. `c` must outlive them.
 *   in  jobs  0: one a core
 *   err ERR_IO */
int images_open(rt_compiler *c, const rt_info *info, int jobs, images **out, err *e);
/* images_open_for -- likewise for an architecture: sm_90a gives machine code, compute_90 PTX */
int images_open_for(rt_compiler *c, const char *arch, int jobs, images **out, err *e);
void images_close(images *p);
/* images_want -- the image of this source, unless it is wanted already; returns at once.
 *   in  key  rt_image_key of it */
int images_want(images *p, const rt_source *s, const char *key, err *e);
/* images_get -- one that is wanted, waited for.
 *   out  *bytes  as the device takes it; p's
 *   err  ERR_COMPILE */
int images_get(images *p, const char *key, const str **bytes, err *e);

#endif
