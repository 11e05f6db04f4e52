/* compile.h -- NVRTC, opened at run time: CUDA C++ text to an image.
 *
 * It needs no GPU. A compiler object is used by one thread at a time. NVRTC's own cache is off:
 * with it, processes scale worse than threads, and finished images are kept by us (cached_compiler.h). */
#ifndef RT_COMPILE_H
#define RT_COMPILE_H

#include <stdatomic.h>

#include "arena.h"
#include "err.h"
#include "hash.h"
#include "kernel_info.h"
#include "str.h"

typedef struct rt_compiler rt_compiler;

/* rt_compiler_open -- opens the library $AUTOTUNE_NVRTC, if set; else libnvrtc.so.13 or .12, in
 * $CUDA_HOME/lib64, /usr/local/cuda/lib64 or build/cuda, where pip installs it
 *   err  ERR_DEVICE  not found; says how to get it */
int rt_compiler_open(rt_compiler **c, err *e);
void rt_compiler_close(rt_compiler *c);
/* rt_compiler_stop_on -- while *stopping, compilations end within some 50 ms (one of a large kernel
 * in 80) with ERR_INTERRUPTED; an NVRTC without nvrtcSetFlowCallback finishes the one it is at. It must outlive the
 * compiler. The end of the program stops them likewise, and waits for that: NVRTC crashes if it runs
 * while its own destructors do. */
void rt_compiler_stop_on(rt_compiler *c, const atomic_bool *stopping);
/* rt_compiler_version -- 13000 for 13.0 */
int rt_compiler_version(const rt_compiler *c);
/* rt_compiler_path -- the library that was opened */
const char *rt_compiler_path(const rt_compiler *c);

typedef struct rt_image {
  char key[HASH_TEXT];  /* hash of source body, options, architecture and NVRTC version */
  char form[HASH_TEXT]; /* the same without NVRTC's version */
  str cubin;            /* empty when arch is compute_* */
  str ptx;
  str log;
  const rt_kernel_info *kernels; /* in the arena given to rt_compile; none when arch is compute_* */
  size_t n_kernels;
  double sec; /* NVRTC's time; 0: a kept one */
} rt_image;

typedef struct rt_source {
  const char *text;
  size_t body;      /* where the hashed text begins: comments before it do not matter */
  const char *arch; /* "sm_90": cubin and ptx; "compute_90": ptx only */
  int lineinfo;     /* keep #line positions in the PTX, for the emulator and profilers */
  int registers; /* with "compute_90": run ptxas for sm_90 too, fill image->kernels, and append its report to the PTX for the emulated device (emu_ptxas_report.c); takes several times longer */
} rt_source;

/* rt_image_key -- the image->key that rt_compile would compute */
void rt_image_key(const rt_compiler *c, const rt_source *s, char key[HASH_TEXT]);
/* rt_image_form -- the image->form that rt_compile would set; needs no NVRTC
 *   in  s     its text is not read
 *       hash  of the text, from its body on */
void rt_image_form(const rt_source *s, const char *hash, char form[HASH_TEXT]);
/* rt_compile -- fills *image (rt_image_init first; rt_image_clear after).
 *   err  ERR_COMPILE  the message is NVRTC's first error, the place its line; image->log has all
 *        ERR_USAGE    this NVRTC does not support s->arch; lists what it supports
 *        ERR_INTERRUPTED  see rt_compiler_stop_on */
int rt_compile(rt_compiler *c, const rt_source *s, arena *a, rt_image *image, err *e);
/* Where images are kept between processes. */
typedef struct rt_image_store {
  /* find -- fills cubin, PTX and log of the image with this key. False: none is kept, and the caller
   * compiles it, then calls made */
  bool (*find)(void *self, rt_image *image);
  /* made -- what was compiled; NULL: it failed */
  void (*made)(void *self, const rt_image *image);
  void (*close)(void *self);
  void *self;
} rt_image_store;
/* rt_compiler_keep -- ask this store before compiling; rt_compiler_close closes it */
void rt_compiler_keep(rt_compiler *c, rt_image_store store);

/* rt_log_spill -- bytes of registers that a thread of the worst kernel spills, stores and loads, by
 * the log of an image */
int64_t rt_log_spill(const char *log);

void rt_image_init(rt_image *image);
void rt_image_clear(rt_image *image);
/* auto_image -- cleared at the end of its block */
#define auto_image __attribute__((cleanup(rt_image_clear))) rt_image

#endif
