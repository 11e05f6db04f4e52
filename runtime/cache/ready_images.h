/* ready_images.h -- images that need no compiler: those that programs of this user have compiled, and
 * those that come with the library. */
#ifndef RT_READY_IMAGES_H
#define RT_READY_IMAGES_H

#include "compile.h"
#include "device.h"

typedef struct ready_images ready_images;

/* ready_images_open -- used by one thread at a time, and not across a fork. NULL: out of memory */
ready_images *ready_images_open(void);
void ready_images_close(ready_images *r);

typedef struct ready_image { /* in the arena */
  const void *bytes;
  size_t nbytes;
  int64_t spill; /* bytes a thread; of all its kernels the most */
} ready_image;

/* ready_images_find -- of this source, in the format of the device; false: there is none
 *   in  source  its text is not read
 *       hash    of its text, without leading comments */
bool ready_images_find(ready_images *r, const rt_source *source, const char *hash,
                       const rt_info *device, arena *a, ready_image *out);
/* ready_images_cache -- the cache that it reads; NULL: none */
struct image_cache *ready_images_cache(ready_images *r);

#endif
