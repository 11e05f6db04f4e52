/* serve_capture.h -- TUNED_CAPTURE: which problems does a program really ask for, and how often?
 *
 * The file has a problem a line, "sgemm m=1000 n=64 k=64 ta=n tb=n align=4  # 17 calls", as
 * `autotune tune-captured` and `autotune FAMILY --sizes` read it. What it holds already is added
 * to, so several contexts and processes may share it. It is written when a problem is met for the
 * first time (every second at most) and when the context is closed: a program that is killed loses
 * counts, hardly problems. */
#ifndef SERVE_CAPTURE_H
#define SERVE_CAPTURE_H

#include "err.h"

struct serve;
typedef struct serve_capture serve_capture;

/* serve_capture_open -- "%p" in the name stands for the process's number.
 *   err  ERR_IO  the file can't be written */
int serve_capture_open(const char *pattern, serve_capture **out, err *e);
/* serve_capture_note -- a kernel was made; under the context's lock */
void serve_capture_note(struct serve *s);
/* serve_capture_close -- write what is not written; `s` has its kernels still */
void serve_capture_close(struct serve *s);

#endif
