/* threads.h -- parallel loops over independent work. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* threads_each -- call one(self, i) for every i below n, in any order, on at most this many
 * threads; returns when all are done. The calling thread works too, so failing to start threads
 * only takes longer */
void threads_each(size_t n, size_t threads, void (*one)(void *self, size_t i), void *self);

/* threads_start -- pthread_create, with a stack of at least 8 MB: the limit of the process may be
 * much smaller, and compilers and matrices of the emulated device need more. 0: started */
int threads_start(pthread_t *t, void *(*work)(void *), void *arg);
/* threads_cores -- the number of online processors, at least 1 */
size_t threads_cores(void);

#endif
