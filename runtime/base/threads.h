/* threads.h -- independent pieces of work on all cores. */
#ifndef TUNE_THREADS_H
#define TUNE_THREADS_H

#include <stddef.h>

/* threads_each -- one(self, i) for every i below n, each once, in no order, by so many threads at
 * most; returns when all are done. Threads that can't be started are gone without: the caller's
 * works, too. */
void threads_each(size_t n, size_t threads, void (*one)(void *self, size_t i), void *self);

/* threads_cores -- processors that are online, at least 1 */
size_t threads_cores(void);

#endif
