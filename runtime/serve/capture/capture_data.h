/* capture_data.h -- what one launch reads, as a file (run_captured.h). */
#ifndef CAPTURE_DATA_H
#define CAPTURE_DATA_H

#include "err.h"
#include "tuned.h"

/* capture_data_write -- the arguments "in" and "inout", and scalars, of a launch whose arguments
 * were checked; waits for the stream and takes the context's lock
 *   err  ERR_USAGE  matrices that only an array of addresses leads to; more than 1 GiB */
int capture_data_write(tuned_kernel *k, tuned_stream stream, const void *const *args,
                       const char *path, err *e);

#endif
