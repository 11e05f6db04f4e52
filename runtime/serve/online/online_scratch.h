/* online_scratch.h -- copies of a launch's outputs for a variant to write, with guards around them
 * that detect writes out of bounds. They are kept from trial to trial. */
#ifndef ONLINE_SCRATCH_H
#define ONLINE_SCRATCH_H

#include "device.h"
#include "gen.h"

typedef struct online_scratch {
  rt_device *device;
  const gen_template *t;
  rt_ptr *at;     /* per argument: the buffer, guards included; 0: no output */
  size_t *nbytes; /* of it, without guards */
} online_scratch;

/* online_scratch_init -- nothing is allocated on the device; in the arena */
int online_scratch_init(online_scratch *s, rt_device *device, const gen_template *t, arena *a,
                        err *e);
/* online_scratch_release -- frees the device memory; the scratch can be used again */
void online_scratch_release(online_scratch *s);
/* online_scratch_take -- allocate for outputs of these sizes; err ERR_LIMIT: more than 64 MiB */
int online_scratch_take(online_scratch *s, const gen_data *data, err *e);
/* online_scratch_fill -- write the guards, copy the caller's outputs; asynchronous */
int online_scratch_fill(online_scratch *s, rt_stream stream, const void *const *args, err *e);
/* online_scratch_args -- the caller's arguments with the scratch in place of the outputs; in the
 * arena. NULL: out of memory */
const void *const *online_scratch_args(const online_scratch *s, const void *const *args, arena *a);
/* online_scratch_compare -- *same: the guards hold and the results agree with the caller's; waits
 * for the device's default stream */
int online_scratch_compare(const online_scratch *s, const gen_data *data, const void *const *args,
                           bool *same, err *e);

#endif
