/* worker_pool.h -- a pool of compile workers: processes that turn one source each at a time into an
 * image (compile_worker.h). */
#ifndef TUNE_WORKER_POOL_H
#define TUNE_WORKER_POOL_H

#include <poll.h>

#include "compile_worker.h"

enum { WORKER_POOL_MOST = 256 };

typedef struct worker_pool {
  compile_setting setting;
  size_t n;
  worker workers[WORKER_POOL_MOST];
  void *jobs[WORKER_POOL_MOST]; /* what each compiles, the caller's; NULL: it is idle */
} worker_pool;

/* worker_pool_open -- start the processes; they need no device. worker_pool_close, also on error.
 *   in  n  0: one per core; at most WORKER_POOL_MOST
 *   err ERR_IO  the system refused */
int worker_pool_open(worker_pool *p, const compile_setting *setting, int n, err *e);
void worker_pool_close(worker_pool *p);

/* worker_pool_start -- the idle worker i compiles a source, on behalf of `job`, which is not NULL.
 * A process that was killed is started again. */
int worker_pool_start(worker_pool *p, size_t i, const str *source, size_t body, void *job, err *e);
/* worker_pool_take -- receive the result of the busy worker i, which is idle then.
 *   out  *frame  holds what *out borrows; cleared by the caller
 *        *out    died: the process is gone, and why says how
 *   err  ERR_IO  the result makes no sense */
int worker_pool_take(worker_pool *p, size_t i, str *frame, compiled *out, err *e);
/* worker_pool_kill -- end what worker i does; returns its job, NULL when it was idle */
void *worker_pool_kill(worker_pool *p, size_t i);
/* worker_pool_compile -- one source, waited for, when all are idle.
 *   err ERR_COMPILE  it does not build, or takes longer than timeout_sec */
int worker_pool_compile(worker_pool *p, const str *source, size_t body, double timeout_sec,
                        str *frame, compiled *out, err *e);

size_t worker_pool_busy(const worker_pool *p); /* workers */
/* worker_pool_poll -- append a poll() entry for each busy worker; which[k] is the worker of fds[k].
 * Returns the new number of entries. */
size_t worker_pool_poll(const worker_pool *p, struct pollfd *fds, size_t *which, size_t n);

#endif
