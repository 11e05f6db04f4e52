/* fatbin.h -- a file with images for several architectures, from which the driver loads the one
 * that suits the device. Made by NVIDIA's nvFatbin library (CUDA 12.4 and later), opened at run
 * time. */
#ifndef RT_FATBIN_H
#define RT_FATBIN_H

#include "err.h"
#include "str.h"

typedef struct rt_fat_image {
  const char *arch; /* "sm_90": machine code; "compute_90": PTX, NUL-terminated */
  const void *bytes;
  size_t nbytes; /* without the NUL */
} rt_fat_image;

/* rt_fatbin_make -- append the file to *out.
 *   err  ERR_DEVICE   no nvFatbin; says how to get it
 *        ERR_COMPILE  nvFatbin refused an image; which one, and its reason */
int rt_fatbin_make(const rt_fat_image *images, size_t n, str *out, err *e);

/* rt_fatbin_here -- err ERR_DEVICE  no nvFatbin; says how to get it */
int rt_fatbin_here(err *e);

#endif
