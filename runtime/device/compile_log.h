/* compile_log.h -- parses the log of NVRTC and ptxas. Private to compile.c and its test.
 *
 * Two kinds of lines matter: the first error, which becomes the message of the err, and ptxas's
 * report of each kernel (registers, stack, spills, shared memory), printed with -v. Both are prose
 * that changes between versions, so unknown lines are skipped. */
#ifndef RT_COMPILE_LOG_H
#define RT_COMPILE_LOG_H

#include "arena.h"
#include "err.h"
#include "kernel_info.h"

/* log_kernels -- one entry per "Compiling entry function", in the log's order, in the arena.
 *   err  ERR_NOMEM */
int log_kernels(const char *log, arena *a, const rt_kernel_info **kernels, size_t *n, err *e);
/* log_error -- set *e from the first line that is an error; returns ERR_COMPILE.
 *   in  fallback  the message if there is none */
int log_error(const char *log, const char *fallback, err *e);

#endif
