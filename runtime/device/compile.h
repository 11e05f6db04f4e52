/* compile.h -- NVRTC, opened at run time: CUDA C++ text to an image.
 *
 * Needs no GPU. One compiler object may be used by one thread at a time; processes and threads
 * scale alike only with NVRTC's own cache off, so it is off: finished images live in our database.
 */
#ifndef RT_COMPILE_H
#define RT_COMPILE_H

#include "arena.h"
#include "err.h"
#include "hash.h"
#include "kernel_info.h"
#include "str.h"

typedef struct rt_compiler rt_compiler;

/* rt_compiler_open -- libnvrtc.so.13, .12, then $CUDA_HOME/lib64 and /usr/local/cuda/lib64, then
 * what pip installed into build/cuda. $AUTOTUNE_NVRTC, a path, stands before them all. err
 * ERR_DEVICE  not found; says how to get it */
int rt_compiler_open(rt_compiler **c, err *e);
void rt_compiler_close(rt_compiler *c);
/* rt_compiler_version -- 13000 for 13.0 */
int rt_compiler_version(const rt_compiler *c);
/* rt_compiler_path -- the library that was opened */
const char *rt_compiler_path(const rt_compiler *c);

typedef struct rt_image {
  char key[HASH_TEXT]; /* of source body, options, arch and NVRTC version */
  str cubin;           /* empty when arch is compute_* */
  str ptx;
  str log;
  const rt_kernel_info *kernels; /* in the arena given to rt_compile; none when arch is compute_* */
  size_t n_kernels;
  double sec; /* time NVRTC took */
} rt_image;

typedef struct rt_source {
  const char *text;
  size_t body;      /* the key is taken from here on: comments in front do not matter */
  const char *arch; /* "sm_90": cubin and ptx; "compute_90": ptx only */
  int lineinfo;     /* keep #line positions in the PTX, for the emulator and profilers */
  int registers;    /* of "compute_90": let ptxas allocate them for sm_90 all the same, fill
                     * image->kernels, and note them in the PTX's last lines, where the emulated
                     * device finds them; several times slower */
} rt_source;

/* rt_image_key -- what rt_compile would put into image->key */
void rt_image_key(const rt_compiler *c, const rt_source *s, char key[HASH_TEXT]);
/* rt_compile -- fills *image (rt_image_init first; rt_image_clear after).
 *   err  ERR_COMPILE  the message is NVRTC's first error, place the line it names; all of it is in
 *                     image->log
 *        ERR_USAGE    this NVRTC does not know s->arch; lists what it knows */
int rt_compile(rt_compiler *c, const rt_source *s, arena *a, rt_image *image, err *e);
void rt_image_init(rt_image *image);
void rt_image_clear(rt_image *image);

#endif
