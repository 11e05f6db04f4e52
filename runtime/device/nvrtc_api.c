#define _GNU_SOURCE
#include "nvrtc_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

/* Where pip puts the packages nvidia-cuda-nvrtc (13) and nvidia-cuda-nvrtc-cu12, below a --target.
 */
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

/* Folder of the running program; "" when the system does not say. */
static void program_folder(char out[PATH_MAX]) {
  ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[n > 0 ? n : 0] = 0;
  char *slash = strrchr(out, '/');
  if (slash) {
    *slash = 0;
  }
}

/* One try. A library that exists and does not load is worth telling the user about. */
static bool try_path(nvrtc_api *api, const char *path, str *trouble) {
  api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!api->library && strchr(path, '/') && access(path, F_OK) == 0 && trouble->n == 0) {
    str_add(trouble, dlerror());
  }
  return api->library != NULL;
}

static bool try_folder(nvrtc_api *api, const char *folder, const char *below, str *trouble) {
  char path[2 * PATH_MAX];
  for (size_t i = 0; i < sizeof sonames / sizeof *sonames; i++) {
    snprintf(path, sizeof path, "%s/%s/%s", folder, below, sonames[i]);
    if (try_path(api, path, trouble)) {
      return true;
    }
  }
  return false;
}

/* What `pip install --target build/cuda nvidia-cuda-nvrtc` made, seen from build/autotune, from
 * build/tests/test_x, and from a build folder of another name. */
static bool try_wheels(nvrtc_api *api, str *trouble) {
  static const char *const steps[] = {"cuda", "../cuda", "../build/cuda", "../../build/cuda"};
  char program[PATH_MAX], folder[PATH_MAX + 32];
  program_folder(program);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    snprintf(folder, sizeof folder, "%s/%s", program, steps[i]);
    for (size_t j = 0; j < sizeof wheel_folders / sizeof *wheel_folders; j++) {
      if (try_folder(api, folder, wheel_folders[j], trouble)) {
        return true;
      }
    }
  }
  return false;
}

static bool find(nvrtc_api *api, str *trouble) {
  for (size_t i = 0; i < sizeof sonames / sizeof *sonames; i++) {
    if (try_path(api, sonames[i], trouble)) {
      return true;
    }
  }
  const char *home = getenv("CUDA_HOME");
  return (home && *home && try_folder(api, home, "lib64", trouble)) ||
         (home && *home && try_folder(api, home, "lib", trouble)) ||
         try_folder(api, "/usr/local/cuda", "lib64", trouble) || try_wheels(api, trouble);
}

static int load(nvrtc_api *api, err *e) {
  const char *named = getenv("AUTOTUNE_NVRTC");
  str trouble = {0};
  bool found = named && *named ? try_path(api, named, &trouble) : find(api, &trouble);
  int rc = 0;
  if (!found && named && *named) {
    rc = err_set(e, ERR_DEVICE, "AUTOTUNE_NVRTC is %s, which does not load%s%s", named,
                 trouble.n ? ": " : "", str_text(&trouble));
  } else if (!found && trouble.n) {
    rc = err_set(e, ERR_DEVICE, "NVRTC is there but does not load: %s", str_text(&trouble));
  } else if (!found) {
    rc = err_set(e, ERR_DEVICE,
                 "NVRTC (libnvrtc.so.13 or .12) not found; install the CUDA toolkit, or "
                 "`pip install --target build/cuda nvidia-cuda-nvrtc`, or set "
                 "AUTOTUNE_NVRTC to the library's path");
  }
  str_clear(&trouble);
  return rc;
}

static int resolve(nvrtc_api *api, err *e) {
#define NVRTC_LOAD(f)                                                                              \
  *(void **)&api->f = dlsym(api->library, #f);                                                     \
  if (!api->f) {                                                                                   \
    return err_set(e, ERR_DEVICE, "this NVRTC is too old (no %s); install CUDA 12 or newer", #f);  \
  }
  NVRTC_LIST(NVRTC_LOAD)
#undef NVRTC_LOAD
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

/* The headers beside the library match it best: LIB/../include. */
static void find_include(nvrtc_api *api) {
  char beside[sizeof api->path + 16], home[PATH_MAX] = "";
  snprintf(beside, sizeof beside, "%s", api->path);
  char *slash = strrchr(beside, '/');
  snprintf(slash ? slash : beside, 16, "/../include");
  if (getenv("CUDA_HOME")) {
    snprintf(home, sizeof home, "%s/include", getenv("CUDA_HOME"));
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
  TRY(load(api, e));
  TRY(resolve(api, e));
  find_path(api);
  find_include(api);
  return 0;
}
