/* driver_on_emu.c -- the few functions of the driver API that exported code calls, over the
 * emulated device: lets a test run an exported kernel where there is no GPU. One device, one
 * thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "device.h"
#include "driver_on_emu.h"
#include "emu.h"
#include "file.h"

struct driver_notes driver_notes;

static rt_device *device;

static void note(driver_note x) {
  if (driver_notes.n < (int)(sizeof driver_notes.list / sizeof *driver_notes.list)) {
    driver_notes.list[driver_notes.n] = x;
  }
  driver_notes.n++;
}

/* Any failure of the emulated device ends the test with its words. */
static CUresult done(int rc, const err *e) {
  if (rc) {
    fprintf(stderr, "driver_on_emu: %s\n", e->message);
  }
  return rc ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags) {
  err e = {0};
  (void)flags;
  return done(rt_emu_open(NULL, &device, &e), &e);
}

CUresult cuDeviceGet(CUdevice *d, int ordinal) {
  *d = ordinal;
  return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
  (void)d;
  *c = (CUcontext)device;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext c) {
  return c == (CUcontext)device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuModuleLoad(CUmodule *m, const char *path) {
  err e = {0};
  str image = {0};
  int rc = file_read(path, 1 << 26, &image, &e);
  if (!rc) {
    rc = device->ops->module_load(device, image.p, image.n, (rt_module **)m, &e);
  }
  str_clear(&image);
  return done(rc, &e);
}

/* Only PTX can be run here; it is a text. */
CUresult cuModuleLoadData(CUmodule *m, const void *image) {
  err e = {0};
  return done(device->ops->module_load(device, image, strlen(image), (rt_module **)m, &e), &e);
}

CUresult cuModuleUnload(CUmodule m) {
  device->ops->module_unload(device, (rt_module *)m);
  return CUDA_SUCCESS;
}

/* What exported code asks of a device; anything else ends the test. */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice d) {
  const rt_info *i = &device->info;
  (void)d;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = i->cc / 10; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = i->cc % 10; break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = i->sms; break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = i->threads_block; break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = i->threads_sm; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = i->blocks_sm; break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = i->regs_block; break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = i->regs_sm; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = (int)i->smem_block; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = (int)i->smem_sm; break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *value = (int)i->smem_reserved; break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = (int)i->l2_nbytes; break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = i->warp; break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *nbytes, CUdevice d) {
  (void)d;
  *nbytes = (size_t)device->info.memory_nbytes;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f) {
  err e = {0};
  rt_function_info info = {0};
  if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION) {
    *value = device->info.cc;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int rc = device->ops->function_info(device, (rt_function *)f, &info, &e);
  *value = (int)info.smem_static;
  return done(rc, &e);
}

CUresult cuMemFree(CUdeviceptr p) {
  device->ops->release(device, p);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
  err e = {0};
  if (device->ops->function(device, (rt_module *)m, name, (rt_function **)f, NULL) ==
      ERR_NOTFOUND) {
    return CUDA_ERROR_NOT_FOUND;
  }
  return done(device->ops->function(device, (rt_module *)m, name, (rt_function **)f, &e), &e);
}

CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value) {
  err e = {0};
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return done(device->ops->function_smem(device, (rt_function *)f, value, &e), &e);
}

CUresult cuMemAlloc(CUdeviceptr *p, size_t nbytes) {
  err e = {0};
  rt_ptr address;
  const int rc = device->ops->alloc(device, nbytes, &address, &e);
  *p = address;
  return done(rc, &e);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t nbytes) {
  err e = {0};
  return done(device->ops->copy_in(device, to, from, nbytes, NULL, &e), &e);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t nbytes) {
  err e = {0};
  return done(device->ops->copy_out(device, to, from, nbytes, NULL, &e), &e);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char byte, size_t nbytes) {
  err e = {0};
  return done(device->ops->set(device, to, byte, nbytes, NULL, &e), &e);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t nbytes, CUstream s) {
  (void)s;
  note((driver_note){.overlap = false});
  return driver_notes.dry ? CUDA_SUCCESS : cuMemsetD8(to, byte, nbytes);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned smem, CUstream s, void **args,
                        void **extra) {
  err e = {0};
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  (void)s, (void)extra;
  note((driver_note){{gx, gy, gz}, {bx, by, bz}, smem, driver_notes.overlap});
  if (driver_notes.dry) {
    return CUDA_SUCCESS;
  }
  return done(device->ops->launch(device, (rt_function *)f, grid, block, smem, NULL, args, &e), &e);
}

#if CUDA_VERSION >= 12000
/* One kernel runs at a time. */
CUresult cuLaunchKernelEx(const CUlaunchConfig *how, CUfunction f, void **args, void **extra) {
  driver_notes.overlap = how->numAttrs == 1 &&
                         how->attrs->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                         how->attrs->value.programmaticStreamSerializationAllowed;
  const CUresult rc =
      cuLaunchKernel(f, how->gridDimX, how->gridDimY, how->gridDimZ, how->blockDimX, how->blockDimY,
                     how->blockDimZ, how->sharedMemBytes, how->hStream, args, extra);
  driver_notes.overlap = false;
  return rc;
}

static dtype tensor_type(CUtensorMapDataType type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_UINT8    ? DTYPE_u8
         : type == CU_TENSOR_MAP_DATA_TYPE_UINT16 ? DTYPE_u16
         : type == CU_TENSOR_MAP_DATA_TYPE_UINT32 ? DTYPE_u32
                                                  : DTYPE_u64;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *at, const cuuint64_t *dims, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  err e = {0};
  rt_tensor t = {.type = tensor_type(type),
                 .rank = (int)rank,
                 .at = (rt_ptr)(uintptr_t)at,
                 .swizzle = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 128
                            : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                            : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32
                                                                   : 0};
  (void)steps, (void)interleave, (void)promotion, (void)fill;
  if (driver_notes.dry) {
    return CUDA_SUCCESS;
  }
  for (cuuint32_t i = 0; i < rank && i < 5; i++) {
    t.dims[i] = dims[i];
    t.box[i] = box[i];
    t.strides[i < 4 ? i : 3] = strides[i < 4 ? i : 3];
  }
  return done(device->ops->tensor_map(device, &t, (rt_tensor_map *)map, &e), &e);
}
#endif
