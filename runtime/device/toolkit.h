/* toolkit.h -- libraries of the CUDA toolkit, opened at run time: none is linked, so a program that
 * uses none starts without a toolkit. */
#ifndef RT_TOOLKIT_H
#define RT_TOOLKIT_H

#include <limits.h>
#include <stddef.h>

#include "err.h"

typedef struct toolkit_library {
  const char *name;             /* for messages: "NVRTC (libnvrtc.so.13 or .12)" */
  const char *variable;         /* environment variable with the file's path: "AUTOTUNE_NVRTC" */
  const char *package;          /* the package of PyPI: "nvidia-cuda-nvrtc" */
  const char *sonames[4];       /* tried in this order; ends with NULL */
  const char *wheel_folders[4]; /* where pip puts it, below a --target; ends with NULL */
} toolkit_library;

/* toolkit_open -- the variable's file if it is set; else the first that loads by the loader's
 * rules, from $CUDA_HOME, /usr/local/cuda, or build/cuda next to the program.
 *   out  *handle  of dlopen; stays open until the program ends
 *   err  ERR_DEVICE  not found; says how to get it, or the loader's message if a file exists */
int toolkit_open(const toolkit_library *l, void **handle, err *e);
/* toolkit_file -- the variable's file if it is set; else the first of those paths that can be read, which
 * is not opened; for what is no library, and to know whether one is installed
 *   err  ERR_DEVICE  not found; says how to get it */
int toolkit_file(const toolkit_library *l, char path[PATH_MAX], err *e);

#endif
