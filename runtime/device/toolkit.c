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
  void **handle; /* NULL: a file that can be read is enough */
  char *found;   /* likewise: its path */
  str trouble;   /* the loader's message for the first file that exists */
} search;

/* If a library exists but does not load, the user needs the reason. */
static bool try_path(search *x, const char *path) {
  if (!x->handle) {
    snprintf(x->found, PATH_MAX, "%s", path);
    return strchr(path, '/') && access(path, R_OK) == 0;
  }
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

/* The loader's own folders, for files that it does not load. */
static bool try_system(search *x) {
  static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64", "/usr/lib"};
  bool found = false;
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !x->handle && !found; i++) {
    found = try_folder(x, folders[i], ".");
  }
  return found;
}

static bool find(search *x) {
  for (const char *const *soname = x->l->sonames; *soname; soname++) {
    if (try_path(x, *soname)) {
      return true;
    }
  }
  const char *home = secure_getenv("CUDA_HOME");
  return (home && *home && (try_folder(x, home, "lib64") || try_folder(x, home, "lib"))) ||
         try_folder(x, "/usr/local/cuda", "lib64") || try_system(x) ||
         (!getauxval(AT_SECURE) && try_wheels(x));
}

static int missing(const search *x, const char *named, err *e) {
  const toolkit_library *l = x->l;
  const char *trouble = str_text(&x->trouble);
  if (named) {
    return err_set(e, ERR_DEVICE, "%s is %s, which %s%s%s", l->variable, named,
                   x->handle ? "does not load" : "cannot be read", *trouble ? ": " : "", trouble);
  }
  if (*trouble) {
    return err_set(e, ERR_DEVICE, "%s exists but does not load: %s", l->name, trouble);
  }
  return err_set(e, ERR_DEVICE,
                 "%s not found; install the CUDA toolkit, or `pip install --target build/cuda %s`, "
                 "or set %s to the library's path",
                 l->name, l->package, l->variable);
}

static int look(search *x, err *e) {
  const char *value = secure_getenv(x->l->variable), *named = value && *value ? value : NULL;
  const bool found = named ? try_path(x, named) : find(x);
  const int rc = found ? 0 : missing(x, named, e);
  str_clear(&x->trouble);
  return rc;
}

int toolkit_open(const toolkit_library *l, void **handle, err *e) {
  search x = {.l = l, .handle = handle};
  return look(&x, e);
}

int toolkit_file(const toolkit_library *l, char path[PATH_MAX], err *e) {
  search x = {.l = l, .found = path};
  return look(&x, e);
}
