/* fatbin.h -- images for several architectures in one file, of which the driver loads the one that
 * suits the device; made by NVIDIA's nvFatbin library (CUDA 12.4 and later), opened at run time. */
#ifndef RT_FATBIN_H
#define RT_FATBIN_H

#include "err.h"
#include "str.h"

typedef struct rt_fat_image {
  const char *arch; /* "sm_90": machine code; "compute_90": PTX, a text with a zero at its end */
  const void *bytes;
  size_t nbytes; /* without that zero */
} rt_fat_image;

/* rt_fatbin_make -- append it to *out.
 *   err  ERR_DEVICE   no nvFatbin; says how to get it
 *        ERR_COMPILE  nvFatbin refused an image; which, and in its words */
int rt_fatbin_make(const rt_fat_image *images, size_t n, str *out, err *e);

#endif
