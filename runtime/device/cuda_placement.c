#include "cuda_placement.h"

#include "cuda_visit.h"

static const cuda_api *api_of(rt_device *d) {
  return &cuda_of(d)->api;
}

static int missing(err *e, const char *what) {
  return err_set(e, ERR_DEVICE, "this driver has no %s", what);
}

int cuda_host_alloc(rt_device *d, size_t nbytes, void **p, err *e) {
  *p = NULL;
  if (!api_of(d)->cuMemHostAlloc || !api_of(d)->cuMemFreeHost) {
    return missing(e, "pinned memory");
  }
  ENTER(d, e);
  CUresult r = api_of(d)->cuMemHostAlloc(p, nbytes ? nbytes : 1,
                                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  return r ? FAIL(d, e, r, "pinning %zu bytes of the host's memory", nbytes) : 0;
}

void cuda_host_free(rt_device *d, void *p) {
  ENTER_OR_RETURN(d);
  if (p) {
    api_of(d)->cuMemFreeHost(p);
  }
}

int cuda_managed_alloc(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  CUdeviceptr at = 0;
  *p = 0;
  if (!api_of(d)->cuMemAllocManaged) {
    return missing(e, "managed memory");
  }
  ENTER(d, e);
  CUresult r = api_of(d)->cuMemAllocManaged(&at, nbytes ? nbytes : 1, CU_MEM_ATTACH_GLOBAL);
  *p = at;
  return r ? FAIL(d, e, r, "allocating %zu bytes of managed memory", nbytes) : 0;
}

/* CUDA 13 has a location in place of a device's number, and flags. */
#if CUDA_VERSION >= 13000
static CUmemLocation place(rt_device *d, bool host) {
  return (CUmemLocation){.type = host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                         .id = host ? 0 : cuda_of(d)->handle};
}
#define NO_FLAGS 0,
#else
static CUdevice place(rt_device *d, bool host) {
  return host ? CU_DEVICE_CPU : cuda_of(d)->handle;
}
#define NO_FLAGS
#endif

int cuda_prefetch(rt_device *d, rt_ptr p, size_t nbytes, bool to_host, rt_stream s, err *e) {
  if (!api_of(d)->cuMemPrefetchAsync) {
    return missing(e, "cuMemPrefetchAsync in the version that this build calls");
  }
  ENTER(d, e);
  CUresult r = api_of(d)->cuMemPrefetchAsync(p, nbytes, place(d, to_host), NO_FLAGS s);
  return r ? FAIL(d, e, r, "moving %zu bytes of managed memory", nbytes) : 0;
}

int cuda_advise(rt_device *d, rt_ptr p, size_t nbytes, rt_advice advice, err *e) {
  static const CUmem_advise list[] = {
      CU_MEM_ADVISE_SET_READ_MOSTLY, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
      CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_MEM_ADVISE_SET_ACCESSED_BY};
  if (!api_of(d)->cuMemAdvise) {
    return missing(e, "cuMemAdvise in the version that this build calls");
  }
  ENTER(d, e);
  CUresult r = api_of(d)->cuMemAdvise(p, nbytes, list[advice], place(d, advice == RT_ADVICE_HOST));
  return r ? FAIL(d, e, r, "advising on %zu bytes of managed memory", nbytes) : 0;
}
