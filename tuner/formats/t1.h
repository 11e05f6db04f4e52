/* t1.h -- a tuning problem in the T1 format of the auto-tuning community, as lines for a plain CUDA
 * file (generator/plain): the kernel's file, its parameters, conditions, compiler options, grid,
 * block and arguments.
 *
 * Where the file gives both a ProblemSize and a GlobalSize, the grid is Kernel Tuner's: the problem's
 * size, divided by GridDivX, ..., rounded up. Otherwise it is GlobalSize: blocks, or with the
 * GlobalSizeType OpenCL threads. Random data are normally distributed, as in Kernel Tuner and BAT.
 *
 * src  github.com/odgaard/TuningSchema, TuningSchema.json */
#ifndef FORMATS_T1_H
#define FORMATS_T1_H

#include "arena.h"
#include "err.h"

typedef struct t1_problem {
  const char *kernel_file; /* its path */
  const char *const *lines;
  size_t n_lines;
} t1_problem;

/* t1_open --
 *   out  *out  in the arena
 *   err  ERR_NOTFOUND, ERR_IO, ERR_LIMIT  the file, or the kernel's
 *        ERR_USAGE  not T1, another language, or what cannot be expressed; place is the file */
int t1_open(const char *path, arena *a, t1_problem *out, err *e);
/* t1_parse -- the same from text in memory */
int t1_parse(const char *path, const char *text, size_t n, arena *a, t1_problem *out, err *e);
/* t1_is_path -- does the name end in .json? */
int t1_is_path(const char *name);

#endif
