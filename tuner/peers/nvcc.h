/* nvcc.h -- a shared library from CUDA C++ text, by the installed toolkit's nvcc.
 *
 * For peers only, which exist as C++ headers of the toolkit; kernels of ours go through NVRTC. What
 * was built stays in the user's cache folder under a hash of the text, the flags and the compiler's
 * version, so the same thing is built once.
 */
#ifndef TUNE_NVCC_H
#define TUNE_NVCC_H

#include "gen.h"

typedef struct nvcc_source {
  const gen_file *files; /* the first is compiled; it may include the others */
  size_t n_files;
  const char *arch;  /* "sm_90" */
  const char *flags; /* more of them, a space between two */
} nvcc_source;

/* nvcc_build -- n libraries, as many at a time as there are cores.
 *   out  paths[i]  appended
 *   err  ERR_NOTFOUND  no nvcc on this machine; says where it was looked for
 *        ERR_COMPILE   nvcc's first error, and where its whole output is
 *        ERR_IO        the cache folder */
int nvcc_build(const nvcc_source *sources, size_t n, str *paths, err *e);

#endif
