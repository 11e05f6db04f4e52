/* worker.h -- a child process that answers one request after another.
 *
 * Code that may crash, hang or corrupt its process (NVRTC, a candidate kernel) runs in one of
 * these. The parent opens no device and starts no thread, so it can fork at any time; a child
 * inherits the parent's templates and needs no exec. The child dies with its parent.
 */
#ifndef TUNE_WORKER_H
#define TUNE_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "wire.h"

/* Answers requests until the parent closes; runs in the child. */
typedef void worker_main(int fd, void *setting);

typedef struct worker {
  worker_main *run;
  void *setting; /* the caller's, must outlive the worker */
  pid_t pid;     /* 0: not running */
  int fd;        /* of the parent's end; for poll() */
  bool busy;     /* a request is under way */
  double since;  /* now_sec() when it was sent */
} worker;

/* worker_start -- fork. err ERR_IO: the system refused */
int worker_start(worker *w, err *e);
/* worker_stop -- kill it and collect it; does nothing when it isn't running */
void worker_stop(worker *w);
/* worker_ask -- send a request; the answer is there when w->fd is readable */
int worker_ask(worker *w, const str *request, err *e);
/* worker_answer -- receive it.
 *   err ERR_NOTFOUND  the child died and was collected; *how says why, e.g. "signal 11
 *                     (Segmentation fault)". worker_start makes a new one */
int worker_answer(worker *w, str *answer, str *how, err *e);

#endif
