#define _GNU_SOURCE
#include "base_path.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the library, where `make install` has put it. */
#ifndef TUNED_LIBRARY_FOLDER
#define TUNED_LIBRARY_FOLDER ""
#endif

static const char file_name[] = "tuned.base";

/* The file that contains this code. A program is named as it was called, so its link is asked. */
static bool find_code(char path[PATH_MAX]) {
  Dl_info info;
  const bool found = dladdr((const void *)(uintptr_t)base_path_find, &info) && info.dli_fname;
  return found && realpath(*info.dli_fname == '/' ? info.dli_fname : "/proc/self/exe", path);
}

static bool is_there(arena *a, const char *folder, const char *below, const char **path) {
  *path = arena_format(a, "%s%s/%s", folder, below, file_name);
  return *path && !access(*path, F_OK);
}

/* Beside the file that contains this code; or that is PREFIX/bin/PROGRAM. */
static bool is_near(arena *a, char *code, const char **path) {
  *strrchr(code, '/') = 0;
  if (is_there(a, code, "", path)) {
    return true;
  }
  char *slash = strrchr(code, '/');
  if (slash) {
    *slash = 0;
  }
  return slash && is_there(a, code, "/lib", path);
}

int base_path_find(arena *a, const char **path, err *e) {
  char code[PATH_MAX];
  *path = secure_getenv("TUNED_BASE");
  if (*path && **path) {
    *path = arena_text(a, *path);
    return *path ? 0 : err_nomem(e);
  }
  if (find_code(code) && is_near(a, code, path)) {
    return 0;
  }
  if (*TUNED_LIBRARY_FOLDER && is_there(a, TUNED_LIBRARY_FOLDER, "", path)) {
    return 0;
  }
  return err_set(e, ERR_NOTFOUND, "no %s beside the library; `make base` makes it", file_name);
}
