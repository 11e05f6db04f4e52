#define _GNU_SOURCE
#include "fatbin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "toolkit.h"

static const toolkit_library nvfatbin = {
    .name = "nvFatbin (libnvfatbin.so.13 or .12)",
    .variable = "AUTOTUNE_NVFATBIN",
    .package = "nvidia-nvfatbin",
    .sonames = {"libnvfatbin.so.13", "libnvfatbin.so.12"},
    .wheel_folders = {"nvidia/cu13/lib", "nvidia/nvfatbin/lib"}};

/* src: nvFatbin documentation, CUDA 13.0. Declared here because not every toolkit has the header; a
 * result of 0 is success. */
typedef struct fatbin_handle *fatbin_handle;
typedef struct fatbin_api {
  int (*create)(fatbin_handle *h, const char **options, size_t n);
  int (*destroy)(fatbin_handle *h);
  int (*add_ptx)(fatbin_handle h, const char *code, size_t size, const char *arch,
                 const char *identifier, const char *options);
  int (*add_cubin)(fatbin_handle h, const void *code, size_t size, const char *arch,
                   const char *identifier);
  int (*size)(fatbin_handle h, size_t *size);
  int (*get)(fatbin_handle h, void *buffer);
  const char *(*words)(int result);
} fatbin_api;

static int resolve(fatbin_api *api, err *e) {
  void *library;
  TRY(toolkit_open(&nvfatbin, &library, e));
  const struct {
    const char *name;
    void *to;
  } all[] = {{"nvFatbinCreate", &api->create},       {"nvFatbinDestroy", &api->destroy},
             {"nvFatbinAddPTX", &api->add_ptx},      {"nvFatbinAddCubin", &api->add_cubin},
             {"nvFatbinSize", &api->size},           {"nvFatbinGet", &api->get},
             {"nvFatbinGetErrorString", &api->words}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    void *found = dlsym(library, all[i].name);
    if (!found) {
      return err_set(e, ERR_DEVICE, "this nvFatbin has no %s; install another one", all[i].name);
    }
    memcpy(all[i].to, &found, sizeof found);
  }
  return 0;
}

int rt_fatbin_here(err *e) {
  fatbin_api api;
  return resolve(&api, e);
}

static int fail(const fatbin_api *api, const char *doing, int result, err *e) {
  return err_set(e, ERR_COMPILE, "nvFatbin, %s: %s", doing, api->words(result));
}

/* nvFatbin wants "90a" for "sm_90a". */
static int add(const fatbin_api *api, fatbin_handle h, const rt_fat_image *image, err *e) {
  const char *digits = strchr(image->arch, '_');
  const bool ptx = !strncmp(image->arch, "compute", 7);
  if (!digits) {
    return err_set(e, ERR_USAGE, "'%s' is not an architecture such as sm_90 or compute_90",
                   image->arch);
  }
  const int r = ptx ? api->add_ptx(h, image->bytes, image->nbytes + 1, digits + 1, image->arch, "")
                    : api->add_cubin(h, image->bytes, image->nbytes, digits + 1, image->arch);
  return r ? fail(api, image->arch, r, e) : 0;
}

static int take(const fatbin_api *api, fatbin_handle h, str *out, err *e) {
  size_t nbytes = 0;
  int r = api->size(h, &nbytes);
  char *bytes = r ? NULL : malloc(nbytes + 1);
  if (!r && !bytes) {
    return err_nomem(e);
  }
  r = r ? r : api->get(h, bytes);
  if (!r) {
    str_add_n(out, bytes, nbytes);
  }
  free(bytes);
  return r ? fail(api, "writing", r, e) : out->failed ? err_nomem(e) : 0;
}

int rt_fatbin_make(const rt_fat_image *images, size_t n, str *out, err *e) {
  const char *options[] = {"-64", "-host=linux"};
  fatbin_api api;
  fatbin_handle h = NULL;
  TRY(resolve(&api, e));
  const int r = api.create(&h, options, sizeof options / sizeof *options);
  int rc = r ? fail(&api, "beginning", r, e) : 0;
  for (size_t i = 0; !rc && i < n; i++) {
    rc = add(&api, h, &images[i], e);
  }
  rc = rc ? rc : take(&api, h, out, e);
  if (h) {
    api.destroy(&h);
  }
  return rc;
}
