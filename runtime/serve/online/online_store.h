/* online_store.h -- store the best configuration found, for the next process. */
#ifndef ONLINE_STORE_H
#define ONLINE_STORE_H

#include "online_variant.h"

/* online_store -- if the database can't be written, nothing is stored
 *   in  served   the kernel that serves the problem
 *       best     the variant it is; all zero: the kernel that was found
 *       sec      its median time, of `launches`
 *       nvrtc    the compiler's version */
void online_store(const tuned_kernel *served, const online_variant *best, double sec, int launches,
                  int nvrtc);

#endif
