/* nvcc.h -- compile CUDA C++ text to a shared library with the installed toolkit's nvcc.
 *
 * Only peers that exist as C++ headers of the toolkit need this; our kernels are compiled by NVRTC.
 * Libraries are kept in the user's cache folder under a hash of text, flags and compiler version,
 * so each is built once. */
#ifndef TUNE_NVCC_H
#define TUNE_NVCC_H

#include "gen.h"

typedef struct nvcc_source {
  const gen_file *files; /* the first is compiled; it may include the others */
  size_t n_files;
  const char *arch;  /* "sm_90" */
  const char *flags; /* more of them, a space between two */
  /* a folder of headers that come before the toolkit's, and what says which these are; NULL: none */
  const char *headers, *headers_version;
} nvcc_source;

/* nvcc_build -- build n libraries, as many at a time as there are cores.
 *   out  paths[i]  appended
 *   err  ERR_NOTFOUND  no nvcc on this machine; lists the places searched
 *        ERR_COMPILE   nvcc's first error, and the path of its output
 *        ERR_IO        the cache folder */
int nvcc_build(const nvcc_source *sources, size_t n, str *paths, err *e);

#endif
