/* cudart_names.h -- what libtuned_emu_cudart.so exports, by how each call is answered.
 *
 * Version 12 and version 13 of the CUDA runtime differ in few of them: each name is exported under both
 * versions' ELF symbol versions. _ptsz and _ptds are the same calls with the default stream of each thread. */
#ifndef CUDART_NAMES_H
#define CUDART_NAMES_H

/* clang-format off */

/* Implemented by emu_NAME, with the prototype of the toolkit's header. */
#define CUDART_CALLS(X)                                                                            \
  X(cudaArrayGetInfo) X(cudaChooseDevice) X(cudaCreateSurfaceObject) X(cudaCreateTextureObject)    \
  X(cudaDestroySurfaceObject) X(cudaDestroyTextureObject) X(cudaDeviceCanAccessPeer)               \
  X(cudaDeviceDisablePeerAccess) X(cudaDeviceEnablePeerAccess) X(cudaDeviceGetAttribute)           \
  X(cudaDeviceGetByPCIBusId) X(cudaDeviceGetCacheConfig) X(cudaDeviceGetDefaultMemPool)            \
  X(cudaDeviceGetLimit) X(cudaDeviceGetMemPool) X(cudaDeviceGetP2PAttribute)                       \
  X(cudaDeviceGetPCIBusId) X(cudaDeviceGetStreamPriorityRange) X(cudaDeviceReset)                  \
  X(cudaDeviceSetLimit) X(cudaDeviceSynchronize) X(cudaDriverGetVersion) X(cudaEventCreate)        \
  X(cudaEventCreateWithFlags) X(cudaEventDestroy) X(cudaEventElapsedTime) X(cudaEventQuery)        \
  X(cudaEventSynchronize) X(cudaFree) X(cudaFreeArray) X(cudaFreeHost) X(cudaFuncGetAttributes)    \
  X(cudaFuncGetName) X(cudaFuncSetAttribute) X(cudaGetChannelDesc) X(cudaGetDevice)                \
  X(cudaGetDeviceCount) X(cudaGetDeviceFlags) X(cudaGetErrorName) X(cudaGetErrorString)            \
  X(cudaGetFuncBySymbol) X(cudaGetKernel) X(cudaGetLastError) X(cudaGetSymbolAddress)              \
  X(cudaGetSymbolSize) X(cudaGraphAddChildGraphNode) X(cudaGraphAddEmptyNode)                      \
  X(cudaGraphAddEventRecordNode) X(cudaGraphAddEventWaitNode) X(cudaGraphAddHostNode)              \
  X(cudaGraphAddKernelNode) X(cudaGraphAddMemAllocNode) X(cudaGraphAddMemFreeNode)                 \
  X(cudaGraphAddMemcpyNode) X(cudaGraphAddMemcpyNode1D) X(cudaGraphAddMemcpyNodeFromSymbol)        \
  X(cudaGraphAddMemcpyNodeToSymbol) X(cudaGraphAddMemsetNode) X(cudaGraphChildGraphNodeGetGraph)   \
  X(cudaGraphClone) X(cudaGraphConditionalHandleCreate) X(cudaGraphCreate) X(cudaGraphDestroy)     \
  X(cudaGraphDestroyNode) X(cudaGraphEventRecordNodeGetEvent) X(cudaGraphEventRecordNodeSetEvent)  \
  X(cudaGraphEventWaitNodeGetEvent) X(cudaGraphEventWaitNodeSetEvent)                              \
  X(cudaGraphExecChildGraphNodeSetParams) X(cudaGraphExecDestroy)                                  \
  X(cudaGraphExecEventRecordNodeSetEvent) X(cudaGraphExecEventWaitNodeSetEvent)                    \
  X(cudaGraphExecGetFlags) X(cudaGraphExecHostNodeSetParams) X(cudaGraphExecKernelNodeSetParams)   \
  X(cudaGraphExecMemcpyNodeSetParams) X(cudaGraphExecMemcpyNodeSetParams1D)                        \
  X(cudaGraphExecMemcpyNodeSetParamsFromSymbol) X(cudaGraphExecMemcpyNodeSetParamsToSymbol)        \
  X(cudaGraphExecMemsetNodeSetParams) X(cudaGraphExecNodeSetParams) X(cudaGraphExecUpdate)         \
  X(cudaGraphGetNodes) X(cudaGraphGetRootNodes) X(cudaGraphHostNodeGetParams)                      \
  X(cudaGraphHostNodeSetParams) X(cudaGraphInstantiate) X(cudaGraphInstantiateWithFlags)           \
  X(cudaGraphKernelNodeCopyAttributes) X(cudaGraphKernelNodeGetAttribute)                          \
  X(cudaGraphKernelNodeGetParams) X(cudaGraphKernelNodeSetAttribute)                               \
  X(cudaGraphKernelNodeSetParams) X(cudaGraphMemAllocNodeGetParams)                                \
  X(cudaGraphMemFreeNodeGetParams) X(cudaGraphMemcpyNodeGetParams)                                 \
  X(cudaGraphMemcpyNodeSetParams) X(cudaGraphMemcpyNodeSetParams1D)                                \
  X(cudaGraphMemcpyNodeSetParamsFromSymbol) X(cudaGraphMemcpyNodeSetParamsToSymbol)                \
  X(cudaGraphMemsetNodeGetParams) X(cudaGraphMemsetNodeSetParams) X(cudaGraphNodeFindInClone)      \
  X(cudaGraphNodeGetEnabled) X(cudaGraphNodeGetType) X(cudaGraphNodeSetEnabled)                    \
  X(cudaGraphNodeSetParams) X(cudaHostAlloc) X(cudaHostGetDevicePointer) X(cudaHostGetFlags)       \
  X(cudaHostRegister) X(cudaHostUnregister) X(cudaMalloc) X(cudaMalloc3D) X(cudaMalloc3DArray)     \
  X(cudaMallocArray) X(cudaMallocHost) X(cudaMallocManaged) X(cudaMallocPitch) X(cudaMemGetInfo)   \
  X(cudaMemPoolCreate) X(cudaMemPoolDestroy) X(cudaMemPoolGetAttribute) X(cudaMemcpyPeer)          \
  X(cudaMemcpyPeerAsync) X(cudaOccupancyAvailableDynamicSMemPerBlock)                              \
  X(cudaOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
  X(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) X(cudaPeekAtLastError)                 \
  X(cudaPointerGetAttributes) X(cudaRuntimeGetVersion) X(cudaSetDevice) X(cudaSetDeviceFlags)      \
  X(cudaStreamCreate) X(cudaStreamCreateWithFlags) X(cudaStreamCreateWithPriority)                 \
  X(cudaStreamDestroy) X(cudaThreadExchangeStreamCaptureMode)

/* The same; NAME_ptsz too. */
#define CUDART_STREAM_CALLS(X)                                                                     \
  X(cudaEventRecord) X(cudaEventRecordWithFlags) X(cudaFreeAsync)                                  \
  X(cudaGraphInstantiateWithParams) X(cudaGraphLaunch) X(cudaLaunchCooperativeKernel)              \
  X(cudaLaunchHostFunc) X(cudaLaunchKernel) X(cudaLaunchKernelExC) X(cudaMallocAsync)              \
  X(cudaMallocFromPoolAsync) X(cudaMemcpy2DAsync) X(cudaMemcpy2DFromArrayAsync)                    \
  X(cudaMemcpy2DToArrayAsync) X(cudaMemcpy3DAsync) X(cudaMemcpyAsync)                              \
  X(cudaMemcpyFromSymbolAsync) X(cudaMemcpyToSymbolAsync) X(cudaMemset2DAsync)                     \
  X(cudaMemset3DAsync) X(cudaMemsetAsync) X(cudaStreamAddCallback) X(cudaStreamBeginCapture)       \
  X(cudaStreamBeginCaptureToGraph) X(cudaStreamEndCapture) X(cudaStreamGetFlags)                   \
  X(cudaStreamGetId) X(cudaStreamGetPriority) X(cudaStreamIsCapturing) X(cudaStreamQuery)          \
  X(cudaStreamSynchronize) X(cudaStreamWaitEvent)

/* The same; NAME_ptds too. */
#define CUDART_DEFAULT_STREAM_CALLS(X)                                                             \
  X(cudaMemcpy) X(cudaMemcpy2D) X(cudaMemcpy2DFromArray) X(cudaMemcpy2DToArray) X(cudaMemcpy3D)    \
  X(cudaMemcpyFromArray) X(cudaMemcpyFromSymbol) X(cudaMemcpyToArray) X(cudaMemcpyToSymbol)        \
  X(cudaMemset) X(cudaMemset2D) X(cudaMemset3D)

/* name, the function that answers */
#define CUDART_ALIASES(X)                                                                          \
  X(__cudaGetKernel, emu_registered_kernel) X(__cudaInitModule, emu_init_module)                   \
  X(__cudaLaunchKernel, emu_cudaLaunchKernel) X(__cudaLaunchKernel_ptsz, emu_cudaLaunchKernel)     \
  X(__cudaPopCallConfiguration, emu_pop_configuration)                                             \
  X(__cudaPushCallConfiguration, emu_push_configuration)                                           \
  X(__cudaRegisterFatBinary, emu_register_binary) X(__cudaRegisterFatBinaryEnd, emu_register_end)  \
  X(__cudaRegisterFunction, emu_register_function) X(__cudaRegisterVar, emu_register_variable)     \
  X(__cudaRegisterManagedVar, emu_register_managed)                                                \
  X(__cudaUnregisterFatBinary, emu_unregister_binary) X(cudaCreateChannelDesc, emu_channel_desc)   \
  X(cudaGetDeviceProperties, emu_properties_13) X(cudaGetDeviceProperties_v2, emu_properties_12)   \
  X(cudaEventElapsedTime_v2, emu_cudaEventElapsedTime) X(cudaStreamGetDevice, emu_stream_device)   \
  X(cudaStreamGetDevice_ptsz, emu_stream_device) X(cudaThreadExit, emu_cudaDeviceReset)            \
  X(cudaThreadSynchronize, emu_cudaDeviceSynchronize) X(cudaInitDevice, emu_nothing)               \
  X(cudaSetValidDevices, emu_nothing) X(cudaDeviceSetCacheConfig, emu_nothing)                     \
  X(cudaDeviceSetSharedMemConfig, emu_nothing) X(cudaThreadSetCacheConfig, emu_nothing)            \
  X(cudaThreadSetLimit, emu_nothing) X(cudaFuncSetCacheConfig, emu_nothing)                        \
  X(cudaFuncSetSharedMemConfig, emu_nothing) X(cudaMemAdvise, emu_nothing)                         \
  X(cudaMemAdvise_v2, emu_nothing) X(cudaMemPrefetchAsync, emu_nothing)                            \
  X(cudaMemPrefetchAsync_ptsz, emu_nothing) X(cudaMemPrefetchAsync_v2, emu_nothing)                \
  X(cudaMemPrefetchAsync_v2_ptsz, emu_nothing) X(cudaStreamAttachMemAsync, emu_nothing)            \
  X(cudaStreamAttachMemAsync_ptsz, emu_nothing) X(cudaStreamSetAttribute, emu_nothing)             \
  X(cudaStreamSetAttribute_ptsz, emu_nothing) X(cudaStreamCopyAttributes, emu_nothing)             \
  X(cudaStreamCopyAttributes_ptsz, emu_nothing) X(cudaMemPoolSetAttribute, emu_nothing)            \
  X(cudaMemPoolTrimTo, emu_nothing) X(cudaMemPoolSetAccess, emu_nothing)                           \
  X(cudaDeviceSetMemPool, emu_nothing) X(cudaProfilerStart, emu_nothing)                           \
  X(cudaProfilerStop, emu_nothing) X(cudaCtxResetPersistingL2Cache, emu_nothing)                   \
  X(cudaGraphUpload, emu_nothing) X(cudaGraphUpload_ptsz, emu_nothing)                             \
  X(cudaDeviceGraphMemTrim, emu_nothing) X(cudaGraphAddDependencies_v2, emu_add_edges_13)          \
  X(cudaGraphRemoveDependencies_v2, emu_remove_edges_13) X(cudaGraphGetEdges_v2, emu_edges_13)     \
  X(cudaGraphNodeGetDependencies_v2, emu_dependencies_13)                                          \
  X(cudaGraphNodeGetDependentNodes_v2, emu_dependents_13) X(cudaGraphAddNode_v2, emu_add_node_13)  \
  X(cudaStreamUpdateCaptureDependencies_v2, emu_update_capture_13)                                 \
  X(cudaStreamUpdateCaptureDependencies_v2_ptsz, emu_update_capture_13)                            \
  X(cudaStreamGetCaptureInfo_v2, emu_capture_info_2)                                               \
  X(cudaStreamGetCaptureInfo_v2_ptsz, emu_capture_info_2)                                          \
  X(cudaStreamGetCaptureInfo_v3, emu_capture_info_3)                                               \
  X(cudaStreamGetCaptureInfo_v3_ptsz, emu_capture_info_3)

/* name, the function that answers version 12, the one that answers version 13: its prototype changed */
#define CUDART_CHANGED(X)                                                                          \
  X(cudaGraphAddDependencies, emu_add_edges_12, emu_add_edges_13)                                  \
  X(cudaGraphRemoveDependencies, emu_remove_edges_12, emu_remove_edges_13)                         \
  X(cudaGraphGetEdges, emu_edges_12, emu_edges_13)                                                 \
  X(cudaGraphNodeGetDependencies, emu_dependencies_12, emu_dependencies_13)                        \
  X(cudaGraphNodeGetDependentNodes, emu_dependents_12, emu_dependents_13)                          \
  X(cudaGraphAddNode, emu_add_node_12, emu_add_node_13)                                            \
  X(cudaStreamUpdateCaptureDependencies, emu_update_capture_12, emu_update_capture_13)             \
  X(cudaStreamUpdateCaptureDependencies_ptsz, emu_update_capture_12, emu_update_capture_13)        \
  X(cudaStreamGetCaptureInfo, emu_capture_info_1, emu_capture_info_3)                              \
  X(cudaStreamGetCaptureInfo_ptsz, emu_capture_info_1, emu_capture_info_3)

/* Neither: a call ends the program with a line that names it. */
#define CUDART_REFUSED(X)                                                                          \
  X(__cudaGetProcAddress) X(__cudaRegisterHostVar) X(__cudaRegisterUnifiedTable)                   \
  X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) X(cudaArrayGetSparseProperties)           \
  X(cudaDestroyExternalMemory) X(cudaDestroyExternalSemaphore)                                     \
  X(cudaDeviceFlushGPUDirectRDMAWrites) X(cudaDeviceGetGraphMemAttribute)                          \
  X(cudaDeviceGetHostAtomicCapabilities) X(cudaDeviceGetNvSciSyncAttributes)                       \
  X(cudaDeviceGetP2PAtomicCapabilities) X(cudaDeviceGetSharedMemConfig)                            \
  X(cudaDeviceGetTexture1DLinearMaxWidth) X(cudaDeviceRegisterAsyncNotification)                   \
  X(cudaDeviceSetGraphMemAttribute) X(cudaDeviceUnregisterAsyncNotification)                       \
  X(cudaEGLStreamConsumerAcquireFrame) X(cudaEGLStreamConsumerConnect)                             \
  X(cudaEGLStreamConsumerConnectWithFlags) X(cudaEGLStreamConsumerDisconnect)                      \
  X(cudaEGLStreamConsumerReleaseFrame) X(cudaEGLStreamProducerConnect)                             \
  X(cudaEGLStreamProducerDisconnect) X(cudaEGLStreamProducerPresentFrame)                          \
  X(cudaEGLStreamProducerReturnFrame) X(cudaEventCreateFromEGLSync)                                \
  X(cudaExternalMemoryGetMappedBuffer) X(cudaExternalMemoryGetMappedMipmappedArray)                \
  X(cudaFreeMipmappedArray) X(cudaFuncGetParamInfo) X(cudaGLGetDevices) X(cudaGLMapBufferObject)   \
  X(cudaGLMapBufferObjectAsync) X(cudaGLRegisterBufferObject) X(cudaGLSetBufferObjectMapFlags)     \
  X(cudaGLSetGLDevice) X(cudaGLUnmapBufferObject) X(cudaGLUnmapBufferObjectAsync)                  \
  X(cudaGLUnregisterBufferObject) X(cudaGetDriverEntryPoint) X(cudaGetDriverEntryPointByVersion)   \
  X(cudaGetDriverEntryPointByVersion_ptsz) X(cudaGetDriverEntryPoint_ptsz) X(cudaGetExportTable)   \
  X(cudaGetMipmappedArrayLevel) X(cudaGetSurfaceObjectResourceDesc)                                \
  X(cudaGetTextureObjectResourceDesc) X(cudaGetTextureObjectResourceViewDesc)                      \
  X(cudaGetTextureObjectTextureDesc) X(cudaGraphAddExternalSemaphoresSignalNode)                   \
  X(cudaGraphAddExternalSemaphoresWaitNode) X(cudaGraphDebugDotPrint)                              \
  X(cudaGraphExecExternalSemaphoresSignalNodeSetParams)                                            \
  X(cudaGraphExecExternalSemaphoresWaitNodeSetParams)                                              \
  X(cudaGraphExternalSemaphoresSignalNodeGetParams)                                                \
  X(cudaGraphExternalSemaphoresSignalNodeSetParams)                                                \
  X(cudaGraphExternalSemaphoresWaitNodeGetParams) X(cudaGraphExternalSemaphoresWaitNodeSetParams)  \
  X(cudaGraphReleaseUserObject) X(cudaGraphRetainUserObject) X(cudaGraphicsEGLRegisterImage)       \
  X(cudaGraphicsGLRegisterBuffer) X(cudaGraphicsGLRegisterImage) X(cudaGraphicsMapResources)       \
  X(cudaGraphicsResourceGetMappedEglFrame) X(cudaGraphicsResourceGetMappedMipmappedArray)          \
  X(cudaGraphicsResourceGetMappedPointer) X(cudaGraphicsResourceSetMapFlags)                       \
  X(cudaGraphicsSubResourceGetMappedArray) X(cudaGraphicsUnmapResources)                           \
  X(cudaGraphicsUnregisterResource) X(cudaGraphicsVDPAURegisterOutputSurface)                      \
  X(cudaGraphicsVDPAURegisterVideoSurface) X(cudaImportExternalMemory)                             \
  X(cudaImportExternalSemaphore) X(cudaIpcCloseMemHandle) X(cudaIpcGetEventHandle)                 \
  X(cudaIpcGetMemHandle) X(cudaIpcOpenEventHandle) X(cudaIpcOpenMemHandle)                         \
  X(cudaKernelSetAttributeForDevice) X(cudaLaunchCooperativeKernelMultiDevice)                     \
  X(cudaLibraryEnumerateKernels) X(cudaLibraryGetGlobal) X(cudaLibraryGetKernel)                   \
  X(cudaLibraryGetKernelCount) X(cudaLibraryGetManaged) X(cudaLibraryGetUnifiedFunction)           \
  X(cudaLibraryLoadData) X(cudaLibraryLoadFromFile) X(cudaLibraryUnload) X(cudaLogsCurrent)        \
  X(cudaLogsDumpToFile) X(cudaLogsDumpToMemory) X(cudaLogsRegisterCallback)                        \
  X(cudaLogsUnregisterCallback) X(cudaMallocMipmappedArray)                                        \
  X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardAndPrefetchBatchAsync_ptsz)               \
  X(cudaMemDiscardBatchAsync) X(cudaMemDiscardBatchAsync_ptsz) X(cudaMemGetDefaultMemPool)         \
  X(cudaMemGetMemPool) X(cudaMemPoolExportPointer) X(cudaMemPoolExportToShareableHandle)           \
  X(cudaMemPoolGetAccess) X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer)      \
  X(cudaMemPrefetchBatchAsync) X(cudaMemPrefetchBatchAsync_ptsz) X(cudaMemRangeGetAttribute)       \
  X(cudaMemRangeGetAttributes) X(cudaMemSetMemPool) X(cudaMemcpy2DArrayToArray)                    \
  X(cudaMemcpy2DArrayToArray_ptds) X(cudaMemcpy3DBatchAsync) X(cudaMemcpy3DBatchAsync_ptsz)        \
  X(cudaMemcpy3DPeer) X(cudaMemcpy3DPeerAsync) X(cudaMemcpy3DPeerAsync_ptsz)                       \
  X(cudaMemcpy3DPeer_ptds) X(cudaMemcpyArrayToArray) X(cudaMemcpyArrayToArray_ptds)                \
  X(cudaMemcpyBatchAsync) X(cudaMemcpyBatchAsync_ptsz) X(cudaMemcpyFromArrayAsync)                 \
  X(cudaMemcpyFromArrayAsync_ptsz) X(cudaMemcpyToArrayAsync) X(cudaMemcpyToArrayAsync_ptsz)        \
  X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties)              \
  X(cudaOccupancyMaxActiveClusters) X(cudaOccupancyMaxPotentialClusterSize)                        \
  X(cudaSetDoubleForDevice) X(cudaSetDoubleForHost) X(cudaSignalExternalSemaphoresAsync)           \
  X(cudaSignalExternalSemaphoresAsync_ptsz) X(cudaSignalExternalSemaphoresAsync_v2)                \
  X(cudaSignalExternalSemaphoresAsync_v2_ptsz) X(cudaStreamGetAttribute)                           \
  X(cudaStreamGetAttribute_ptsz) X(cudaThreadGetCacheConfig) X(cudaThreadGetLimit)                 \
  X(cudaUserObjectCreate) X(cudaUserObjectRelease) X(cudaUserObjectRetain) X(cudaVDPAUGetDevice)   \
  X(cudaVDPAUSetVDPAUDevice) X(cudaWaitExternalSemaphoresAsync)                                    \
  X(cudaWaitExternalSemaphoresAsync_ptsz) X(cudaWaitExternalSemaphoresAsync_v2)                    \
  X(cudaWaitExternalSemaphoresAsync_v2_ptsz)

/* clang-format on */

#endif
