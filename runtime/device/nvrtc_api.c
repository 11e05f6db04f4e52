#define _GNU_SOURCE
#include "nvrtc_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "toolkit.h"

static const toolkit_library nvrtc = {
    .name = "NVRTC (libnvrtc.so.13 or .12)",
    .variable = "AUTOTUNE_NVRTC",
    .package = "nvidia-cuda-nvrtc",
    .sonames = {"libnvrtc.so.13", "libnvrtc.so.12"},
    .wheel_folders = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}};

static int resolve(nvrtc_api *api, err *e) {
#define NVRTC_LOAD(f)                                                                              \
  *(void **)&api->f = dlsym(api->library, #f);                                                     \
  if (!api->f) {                                                                                   \
    return err_set(e, ERR_DEVICE, "this NVRTC is too old (no %s); install CUDA 12 or newer", #f);  \
  }
  NVRTC_LIST(NVRTC_LOAD)
#undef NVRTC_LOAD
  *(void **)&api->set_flow_callback = dlsym(api->library, "nvrtcSetFlowCallback");
  return 0;
}

static void find_path(nvrtc_api *api) {
  Dl_info info;
  char real[PATH_MAX];
  if (dladdr(*(void **)&api->nvrtcVersion, &info) && realpath(info.dli_fname, real)) {
    snprintf(api->path, sizeof api->path, "%s", real);
  }
}

static bool has_headers(const char *folder) {
  char file[PATH_MAX];
  snprintf(file, sizeof file, "%s/cuda_fp16.h", folder);
  return access(file, R_OK) == 0;
}

/* The headers next to the library match it best: LIB/../include. */
static void find_include(nvrtc_api *api) {
  char beside[sizeof api->path + 16], home[PATH_MAX] = "";
  snprintf(beside, sizeof beside, "%s", api->path);
  char *slash = strrchr(beside, '/');
  snprintf(slash ? slash : beside, 16, "/../include");
  if (secure_getenv("CUDA_HOME")) {
    snprintf(home, sizeof home, "%s/include", secure_getenv("CUDA_HOME"));
  }
  const char *const folders[] = {beside, home, "/usr/local/cuda/include"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    char real[PATH_MAX];
    if (*folders[i] && has_headers(folders[i]) && realpath(folders[i], real)) {
      snprintf(api->include, sizeof api->include, "%s", real);
      return;
    }
  }
}

int nvrtc_api_open(nvrtc_api *api, err *e) {
  memset(api, 0, sizeof *api);
  TRY(toolkit_open(&nvrtc, &api->library, e));
  TRY(resolve(api, e));
  find_path(api);
  find_include(api);
  return 0;
}
