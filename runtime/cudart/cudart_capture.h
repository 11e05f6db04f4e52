/* cudart_capture.h -- capture of streams into graphs: which streams take part in which capture, and the nodes that
 * the next work of each waits for. */
#ifndef CUDART_CAPTURE_H
#define CUDART_CAPTURE_H

#include "cudart_graph.h"

/* cudart_capture_work -- true: the call is done, because the stream is captured, or must not be used now
 *   out  *error  what the call returns then */
bool cudart_capture_work(cudart *c, cudaStream_t s, cudart_work *w, cudaError_t *error);
/* cudart_capture_record, cudart_capture_wait -- the same for events; flags are those of the calls */
bool cudart_capture_record(cudart *c, cudaStream_t s, cudaEvent_t event, unsigned flags,
                           cudaError_t *error);
bool cudart_capture_wait(cudart *c, cudaStream_t s, cudaEvent_t event, unsigned flags,
                         cudaError_t *error);
/* cudart_capture_forget -- the event is destroyed, or recorded outside of captures */
void cudart_capture_forget(cudaEvent_t event);
/* cudart_capture_has -- was the event recorded in a capture that goes on? */
bool cudart_capture_has(cudaEvent_t event);
/* cudart_capture_forbids -- what waits for a stream, or for the device (all), ends captures, and work of the legacy
 * stream ends those of streams that wait for it; cudaSuccess: nothing is against it */
cudaError_t cudart_capture_forbids(cudaStream_t s, bool all);
/* cudart_capture_unsafe -- may this thread make a call that could wait for other streams, as cudaMalloc? */
cudaError_t cudart_capture_unsafe(void);
/* cudart_capture_end_all -- the device closes */
void cudart_capture_end_all(void);

#endif
