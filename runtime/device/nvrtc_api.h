/* nvrtc_api.h -- NVRTC's functions, resolved at run time. Private to compile.c and nvrtc_api.c.
 *
 * The list contains all functions of NVRTC that are used. Types come from the real header; nothing
 * is linked, so a program that only serves stored kernels starts without a toolkit. */
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
  /* nvrtcSetFlowCallback; NULL in NVRTC 12.0 */
  nvrtcResult (*set_flow_callback)(nvrtcProgram, int (*callback)(void *, void *), void *payload);
  void *library;
  char path[PATH_MAX];    /* of the library, links resolved */
  char include[PATH_MAX]; /* the toolkit's headers, for templates that use cuda_fp16.h or CUB; or ""
                           */
} nvrtc_api;

/* nvrtc_api_open -- opens the library as rt_compiler_open describes. It stays loaded until the
 * program ends: it keeps state per thread, and opening it again is then free.
 *   err  ERR_DEVICE  not found; says how to get it, or the loader's message if a file exists */
int nvrtc_api_open(nvrtc_api *api, err *e);

#endif
