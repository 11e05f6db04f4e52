/* compile_worker.h -- NVRTC in child processes, one source at a time each.
 *
 * Processes rather than threads: they scale alike, and a compiler that crashes or hangs costs one
 * candidate.
 */
#ifndef TUNE_COMPILE_WORKER_H
#define TUNE_COMPILE_WORKER_H

#include "compile.h"
#include "worker.h"

typedef struct compile_setting {
  rt_compiler *compiler; /* opened before the fork: its pages are shared */
  char arch[16];
  bool lineinfo;
  bool registers; /* PTX with ptxas's registers noted: for the emulated device's cost model */
} compile_setting;

typedef struct compiled { /* a result; texts and bytes are borrowed from its frame */
  err why;                /* code 0: it built */
  bool died;              /* the process did, before it answered */
  const char *log;
  const void *cubin, *ptx;
  size_t n_cubin, n_ptx;
  int regs;
  int64_t spill, smem; /* bytes, of the kernel with the most */
  double sec;
} compiled;

worker_main compile_worker_main; /* setting: compile_setting */
/* compile_worker_request -- the frame for one source */
void compile_worker_request(str *frame, const char *text, size_t body);
/* compile_worker_result -- err ERR_IO: the frame is malformed */
int compile_worker_result(const str *frame, compiled *out, err *e);

#endif
