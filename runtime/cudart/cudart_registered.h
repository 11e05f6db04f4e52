/* cudart_registered.h -- memory of the host that cudaHostRegister made known to the device.
 *
 * Once its device address is asked for, the device has a copy, which is brought up to date before work of the
 * device and copied back after it. All work ends within its call, so only host threads that poll would notice. */
#ifndef CUDART_REGISTERED_H
#define CUDART_REGISTERED_H

#include "cudart_process.h"

/* cudart_registered_in, cudart_registered_out -- before and after work of the device */
void cudart_registered_in(cudart *c);
void cudart_registered_out(cudart *c);
/* cudart_registered_has -- does this memory of the host contain the address? *flags: as it was registered */
bool cudart_registered_has(cudart *c, const void *p, unsigned *flags);
/* cudart_registered_map -- the device's address of it
 *   err  cudaErrorInvalidValue  it is not registered; cudaErrorMemoryAllocation */
cudaError_t cudart_registered_map(cudart *c, void *p, void **device);
/* cudart_registered_forget -- the device closes */
void cudart_registered_forget(void);

#endif
