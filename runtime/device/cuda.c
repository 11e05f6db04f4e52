/* cuda.c -- a GPU, through the driver API. A fault in a kernel is reported by some later call; from
 * then on the context refuses all calls and device->dead is set. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_placement.h"
#include "cuda_streams.h"
#include "cuda_tensor.h"
#include "cuda_textures.h"
#include "cuda_visit.h"

static cuda *of(rt_device *d) {
  return cuda_of(d);
}

/* ---- memory -------------------------------------------------------------------------------- */

static int memory_free(rt_device *d, int64_t *nbytes, err *e) {
  size_t left, total;
  ENTER(d, e);
  CUresult r = of(d)->api.cuMemGetInfo(&left, &total);
  *nbytes = r ? 0 : (int64_t)left;
  return r ? FAIL(d, e, r, "querying the GPU's free memory") : 0;
}

static int alloc(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  CUdeviceptr address = 0;
  *p = 0;
  ENTER(d, e);
  CUresult r = of(d)->api.cuMemAlloc(&address, nbytes ? nbytes : 1);
  if (r == CUDA_ERROR_OUT_OF_MEMORY) {
    int64_t left = 0;
    memory_free(d, &left, NULL);
    return FAIL(d, e, r, "allocating %zu bytes on the GPU, of which %lld are free", nbytes,
                (long long)left);
  }
  *p = address;
  return r ? FAIL(d, e, r, "allocating %zu bytes on the GPU", nbytes) : 0;
}

static int give_back(rt_device *d, rt_ptr p, err *e) {
  ENTER(d, e);
  CUresult r = p ? of(d)->api.cuMemFree(p) : CUDA_SUCCESS;
  return r ? FAIL(d, e, r, "freeing address 0x%llx, which must be one that was allocated",
                  (unsigned long long)p)
           : 0;
}

static void release(rt_device *d, rt_ptr p) {
  ENTER_OR_RETURN(d);
  if (p) {
    of(d)->api.cuMemFree(p);
  }
}

/* ---- copies -------------------------------------------------------------------------------- */

static int upload(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = nbytes ? of(d)->api.cuMemcpyHtoDAsync(to, from, nbytes, s) : CUDA_SUCCESS;
  return r ? FAIL(d, e, r, "copying %zu bytes to the GPU", nbytes) : 0;
}

static int download(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = nbytes ? of(d)->api.cuMemcpyDtoHAsync(to, from, nbytes, s) : CUDA_SUCCESS;
  return r ? FAIL(d, e, r, "copying %zu bytes from the GPU", nbytes) : 0;
}

static int copy_in(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s, err *e) {
  ENTER(d, e);
  TRY(upload(d, to, from, nbytes, s, e));
  return cuda_stream_sync(d, s, e);
}

static int copy_out(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s, err *e) {
  ENTER(d, e);
  TRY(download(d, to, from, nbytes, s, e));
  return cuda_stream_sync(d, s, e);
}

static int copy(rt_device *d, rt_ptr to, rt_ptr from, size_t nbytes, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = nbytes ? of(d)->api.cuMemcpyDtoDAsync(to, from, nbytes, s) : CUDA_SUCCESS;
  return r ? FAIL(d, e, r, "copying %zu bytes on the GPU", nbytes) : 0;
}

static int set(rt_device *d, rt_ptr to, uint8_t byte, size_t nbytes, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = nbytes ? of(d)->api.cuMemsetD8Async(to, byte, nbytes, s) : CUDA_SUCCESS;
  return r ? FAIL(d, e, r, "setting %zu bytes on the GPU", nbytes) : 0;
}

/* ---- modules ------------------------------------------------------------------------------- */

static bool is_elf(const void *image, size_t n) {
  return n >= 4 && !memcmp(image, "\177ELF", 4);
}

/* The driver takes no length and trusts the ELF header: it would read past the end of a truncated
 * image. */
static bool is_whole(const unsigned char *image, size_t n) {
  uint64_t sections;
  uint16_t size, count;
  if (n < 64) {
    return false;
  }
  memcpy(&sections, image + 0x28, sizeof sections); /* e_shoff, e_shentsize, e_shnum of ELF64 */
  memcpy(&size, image + 0x3a, sizeof size);
  memcpy(&count, image + 0x3c, sizeof count);
  return sections <= n && (uint64_t)size * count <= n - sections;
}

static int load(rt_device *d, const void *image, rt_module **m, err *e) {
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  CUmodule module = NULL;
  CUresult r = of(d)->api.cuModuleLoadDataEx(&module, image, 2, options, values);
  *m = (rt_module *)module;
  log[strcspn(log, "\n")] = 0;
  return r ? FAIL(d, e, r, "loading an image%s%s", *log ? ": " : "", log) : 0;
}

/* PTX must end with a NUL. */
static int load_text(rt_device *d, const void *image, size_t nbytes, rt_module **m, err *e) {
  char *text = malloc(nbytes + 1);
  if (!text) {
    return err_set(e, ERR_NOMEM, "out of memory for an image of %zu bytes", nbytes);
  }
  memcpy(text, image, nbytes);
  text[nbytes] = 0;
  int rc = load(d, text, m, e);
  free(text);
  return rc;
}

static int module_load(rt_device *d, const void *image, size_t nbytes, rt_module **m, err *e) {
  *m = NULL;
  ENTER(d, e);
  bool elf = is_elf(image, nbytes);
  if (elf ? !is_whole(image, nbytes) : nbytes == 0 || memchr(image, 0, nbytes - 1)) {
    return err_set(e, ERR_LAUNCH, "the image of %zu bytes is damaged; compile it again", nbytes);
  }
  return elf ? load(d, image, m, e) : load_text(d, image, nbytes, m, e);
}

static void module_unload(rt_device *d, rt_module *m) {
  ENTER_OR_RETURN(d);
  if (m) {
    of(d)->api.cuModuleUnload((CUmodule)m);
  }
}

/* ---- functions ----------------------------------------------------------------------------- */

/* Clusters larger than the architecture's portable size need an opt-in. */
static CUresult allow_cluster(rt_device *d, CUfunction f) {
  enum { PORTABLE = 8 };
  int width = 0;
  CUresult r = CUDA_SUCCESS;
  if (d->info.cc >= 90) {
    r = of(d)->api.cuFuncGetAttribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, f);
  }
  return !r && width > PORTABLE ? of(d)->api.cuFuncSetAttribute(
                                      f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
                                : r;
}

static int function(rt_device *d, rt_module *m, const char *name, rt_function **f, err *e) {
  CUfunction found = NULL;
  *f = NULL;
  ENTER(d, e);
  CUresult r = of(d)->api.cuModuleGetFunction(&found, (CUmodule)m, name);
  *f = (rt_function *)found;
  r = r ? r : allow_cluster(d, found);
  return r ? FAIL(d, e, r, "looking for kernel %s in its image", name) : 0;
}

static int variable(rt_device *d, rt_module *m, const char *name, rt_ptr *p, size_t *nbytes,
                    err *e) {
  CUdeviceptr at = 0;
  if (!of(d)->api.cuModuleGetGlobal) {
    return err_set(e, ERR_DEVICE, "this driver does not tell where variables are");
  }
  ENTER(d, e);
  CUresult r = of(d)->api.cuModuleGetGlobal(&at, nbytes, (CUmodule)m, name);
  *p = at;
  return r == CUDA_ERROR_NOT_FOUND
             ? err_set(e, ERR_NOTFOUND,
                       "the kernels have no __constant__ or __device__ variable '%s'", name)
         : r ? FAIL(d, e, r, "looking for the variable %s", name)
             : 0;
}

static int function_info(rt_device *d, rt_function *f, rt_function_info *info, err *e) {
  int regs, threads, smem, local;
  const struct {
    CUfunction_attribute attribute;
    int *value;
  } list[] = {{CU_FUNC_ATTRIBUTE_NUM_REGS, &regs},
              {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads},
              {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &smem},
              {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local}};
  ENTER(d, e);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    CUresult r = of(d)->api.cuFuncGetAttribute(list[i].value, list[i].attribute, (CUfunction)f);
    if (r) {
      return FAIL(d, e, r, "reading a kernel's attributes");
    }
  }
  *info = (rt_function_info){regs, threads, smem, local, false};
  return 0;
}

#if CUDA_VERSION >= 12040
static int function_params(rt_device *d, rt_function *f, uint32_t *nbytes, int most) {
  cuda_visit visit_ __attribute__((cleanup(cuda_leave))) = {NULL, NULL};
  if (!of(d)->api.cuFuncGetParamInfo || (!cuda_is_inside(d) && cuda_enter(d, &visit_, NULL))) {
    return -1;
  }
  for (int n = 0;; n++) {
    size_t offset, size;
    CUresult r = of(d)->api.cuFuncGetParamInfo((CUfunction)f, (size_t)n, &offset, &size);
    if (r) {
      return r == CUDA_ERROR_INVALID_VALUE ? n : -1; /* past the last one */
    }
    if (n < most) {
      nbytes[n] = (uint32_t)size;
    }
  }
}
#else
static int function_params(rt_device *d, rt_function *f, uint32_t *nbytes, int most) {
  (void)d, (void)f, (void)nbytes, (void)most;
  return -1;
}
#endif

/* The limit belongs to the kernel, which several plans may share: it is only raised. */
static int raise_smem(rt_device *d, CUfunction f, int nbytes, err *e) {
  const CUfunction_attribute attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  int now = 0;
  CUresult r = of(d)->api.cuFuncGetAttribute(&now, attribute, f);
  if (!r && now < nbytes) {
    r = of(d)->api.cuFuncSetAttribute(f, attribute, nbytes);
  }
  if (r == CUDA_ERROR_INVALID_VALUE) {
    return err_set(
        e, ERR_LAUNCH,
        "%d bytes of dynamic shared memory do not fit in addition to the kernel's static ones; the limit for both is %lld",
        nbytes, (long long)d->info.smem_block);
  }
  return r ? FAIL(d, e, r, "allowing %d bytes of shared memory", nbytes) : 0;
}

static int function_smem(rt_device *d, rt_function *f, int64_t nbytes, err *e) {
  ENTER(d, e);
  if (nbytes < 0 || nbytes > d->info.smem_block) {
    return err_set(e, ERR_LAUNCH,
                   "%lld bytes of dynamic shared memory requested; the limit is %lld",
                   (long long)nbytes, (long long)d->info.smem_block);
  }
  return raise_smem(d, (CUfunction)f, (int)nbytes, e);
}

static int occupancy(rt_device *d, rt_function *f, int threads, int64_t smem, int *blocks, err *e) {
  *blocks = 0;
  ENTER(d, e);
  CUresult r = of(d)->api.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (CUfunction)f,
                                                                      threads, (size_t)smem);
  return r ? FAIL(d, e, r, "querying the occupancy of %d threads and %lld bytes", threads,
                  (long long)smem)
           : 0;
}

static int launch_failed(rt_device *d, const uint32_t grid[3], const uint32_t block[3],
                         uint32_t smem, CUresult r, err *e) {
  if (r == CUDA_ERROR_INVALID_VALUE) {
    return err_set(
        e, ERR_LAUNCH,
        "%ux%ux%u blocks of %ux%ux%u threads with %u bytes of shared memory exceed the limits of the kernel or the GPU",
        grid[0], grid[1], grid[2], block[0], block[1], block[2], smem);
  }
  return FAIL(d, e, r,
              "launching %ux%ux%u blocks of %ux%ux%u threads with %u bytes of shared memory",
              grid[0], grid[1], grid[2], block[0], block[1], block[2], smem);
}

static int launch(rt_device *d, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                  uint32_t smem, rt_stream s, void **args, err *e) {
  ENTER(d, e);
  CUresult r = of(d)->api.cuLaunchKernel((CUfunction)f, grid[0], grid[1], grid[2], block[0],
                                         block[1], block[2], smem, s, args, NULL);
  return r ? launch_failed(d, grid, block, smem, r, e) : 0;
}

/* Drivers before CUDA 12 serialise the launches, which is correct too. */
static int launch_overlapping(rt_device *d, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e) {
  CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                             .value.programmaticStreamSerializationAllowed = 1};
  const CUlaunchConfig how = {grid[0],  grid[1], grid[2], block[0], block[1],
                              block[2], smem,    s,       &early,   1};
  if (!of(d)->api.cuLaunchKernelEx || d->info.cc < 90) {
    return launch(d, f, grid, block, smem, s, args, e);
  }
  ENTER(d, e);
  CUresult r = of(d)->api.cuLaunchKernelEx(&how, (CUfunction)f, args, NULL);
  return r ? launch_failed(d, grid, block, smem, r, e) : 0;
}

static int launch_cooperative(rt_device *d, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e) {
  if (!of(d)->api.cuLaunchCooperativeKernel) {
    return err_set(e, ERR_DEVICE, "this driver has no cooperative launches");
  }
  ENTER(d, e);
  CUresult r = of(d)->api.cuLaunchCooperativeKernel((CUfunction)f, grid[0], grid[1], grid[2],
                                                    block[0], block[1], block[2], smem, s, args);
  return r ? launch_failed(d, grid, block, smem, r, e) : 0;
}

/* The limit belongs to the context, which several plans share: it is only raised. */
static int pending_launches(rt_device *d, uint32_t n, err *e) {
  const CUlimit limit = CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
  const cuda_api *api = &of(d)->api;
  size_t now = 0;
  if (!api->cuCtxGetLimit || !api->cuCtxSetLimit) {
    return err_set(e, ERR_DEVICE, "this driver has no limit of pending launches");
  }
  ENTER(d, e);
  CUresult r = api->cuCtxGetLimit(&now, limit);
  r = !r && now < n ? api->cuCtxSetLimit(limit, n) : r;
  return r ? FAIL(d, e, r, "allowing %u pending launches by kernels", n) : 0;
}

/* ---- opening and closing ------------------------------------------------------------------- */

static void close_device(rt_device *d) {
  if (d) {
    if (of(d)->retained) {
      of(d)->api.cuDevicePrimaryCtxRelease(of(d)->handle);
    }
    free(d);
  }
}

static const rt_device_ops ops = {
    .close = close_device,
    .alloc = alloc,
    .release = release,
    .memory_free = memory_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .upload = upload,
    .download = download,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .managed_alloc = cuda_managed_alloc,
    .prefetch = cuda_prefetch,
    .advise = cuda_advise,
    .set = set,
    .module_load = module_load,
    .module_unload = module_unload,
    .function = function,
    .variable = variable,
    .function_info = function_info,
    .function_params = function_params,
    .function_smem = function_smem,
    .occupancy = occupancy,
    .launch = launch,
    .launch_overlapping = launch_overlapping,
    .launch_cooperative = launch_cooperative,
    .pending_launches = pending_launches,
    .give_back = give_back,
    .capturing = cuda_capturing,
    .stream_new = cuda_stream_new,
    .stream_free = cuda_stream_free,
    .stream_sync = cuda_stream_sync,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .stream_beside = cuda_stream_beside,
    .stream_wait = cuda_stream_wait,
    .elapsed = cuda_elapsed,
    .event_sync = cuda_event_sync,
    .while_add = cuda_while_add,
    .graph_new = cuda_graph_new,
    .graph_free = cuda_graph_free,
    .graph_launch = cuda_graph_launch,
    .tensor_map = cuda_tensor_map,
    .array_new = cuda_array_new,
    .array_free = cuda_array_free,
    .array_copy = cuda_array_copy,
    .texture_new = cuda_texture_new,
    .texture_free = cuda_texture_free,
    .surface_new = cuda_surface_new,
    .surface_free = cuda_surface_free,
};

static int count(const cuda_api *api, int *n, err *e) {
  *n = 0;
  CUresult r = api->cuDeviceGetCount(n);
  return r ? cuda_explain(api, r, NULL, e, "counting the GPUs") : 0;
}

int rt_cuda_count(int *n, err *e) {
  cuda_api api;
  *n = 0;
  TRY(cuda_api_open(&api, true, e));
  return count(&api, n, e);
}

static int retain(cuda *d, int ordinal, err *e) {
  int n;
  TRY(count(&d->api, &n, e));
  if (ordinal >= n) {
    return err_set(e, ERR_DEVICE, "no GPU %d: this machine has %d, numbered from 0", ordinal, n);
  }
  CUresult r = d->api.cuDeviceGet(&d->handle, ordinal);
  r = r ? r : d->api.cuDevicePrimaryCtxRetain(&d->context, d->handle);
  d->retained = !r;
  return r ? cuda_explain(&d->api, r, NULL, e, "opening GPU %d", ordinal) : 0;
}

/* Adopts the thread's current context; its ordinal is found by comparing handles. */
static int adopt(cuda *d, int *ordinal, err *e) {
  int n;
  CUresult r = d->api.cuCtxGetCurrent(&d->context);
  if (!r && !d->context) {
    return err_set(e, ERR_DEVICE,
                   "no CUDA context is current on this thread; make one (cudaFree(0), "
                   "cuCtxSetCurrent), or open a GPU by its number");
  }
  r = r ? r : d->api.cuCtxGetDevice(&d->handle);
  if (r) {
    return cuda_explain(&d->api, r, NULL, e, "reading the current CUDA context");
  }
  TRY(count(&d->api, &n, e));
  for (*ordinal = 0; *ordinal < n; ++*ordinal) {
    CUdevice handle;
    if (!d->api.cuDeviceGet(&handle, *ordinal) && handle == d->handle) {
      return 0;
    }
  }
  return err_set(e, ERR_DEVICE, "the current CUDA context belongs to no GPU that the driver lists");
}

/* A thread without a context keeps ours, so that later calls enter at no cost. */
static int open_device(cuda *d, int ordinal, err *e) {
  cuda_visit v = {NULL, NULL};
  TRY(cuda_api_open(&d->api, ordinal >= 0, e));
  TRY(ordinal < 0 ? adopt(d, &ordinal, e) : retain(d, ordinal, e));
  TRY(cuda_info(d, ordinal, e));
  TRY(cuda_enter(&d->device, &v, e));
  cuda_leave(&v);
  return 0;
}

int rt_cuda_open(int ordinal, rt_device **out, err *e) {
  *out = NULL;
  cuda *d = calloc(1, sizeof *d);
  if (!d) {
    return err_nomem(e);
  }
  d->device.ops = &ops;
  int rc = open_device(d, ordinal, e);
  if (rc) {
    close_device(&d->device);
    return rc;
  }
  *out = &d->device;
  return 0;
}
