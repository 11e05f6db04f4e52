/* serve_capture.h -- TUNED_CAPTURE: which problems does a program really ask for, and how often?
 *
 * The file has a problem a line, "sgemm m=1000 n=64 k=64 ta=n tb=n align=4  # 17 calls", as
 * `autotune tune-captured` and `autotune FAMILY --sizes` read it. What it holds already is added
 * to, so several contexts and processes may share it. It is written when a problem is met for the
 * first time (every second at most) and when the context is closed: a program that is killed loses
 * counts, hardly problems.
 *
 * TUNED_CAPTURE_DATA names a folder for what the kernels read: the arguments "in" and "inout", and
 * scalars, of the first launch of every problem, in a file of its own (run_captured.h), FAMILY, the
 * digest of the problem, ".data", mode 0600: they are the user's. The line of the list then ends
 * with ", data PATH". Before that launch the call waits for its stream and copies from the device;
 * in a stream that is being captured into a graph nothing can be waited for, so that a later launch
 * is taken. More than 1 GiB of a problem, or matrices that only an array of addresses leads to, are
 * not kept. What can't be kept is told once on standard error; the launch goes on. */
#ifndef SERVE_CAPTURE_H
#define SERVE_CAPTURE_H

#include <stdatomic.h>

#include "err.h"
#include "str.h"
#include "tuned.h"

struct serve;

typedef struct serve_capture {
  char *path;
  char *folder;        /* of the data; NULL: nobody asked for them */
  double written;      /* now_sec(); 0: never */
  atomic_bool told[2]; /* on standard error: of data that could not be kept, by serve_untold */
} serve_capture;

/* serve_capture_open -- "%p" in the names stands for the process's number.
 *   in   data    a folder for the data, made if need be; NULL or empty: they are not kept
 *   err  ERR_IO  the file or the folder can't be written */
int serve_capture_open(const char *pattern, const char *data, serve_capture **out, err *e);
/* serve_capture_note -- a kernel was made; under the context's lock */
void serve_capture_note(struct serve *s);
/* serve_capture_data -- before a launch whose arguments were checked: if it is the first of its
 * problem, wait for the stream and keep what the kernel reads. Nothing that goes wrong is the
 * launch's. Takes the context's lock. */
void serve_capture_data(tuned_kernel *k, tuned_stream stream, const void *const *args);
/* serve_capture_data_path -- append where its data are; nothing when they aren't */
void serve_capture_data_path(const tuned_kernel *k, str *out);
/* serve_capture_problem -- append the problem, as the command line would be given it: a template of
 * the program's own by its path */
void serve_capture_problem(const tuned_kernel *k, str *out);
/* serve_capture_write -- the list, now; under the context's lock */
void serve_capture_write(struct serve *s);
/* serve_capture_close -- write what is not written; `s` has its kernels still */
void serve_capture_close(struct serve *s);

#endif
