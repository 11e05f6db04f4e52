/* fake_driver.c -- a libcuda.so.1 for tests: device memory is malloc's, kernels do nothing, and any
 * call can be made to fail; a launch takes longer the more blocks it has. It refuses what the real
 * one refuses: another context, sizes beyond the limits, anything after a sticky error. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#include "fake_driver.h"

fake_driver fake_driver_state = {.smem = 49152};
#define F fake_driver_state

static _Thread_local CUcontext current;
static const CUcontext primary = (CUcontext)0x1000;

/* Should this call fail? Sticky results stay. */
static CUresult call(void) {
  if (F.dead) {
    return (CUresult)F.dead;
  }
  if (++F.calls != F.fail_at) {
    return CUDA_SUCCESS;
  }
  F.dead = F.result >= 700 ? F.result : 0;
  return (CUresult)F.result;
}

#define CALL()                                                                                     \
  do {                                                                                             \
    CUresult r = call();                                                                           \
    if (r) {                                                                                       \
      return r;                                                                                    \
    }                                                                                              \
  } while (0)

#define CALL_INSIDE()                                                                              \
  do {                                                                                             \
    CALL();                                                                                        \
    if (current != primary) {                                                                      \
      return CUDA_ERROR_INVALID_CONTEXT;                                                           \
    }                                                                                              \
  } while (0)

static void *made(size_t nbytes) {
  F.live++;
  return calloc(1, nbytes ? nbytes : 1);
}

static CUresult gone(void *p) {
  F.live--;
  free(p);
  return CUDA_SUCCESS;
}

/* As the real one: what a process has begun, its forked children cannot go on with. */
CUresult cuInit(unsigned flags) {
  static pid_t begun_by;
  (void)flags;
  begun_by = begun_by ? begun_by : getpid();
  return begun_by == getpid() ? call() : CUDA_ERROR_NOT_INITIALIZED;
}
CUresult cuDriverGetVersion(int *v) {
  *v = 13000;
  return call();
}

CUresult cuGetErrorName(CUresult r, const char **s) {
  *s = r == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult r, const char **s) {
  (void)r;
  *s = "words";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n) {
  *n = 1;
  return call();
}
CUresult cuDeviceGet(CUdevice *d, int i) {
  *d = i;
  return call();
}
CUresult cuDeviceGetName(char *s, int n, CUdevice d) {
  (void)d;
  snprintf(s, (size_t)n, "Fake");
  return call();
}
CUresult cuDeviceGetUuid(CUuuid *u, CUdevice d) {
  (void)d;
  memset(u, 0x1f, sizeof *u);
  return call();
}
CUresult cuDeviceTotalMem(size_t *n, CUdevice d) {
  (void)d;
  *n = (size_t)1 << 37;
  return call();
}

/* Those of a GPU of compute capability 9.0 where a template asks; 1024 is as good as any else. */
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
  static const struct {
    CUdevice_attribute attribute;
    int value;
  } list[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
              {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
              {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
              {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
              {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
              {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
              {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
              {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
              {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
              {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
              {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
              {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472}};
  (void)d;
  *v = 1024;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    *v = list[i].attribute == a ? list[i].value : *v;
  }
  return call();
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
  CALL();
  (void)d, F.live++;
  *c = primary;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice d) {
  (void)d, F.live--;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *c) {
  *c = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext c) {
  F.switches++;
  current = c;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *d) {
  *d = 0;
  return call();
}

CUresult cuMemAlloc(CUdeviceptr *p, size_t n) {
  CALL_INSIDE();
  if (n > (size_t)1 << 30) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *p = (CUdeviceptr)made(n);
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr p) {
  if (p % 16) { /* not from made */
    return CUDA_ERROR_INVALID_VALUE;
  }
  return current == primary ? gone((void *)p) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuMemGetInfo(size_t *left, size_t *all) {
  CALL_INSIDE();
  *left = *all = (size_t)1 << 30;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t n, CUstream s) {
  CALL_INSIDE();
  (void)s, memcpy((void *)to, from, n);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t n, CUstream s) {
  CALL_INSIDE();
  (void)s, memcpy(to, (void *)from, n);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  CALL_INSIDE();
  (void)s, memcpy((void *)to, (void *)from, n);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t n, CUstream s) {
  CALL_INSIDE();
  (void)s, memset((void *)to, byte, n);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *o, void **v) {
  CALL_INSIDE();
  (void)n, (void)o;
  if (memcmp(image, "\177ELF", 4) != 0) {
    snprintf(v[0], (size_t)v[1], "line 1: not PTX\nline 2");
    return CUDA_ERROR_INVALID_PTX;
  }
  *m = made(1);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule m) {
  return gone(m);
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  CALL_INSIDE();
  *f = (CUfunction)m;
  return strcmp(name, "nobody") ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
  CALL_INSIDE();
  (void)f;
  *v = a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? F.smem
       : a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK       ? 1024
                                                            : 32;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
  CALL_INSIDE();
  (void)f, (void)a, F.smem = v;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int t, size_t smem) {
  CALL_INSIDE();
  (void)f, (void)t, (void)smem, *n = 2;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned smem, CUstream s, void **args,
                        void **extra) {
  CALL_INSIDE();
  (void)f, (void)gz, (void)s, (void)args, (void)extra;
  F.clock += 1e-3 + 1e-6 * gx; /* ms: a microsecond, and a nanosecond for each block */
  return gy > 65535 || bx * by * bz > 1024 || (int)smem > F.smem ? CUDA_ERROR_INVALID_VALUE
                                                                 : CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
  CALL_INSIDE();
  (void)s, (void)mode;
  F.capturing = 1;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) {
  (void)s;
  *g = NULL;
  F.capturing = 0;
  CALL_INSIDE();
  *g = made(1);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *status) {
  (void)s;
  *status = F.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return current == primary ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuGraphInstantiate(CUgraphExec *x, CUgraph g, unsigned long long flags) {
  CALL_INSIDE();
  (void)g, (void)flags, *x = made(1);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph g) {
  return gone(g);
}
CUresult cuGraphExecDestroy(CUgraphExec x) {
  return gone(x);
}
CUresult cuGraphLaunch(CUgraphExec x, CUstream s) {
  CALL_INSIDE();
  (void)x, (void)s;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **args, void **extra) {
  for (unsigned i = 0; i < c->numAttrs; i++) {
    F.overlapping += c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                     c->attrs[i].value.programmaticStreamSerializationAllowed == 1;
  }
  return cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
                        c->blockDimZ, c->sharedMemBytes, c->hStream, args, extra);
}

CUresult cuStreamCreate(CUstream *s, unsigned flags) {
  CALL_INSIDE();
  (void)flags, *s = made(1);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream s) {
  return gone(s);
}
CUresult cuStreamSynchronize(CUstream s) {
  CALL_INSIDE();
  (void)s;
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *e, unsigned flags) {
  CALL_INSIDE();
  (void)flags, *e = made(sizeof F.clock);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent e) {
  return gone(e);
}
CUresult cuEventRecord(CUevent e, CUstream s) {
  CALL_INSIDE();
  (void)s, memcpy(e, &F.clock, sizeof F.clock);
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent e) {
  CALL_INSIDE();
  (void)e;
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *msec, CUevent a, CUevent b) {
  CALL_INSIDE();
  double from, to;
  memcpy(&from, a, sizeof from);
  memcpy(&to, b, sizeof to);
  *msec = (float)(to - from);
  return CUDA_SUCCESS;
}
