#define _GNU_SOURCE
#include "device_link.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toolkit.h"

static const toolkit_library nvjitlink = {
    .name = "nvJitLink (libnvJitLink.so.13 or .12)",
    .variable = "AUTOTUNE_NVJITLINK",
    .package = "nvidia-nvjitlink",
    .sonames = {"libnvJitLink.so.13", "libnvJitLink.so.12"},
    .wheel_folders = {"nvidia/cu13/lib", "nvidia/nvjitlink/lib"}};

static const toolkit_library cudadevrt = {
    .name = "the device runtime (libcudadevrt.a)",
    .variable = "AUTOTUNE_CUDADEVRT",
    .package = "nvidia-cuda-runtime",
    .sonames = {"libcudadevrt.a"},
    .wheel_folders = {"nvidia/cu13/lib", "nvidia/cuda_runtime/lib"}};

/* src: nvJitLink documentation, CUDA 13.0. Declared here because not every toolkit has the header; a
 * result of 0 is success. */
enum { INPUT_CUBIN = 1, INPUT_LIBRARY = 6 };
typedef struct link_handle *link_handle;
typedef struct link_api {
  int (*create)(link_handle *h, uint32_t n, const char **options);
  int (*destroy)(link_handle *h);
  int (*add_data)(link_handle h, int type, const void *data, size_t size, const char *name);
  int (*add_file)(link_handle h, int type, const char *path);
  int (*complete)(link_handle h);
  int (*size)(link_handle h, size_t *size);
  int (*get)(link_handle h, void *cubin);
  int (*log_size)(link_handle h, size_t *size);
  int (*log)(link_handle h, char *log);
} link_api;

static int resolve(link_api *api, err *e) {
  void *library;
  TRY(toolkit_open(&nvjitlink, &library, e));
  const struct {
    const char *name;
    void *to;
  } all[] = {{"nvJitLinkCreate", &api->create},      {"nvJitLinkDestroy", &api->destroy},
             {"nvJitLinkAddData", &api->add_data},   {"nvJitLinkAddFile", &api->add_file},
             {"nvJitLinkComplete", &api->complete},  {"nvJitLinkGetLinkedCubinSize", &api->size},
             {"nvJitLinkGetLinkedCubin", &api->get}, {"nvJitLinkGetErrorLogSize", &api->log_size},
             {"nvJitLinkGetErrorLog", &api->log}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    void *found = dlsym(library, all[i].name);
    if (!found) {
      return err_set(e, ERR_DEVICE, "this nvJitLink has no %s; install another one", all[i].name);
    }
    memcpy(all[i].to, &found, sizeof found);
  }
  return 0;
}

bool rt_link_is_here(void) {
  char path[PATH_MAX];
  return !toolkit_file(&cudadevrt, path, NULL) && !toolkit_file(&nvjitlink, path, NULL);
}

int rt_link_check(err *e) {
  char path[PATH_MAX];
  link_api api;
  TRY(toolkit_file(&cudadevrt, path, e));
  return resolve(&api, e);
}

/* The first line of the linker's log. */
static int fail(const link_api *api, link_handle h, const char *doing, int result, err *e) {
  size_t n = 0;
  char *log = !api->log_size(h, &n) && n ? calloc(1, n + 1) : NULL;
  const bool told = log && !api->log(h, log) && *log;
  const int rc = err_set(e, ERR_COMPILE, "nvJitLink, %s: %.*s (result %d)", doing,
                         told ? (int)strcspn(log, "\n") : 7, told ? log : "no log", result);
  free(log);
  return rc;
}

static int fetch(const link_api *api, link_handle h, str *out, err *e) {
  size_t n = 0;
  int result = api->size(h, &n);
  char *bytes = result ? NULL : malloc(n ? n : 1);
  if (result) {
    return fail(api, h, "the size of the image", result, e);
  }
  result = bytes ? api->get(h, bytes) : 0;
  if (bytes && !result) {
    str_clear(out);
    str_add_n(out, bytes, n);
  }
  const bool failed = !bytes || out->failed;
  free(bytes);
  return result ? fail(api, h, "the image", result, e) : failed ? err_nomem(e) : 0;
}

static int link(const link_api *api, link_handle h, const char *runtime, str *cubin, err *e) {
  int result = api->add_data(h, INPUT_CUBIN, str_text(cubin), cubin->n, "kernel");
  if (result) {
    return fail(api, h, "adding the kernels", result, e);
  }
  result = api->add_file(h, INPUT_LIBRARY, runtime);
  if (result) {
    return fail(api, h, "adding libcudadevrt.a", result, e);
  }
  result = api->complete(h);
  return result ? fail(api, h, "linking", result, e) : fetch(api, h, cubin, e);
}

int rt_link(const char *arch, str *cubin, err *e) {
  link_api api;
  link_handle h = NULL;
  char runtime[PATH_MAX], option[64];
  const char *options[] = {option};
  TRY(toolkit_file(&cudadevrt, runtime, e));
  TRY(resolve(&api, e));
  snprintf(option, sizeof option, "-arch=%s", arch);
  const int result = api.create(&h, 1, options);
  if (result) {
    return err_set(e, ERR_COMPILE, "nvJitLink refuses %s (result %d)", option, result);
  }
  const int rc = link(&api, h, runtime, cubin, e);
  api.destroy(&h);
  return rc;
}
