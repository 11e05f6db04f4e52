/* cudart_api.h -- the functions behind the exported names (cudart_names.h). */
#ifndef CUDART_API_H
#define CUDART_API_H

#include <cuda_runtime_api.h>

#include "cudart_names.h"

/* The toolkit's header gives the prototypes. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define CUDART_DECLARE(name) __typeof__(name) emu_##name;
CUDART_CALLS(CUDART_DECLARE)
CUDART_STREAM_CALLS(CUDART_DECLARE)
CUDART_DEFAULT_STREAM_CALLS(CUDART_DECLARE)
#undef CUDART_DECLARE
#pragma GCC diagnostic pop

/* Called by the code that nvcc generates: crt/host_runtime.h, which is C++. */
void **emu_register_binary(void *text);
void emu_register_end(void **binary);
void emu_unregister_binary(void **binary);
void emu_register_function(void **binary, const char *host, char *stub, const char *name,
                           int threads, void *tid, void *bid, void *block, void *grid, int *warp);
void emu_register_variable(void **binary, char *host, char *address, const char *name, int external,
                           size_t nbytes, int constant, int global);
void emu_register_managed(void **binary, void **pointer, char *address, const char *name,
                          int external, size_t nbytes, int constant, int global);
char emu_init_module(void **binary);
cudaError_t emu_registered_kernel(cudaKernel_t *handle, const void *func);
unsigned emu_push_configuration(dim3 grid, dim3 block, size_t smem, cudaStream_t stream);
cudaError_t emu_pop_configuration(dim3 *grid, dim3 *block, size_t *smem, void *stream);

/* Those whose prototype depends on the version. */
cudaError_t emu_properties_12(void *properties, int device);
cudaError_t emu_properties_13(void *properties, int device);
cudaError_t emu_stream_device(cudaStream_t stream, int *device);
cudaError_t emu_capture_info_1(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id);
cudaError_t emu_capture_info_2(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *g,
                               const cudaGraphNode_t **before, size_t *n);
cudaError_t emu_capture_info_3(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *g,
                               const cudaGraphNode_t **before, const void **data, size_t *n);
cudaError_t emu_update_capture_12(cudaStream_t s, cudaGraphNode_t *before, size_t n,
                                  unsigned flags);
cudaError_t emu_update_capture_13(cudaStream_t s, cudaGraphNode_t *before, const void *data,
                                  size_t n, unsigned flags);
cudaError_t emu_add_edges_12(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             size_t n);
cudaError_t emu_add_edges_13(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             const void *data, size_t n);
cudaError_t emu_remove_edges_12(cudaGraph_t g, const cudaGraphNode_t *from,
                                const cudaGraphNode_t *to, size_t n);
cudaError_t emu_remove_edges_13(cudaGraph_t g, const cudaGraphNode_t *from,
                                const cudaGraphNode_t *to, const void *data, size_t n);
cudaError_t emu_edges_12(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n);
cudaError_t emu_edges_13(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, void *data,
                         size_t *n);
cudaError_t emu_dependencies_12(cudaGraphNode_t node, cudaGraphNode_t *before, size_t *n);
cudaError_t emu_dependencies_13(cudaGraphNode_t node, cudaGraphNode_t *before, void *data,
                                size_t *n);
cudaError_t emu_dependents_12(cudaGraphNode_t node, cudaGraphNode_t *after, size_t *n);
cudaError_t emu_dependents_13(cudaGraphNode_t node, cudaGraphNode_t *after, void *data, size_t *n);
cudaError_t emu_add_node_12(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before,
                            size_t n, struct cudaGraphNodeParams *p);
cudaError_t emu_add_node_13(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before,
                            const void *data, size_t n, struct cudaGraphNodeParams *p);
struct cudaChannelFormatDesc emu_channel_desc(int x, int y, int z, int w,
                                              enum cudaChannelFormatKind kind);
/* Of cudaMemcpy3D: with an array. */
cudaError_t cudart_copy_3d_array(const struct cudaMemcpy3DParms *p);
/* Hints and settings that make no difference here; every argument is ignored. */
cudaError_t emu_nothing(void);
/* Ends the program. */
_Noreturn void emu_refuse(const char *name);

#endif
