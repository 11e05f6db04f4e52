#define _GNU_SOURCE
#include "toolkit.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "str.h"

/* Folder of the running program; "" if unknown. */
static void program_folder(char out[PATH_MAX]) {
  ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[n > 0 ? n : 0] = 0;
  char *slash = strrchr(out, '/');
  if (slash) {
    *slash = 0;
  }
}

typedef struct search {
  const toolkit_library *l;
  void **handle;
  str trouble; /* the loader's message for the first file that exists */
} search;

/* If a library exists but does not load, the user needs the reason. */
static bool try_path(search *x, const char *path) {
  *x->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*x->handle && strchr(path, '/') && access(path, F_OK) == 0 && x->trouble.n == 0) {
    str_add(&x->trouble, dlerror());
  }
  return *x->handle != NULL;
}

static bool try_folder(search *x, const char *folder, const char *below) {
  char path[2 * PATH_MAX];
  for (const char *const *soname = x->l->sonames; *soname; soname++) {
    snprintf(path, sizeof path, "%s/%s/%s", folder, below, *soname);
    if (try_path(x, path)) {
      return true;
    }
  }
  return false;
}

/* Where `pip install --target build/cuda PACKAGE` puts it, relative to build/autotune, to
 * build/tests/test_x, and to a build folder of another name. The user of a setuid program may have
 * linked to it in a folder of his own, so there it is not asked for. */
static bool try_wheels(search *x) {
  static const char *const steps[] = {"cuda", "../cuda", "../build/cuda", "../../build/cuda"};
  char program[PATH_MAX], folder[PATH_MAX + 32];
  program_folder(program);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    snprintf(folder, sizeof folder, "%s/%s", program, steps[i]);
    for (const char *const *below = x->l->wheel_folders; *below; below++) {
      if (try_folder(x, folder, *below)) {
        return true;
      }
    }
  }
  return false;
}

static bool find(search *x) {
  for (const char *const *soname = x->l->sonames; *soname; soname++) {
    if (try_path(x, *soname)) {
      return true;
    }
  }
  const char *home = secure_getenv("CUDA_HOME");
  return (home && *home && (try_folder(x, home, "lib64") || try_folder(x, home, "lib"))) ||
         try_folder(x, "/usr/local/cuda", "lib64") || (!getauxval(AT_SECURE) && try_wheels(x));
}

static int missing(const search *x, const char *named, err *e) {
  const toolkit_library *l = x->l;
  const char *trouble = str_text(&x->trouble);
  if (named) {
    return err_set(e, ERR_DEVICE, "%s is %s, which does not load%s%s", l->variable, named,
                   *trouble ? ": " : "", trouble);
  }
  if (*trouble) {
    return err_set(e, ERR_DEVICE, "%s exists but does not load: %s", l->name, trouble);
  }
  return err_set(e, ERR_DEVICE,
                 "%s not found; install the CUDA toolkit, or `pip install --target build/cuda %s`, "
                 "or set %s to the library's path",
                 l->name, l->package, l->variable);
}

int toolkit_open(const toolkit_library *l, void **handle, err *e) {
  const char *value = secure_getenv(l->variable), *named = value && *value ? value : NULL;
  search x = {.l = l, .handle = handle};
  const bool found = named ? try_path(&x, named) : find(&x);
  const int rc = found ? 0 : missing(&x, named, e);
  str_clear(&x.trouble);
  return rc;
}
