/* base_set.h -- the images that come with the library: where no compiler is at hand, or none is to be
 * waited for.
 *
 * One file (base_images.h), made by `make base`. It is found where TUNED_BASE says; else as tuned.base
 * beside the library or program that contains this code, in ../lib from there, or where the library
 * was installed. */
#ifndef RT_BASE_SET_H
#define RT_BASE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "device.h"
#include "err.h"

typedef struct base_set base_set;

/* base_set_open -- NULL: there is none that can be used; `why`, which may be NULL, says the reason */
base_set *base_set_open(err *why);
void base_set_close(base_set *b);
/* base_set_path -- the file */
const char *base_set_path(const base_set *b);

/* base_set_get -- an image of this source that the device runs. The best is that of its very
 * architecture; then machine code of its major version without "a" and not above its capability; then
 * PTX not above it. An emulated device takes PTX only. May be called by several threads at once.
 *   in   source  the hash of the text, without leading comments (gen_source_make)
 *   out  *image  in the arena, *nbytes long; a NUL follows
 *        *spill  bytes a thread
 *   cost about 0.1 ms for 50 KB */
bool base_set_get(base_set *b, const char *source, const rt_info *device, arena *a,
                  const void **image, size_t *nbytes, int64_t *spill);

#endif
