/* cuda_streams.h -- streams, events and graphs of a GPU: see rt_device_ops. */
#ifndef RT_CUDA_STREAMS_H
#define RT_CUDA_STREAMS_H

#include "device.h"

int cuda_stream_new(rt_device *d, rt_stream *s, err *e);
int cuda_stream_beside(rt_device *d, rt_stream *s, err *e);
void cuda_stream_free(rt_device *d, rt_stream s);
int cuda_stream_sync(rt_device *d, rt_stream s, err *e);
int cuda_event_new(rt_device *d, rt_event **ev, err *e);
void cuda_event_free(rt_device *d, rt_event *ev);
int cuda_event_record(rt_device *d, rt_event *ev, rt_stream s, err *e);
int cuda_stream_wait(rt_device *d, rt_stream s, rt_event *ev, err *e);
int cuda_elapsed(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e);
int cuda_graph_new(rt_device *d, int (*record)(void *, rt_stream, err *), void *self, rt_graph **g,
                   err *e);
void cuda_graph_free(rt_device *d, rt_graph *g);
int cuda_graph_launch(rt_device *d, rt_graph *g, rt_stream s, err *e);
int cuda_event_sync(rt_device *d, rt_event *ev, err *e);
/* cuda_while.c */
int cuda_while_add(rt_device *d, rt_stream s,
                   int (*record)(void *self, rt_stream s, uint64_t handle, bool body, err *e),
                   void *self, err *e);
bool cuda_capturing(rt_device *d, rt_stream s);

#endif
