/* serve_capture.h -- TUNED_CAPTURE: which problems does a program request, and how often?
 *
 * The file has a problem a line, "sgemm m=1000 n=64 k=64 ta=n tb=n align=4  # 17 calls", as
 * `autotune tune-captured` and `autotune FAMILY --sizes` read it. Problems and counts are added to
 * what it holds, so several contexts and processes may share it. It is written when a new problem
 * occurs (once a second at most) and when the context is closed: a program that is killed loses
 * counts, hardly problems.
 *
 * TUNED_CAPTURE_DATA names a folder for what the kernels read at the first launch of every problem
 * (capture_data.h), in a file of its own, FAMILY-DIGEST.data, mode 0600: the data are the user's.
 * The line of the list then ends with ", data PATH". Before that launch the call waits for its
 * stream and copies from the device; if the stream is being captured into a graph, a later launch
 * is used. Data that can't be kept are reported once on standard error; no launch fails because of
 * it. "%p" in either name stands for the process id. */
#ifndef SERVE_CAPTURE_H
#define SERVE_CAPTURE_H

#include "serve_context.h"

/* serve_capture_begin -- if the environment asks for it; before the context is in use
 *   err  ERR_IO     the file or the folder can't be written
 *        ERR_USAGE  a folder for data, and no file */
int serve_capture_begin(serve *s, err *e);

#endif
