/* cudart_process.h -- what libtuned_emu_cudart.so keeps for a program: the emulated device, the errors of its
 * calls, and what autotune run-program learns of it.
 *
 * The CUDA runtime has no contexts in its calls: there is one device for the whole program, which opens at the
 * first call. A finding fails all further calls, as a fault on a GPU does. Every call holds the lock. */
#ifndef CUDART_PROCESS_H
#define CUDART_PROCESS_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>

#include "device.h"

typedef struct cudart {
  rt_device *d;
  cudaError_t sticky; /* cudaSuccess, or what all calls return */
  const char *profile;
  uint64_t generation;  /* of the device: cudaDeviceReset closes it */
  rt_ptr *graph_memory; /* what memory nodes of graphs have allocated */
  size_t n_graph_memory, graph_memory_room;
} cudart;

/* cudart_enter -- lock, and open the device. A program whose device cannot open ends with a line */
cudart *cudart_enter(void);
/* cudart_leave -- unlock; returns and remembers the error of a call */
cudaError_t cudart_leave(cudart *c, cudaError_t error);
/* cudart_invalid -- cudaErrorInvalidValue, remembered, of a call that has not entered */
cudaError_t cudart_invalid(void);
/* cudart_lock, cudart_unlock -- for what needs no device */
void cudart_lock(void);
void cudart_unlock(void);
/* cudart_reset -- close the device; its memory and modules are gone */
void cudart_reset(cudart *c);
/* cudart_last_error -- of this thread; forget: begin anew */
cudaError_t cudart_last_error(bool forget);
/* cudart_ends -- print one line and end the program with the status of what cannot be run */
_Noreturn void cudart_ends(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* cudart_finding -- report a fault that the device found in the launch or copy of `what` */
void cudart_finding(const err *why, const char *what);
/* cudart_note -- report what did not end a launch */
void cudart_note(const char *text);
/* cudart_count_launch -- for the summary */
void cudart_count_launch(void);

/* Run in a call: declares c, and leaves at once where an earlier finding failed the device. */
#define CUDART_ENTER(c)                                                                            \
  cudart *c = cudart_enter();                                                                      \
  if (c->sticky) {                                                                                 \
    return cudart_leave(c, c->sticky);                                                             \
  }

/* Leaves a call whose caller gave a null pointer for what it cannot do without. */
#define CUDART_NEEDS(pointers)                                                                     \
  do {                                                                                             \
    if (!(pointers)) {                                                                             \
      return cudart_invalid();                                                                     \
    }                                                                                              \
  } while (0)

static inline rt_ptr cudart_address(const void *p) {
  return (rt_ptr)(uintptr_t)p;
}

#endif
