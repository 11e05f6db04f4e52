/* cached_compiler.h -- a compiler that keeps what it makes for all programs of this user. */
#ifndef RT_CACHED_COMPILER_H
#define RT_CACHED_COMPILER_H

#include "compile.h"

/* cached_compiler_open -- rt_compiler_open, with the image cache (image_cache.h) behind it: an image
 * that any process has compiled is read from there. Of several processes that want the same image at
 * once, one compiles it while the others wait for it, five seconds at most. A cache that can't be used is left out: then
 * every image is compiled. The file is opened when the first image is wanted.
 *   err  as rt_compiler_open */
int cached_compiler_open(rt_compiler **c, err *e);

#endif
