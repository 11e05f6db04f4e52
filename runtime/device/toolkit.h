/* toolkit.h -- libraries of the CUDA toolkit, opened at run time: no program of ours is linked with
 * them, and one that needs none starts where no toolkit is installed. */
#ifndef RT_TOOLKIT_H
#define RT_TOOLKIT_H

#include <stddef.h>

#include "err.h"

typedef struct toolkit_library {
  const char *name;             /* for messages: "NVRTC (libnvrtc.so.13 or .12)" */
  const char *variable;         /* of the environment, names the file: "AUTOTUNE_NVRTC" */
  const char *package;          /* of PyPI that has it: "nvidia-cuda-nvrtc" */
  const char *sonames[4];       /* the first that loads is taken; ends with NULL */
  const char *wheel_folders[4]; /* where pip puts it, below a --target; ends with NULL */
} toolkit_library;

/* toolkit_open -- the variable's file when it is set, else the first that loads: by the loader's
 * rules, of $CUDA_HOME, of /usr/local/cuda, of build/cuda beside the program.
 *   out  *handle  of dlopen; stays open until the program ends
 *   err  ERR_DEVICE  none does; says how to get it, and what the loader said of one that exists */
int toolkit_open(const toolkit_library *l, void **handle, err *e);

#endif
