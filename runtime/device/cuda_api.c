#define _GNU_SOURCE
#include "cuda_api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1", /* containers */
    "/usr/local/nvidia/lib/libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",       /* Windows Subsystem for Linux */
    "/run/opengl-driver/lib/libcuda.so.1", /* NixOS */
};

static int load(void **library, err *e) {
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    *library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    if (*library) {
      return 0;
    }
    if (i > 0 && access(places[i], F_OK) == 0) {
      return err_set(e, ERR_DEVICE, "the NVIDIA driver does not load: %s", dlerror());
    }
  }
  return err_set(e, ERR_DEVICE, "no NVIDIA driver on this machine (libcuda.so.1 not found)");
}

static int resolve(cuda_api *api, void *library, err *e) {
#define CUDA_TEXT(f) #f
#define CUDA_LOAD(f) *(void **)&api->f = dlsym(library, CUDA_TEXT(f));
  CUDA_REQUIRED(CUDA_LOAD)
  CUDA_OPTIONAL(CUDA_LOAD)
#define CUDA_CHECK(f)                                                                              \
  if (!api->f) {                                                                                   \
    return err_set(e, ERR_DEVICE,                                                                  \
                   "the NVIDIA driver is too old (no %s); install one for CUDA 12 "                \
                   "or newer",                                                                     \
                   CUDA_TEXT(f));                                                                  \
  }
  CUDA_REQUIRED(CUDA_CHECK)
#undef CUDA_CHECK
#undef CUDA_LOAD
#undef CUDA_TEXT
  if (!api->cuEventElapsedTime) { /* CUDA 13's header means _v2, which drivers before 12.8 lack */
    *(void **)&api->cuEventElapsedTime = dlsym(library, "cuEventElapsedTime");
  }
  return 0;
}

static int find_loaded(void **library, err *e) {
  *library = dlopen(places[0], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return *library ? 0
                  : err_set(e, ERR_DEVICE,
                            "no CUDA context: this program has not loaded the NVIDIA "
                            "driver; open a GPU by its number");
}

int cuda_api_open(cuda_api *api, bool load_it, err *e) {
  void *library;
  memset(api, 0, sizeof *api);
  TRY(load_it ? load(&library, e) : find_loaded(&library, e));
  TRY(resolve(api, library, e));
  CUresult r = api->cuInit(0);
  return r ? cuda_explain(api, r, NULL, e, "starting the NVIDIA driver") : 0;
}

/* ---- results in words ---------------------------------------------------------------------- */

typedef struct meaning {
  int result; /* as a number where older headers lack the name */
  int code;
  bool dead; /* the context is lost */
  const char *advice;
} meaning;

static const meaning meanings[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, ERR_NOMEM, false, "take a smaller problem, or free memory"},
    {CUDA_ERROR_NO_DEVICE, ERR_DEVICE, false, "is CUDA_VISIBLE_DEVICES empty?"},
    {CUDA_ERROR_STUB_LIBRARY, ERR_DEVICE, false,
     "the toolkit's stub was loaded: remove stubs/ from LD_LIBRARY_PATH"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, ERR_DEVICE, false, "another process uses it exclusively"},
    {CUDA_ERROR_SYSTEM_NOT_READY, ERR_DEVICE, false, "start the fabric manager, or wait for it"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, ERR_DEVICE, false,
     "kernel module and library of the driver differ: reboot after its update"},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, ERR_DEVICE, false,
     "remove the forward-compatibility package, or update the driver"},
    {CUDA_ERROR_INVALID_IMAGE, ERR_LAUNCH, false, "the image is damaged; compile it again"},
    {CUDA_ERROR_INVALID_SOURCE, ERR_LAUNCH, false, "the image is damaged; compile it again"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, ERR_LAUNCH, false, "the image is for another GPU"},
    {CUDA_ERROR_INVALID_PTX, ERR_LAUNCH, false, "the PTX does not assemble"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ERR_LAUNCH, false,
     "the driver is older than the compiler: update it, or use the NVRTC of its CUDA version"},
    {CUDA_ERROR_NOT_FOUND, ERR_NOTFOUND, false, NULL},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, ERR_LAUNCH, false,
     "too many registers, threads or arguments for one block"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, ERR_LAUNCH, true, "a kernel read or wrote outside its buffers"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, ERR_LAUNCH, true, "the system's watchdog stopped the kernel"},
    {CUDA_ERROR_ASSERT, ERR_LAUNCH, true, "an assert in a kernel failed"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, ERR_LAUNCH, true, NULL},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, ERR_LAUNCH, true, NULL},
    {CUDA_ERROR_MISALIGNED_ADDRESS, ERR_LAUNCH, true, "a vector access at an unaligned address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, ERR_LAUNCH, true, NULL},
    {CUDA_ERROR_INVALID_PC, ERR_LAUNCH, true, NULL},
    {CUDA_ERROR_LAUNCH_FAILED, ERR_LAUNCH, true, NULL},
    {721 /* TENSOR_MEMORY_LEAK */, ERR_LAUNCH, true, NULL},
    {226 /* CONTAINED */, ERR_DEVICE, true, "a memory error of the GPU; see nvidia-smi -q"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, ERR_DEVICE, true,
     "the GPU's memory is failing; see nvidia-smi -q"},
    {CUDA_ERROR_NVLINK_UNCORRECTABLE, ERR_DEVICE, true, NULL},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, ERR_DEVICE, true, NULL},
    {CUDA_ERROR_DEINITIALIZED, ERR_DEVICE, true, NULL},
    {CUDA_ERROR_UNKNOWN, ERR_DEVICE, true, "the driver's log (dmesg) may say more"},
};

static meaning find_meaning(CUresult r) {
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
    if (meanings[i].result == (int)r) {
      return meanings[i];
    }
  }
  return (meaning){(int)r, ERR_DEVICE, false, NULL};
}

int cuda_explain(const cuda_api *api, CUresult r, bool *dead, err *e, const char *doing, ...) {
  const char *name = NULL, *words = NULL;
  char what[300];
  va_list ap;
  va_start(ap, doing);
  vsnprintf(what, sizeof what, doing, ap);
  va_end(ap);
  if (api->cuGetErrorName(r, &name) || api->cuGetErrorString(r, &words)) {
    name = "CUDA error", words = "no description";
  }
  meaning m = find_meaning(r);
  if (dead && m.dead) {
    *dead = true;
  }
  return err_set(e, m.code, "%s: %s (%d, %s)%s%s", what, name, (int)r, words, m.advice ? "; " : "",
                 m.advice ? m.advice : "");
}
