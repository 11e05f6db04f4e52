/* nvrtc_api.h -- NVRTC's functions, found at run time. Private to compile.c and nvrtc_api.c.
 *
 * The list below is the whole of NVRTC that we call. Types come from the real header; nothing is
 * linked, so a program that only serves stored kernels starts where no toolkit is installed.
 */
#ifndef RT_NVRTC_API_H
#define RT_NVRTC_API_H

#include <limits.h>
#include <nvrtc.h>

#include "err.h"
#include "str.h"

#define NVRTC_LIST(X)                                                                              \
  X(nvrtcVersion)                                                                                  \
  X(nvrtcGetErrorString)                                                                           \
  X(nvrtcGetNumSupportedArchs)                                                                     \
  X(nvrtcGetSupportedArchs)                                                                        \
  X(nvrtcCreateProgram)                                                                            \
  X(nvrtcDestroyProgram)                                                                           \
  X(nvrtcCompileProgram)                                                                           \
  X(nvrtcGetProgramLogSize)                                                                        \
  X(nvrtcGetProgramLog)                                                                            \
  X(nvrtcGetPTXSize)                                                                               \
  X(nvrtcGetPTX)                                                                                   \
  X(nvrtcGetCUBINSize)                                                                             \
  X(nvrtcGetCUBIN)

typedef struct nvrtc_api {
#define NVRTC_MEMBER(f) __typeof__(f) *f;
  NVRTC_LIST(NVRTC_MEMBER)
#undef NVRTC_MEMBER
  void *library;
  char path[PATH_MAX];    /* of the library, links resolved */
  char include[PATH_MAX]; /* the toolkit's headers, for templates that use cuda_fp16.h or CUB; or ""
                           */
} nvrtc_api;

/* nvrtc_api_open -- $AUTOTUNE_NVRTC when set, else the first that loads of the places compile.h
 * names.
 * The library stays loaded until the program ends: it keeps state per thread, and opening it again
 * is then free.
 *   err  ERR_DEVICE  none does; says how to get it, and what the loader said of one that exists */
int nvrtc_api_open(nvrtc_api *api, err *e);

#endif
