/* cudart_error.c -- errors: the last one of a thread, names and descriptions. */
#include "cudart_api.h"
#include "cudart_process.h"

/* clang-format off */
#define ERRORS(X)                                                                                  \
  X(cudaSuccess, "no error")                                                                       \
  X(cudaErrorInvalidValue, "invalid argument")                                                     \
  X(cudaErrorMemoryAllocation, "out of memory")                                                    \
  X(cudaErrorInitializationError, "initialization error")                                          \
  X(cudaErrorCudartUnloading, "driver shutting down")                                              \
  X(cudaErrorInvalidConfiguration, "invalid configuration argument")                               \
  X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                          \
  X(cudaErrorInvalidSymbol, "invalid device symbol")                                               \
  X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                          \
  X(cudaErrorMissingConfiguration, "__global__ function call is not configured")                   \
  X(cudaErrorInvalidDeviceFunction, "invalid device function")                                     \
  X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                       \
  X(cudaErrorInvalidDevice, "invalid device ordinal")                                              \
  X(cudaErrorInvalidKernelImage, "device kernel image is invalid")                                 \
  X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")   \
  X(cudaErrorInvalidPtx, "a PTX JIT compilation failed")                                           \
  X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                     \
  X(cudaErrorIllegalState, "the operation cannot be performed in the present state")               \
  X(cudaErrorSymbolNotFound, "named symbol not found")                                             \
  X(cudaErrorNotReady, "device not ready")                                                         \
  X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                           \
  X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                      \
  X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                             \
  X(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                           \
  X(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")                             \
  X(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices")      \
  X(cudaErrorAssert, "device-side assert triggered")                                               \
  X(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped") \
  X(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region") \
  X(cudaErrorHardwareStackError, "hardware stack error")                                           \
  X(cudaErrorMisalignedAddress, "misaligned address")                                              \
  X(cudaErrorLaunchFailure, "unspecified launch failure")                                          \
  X(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")                   \
  X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")         \
  X(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")  \
  X(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences") \
  X(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")       \
  X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                          \
  X(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream")    \
  X(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream") \
  X(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream") \
  X(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread") \
  X(cudaErrorGraphExecUpdateFailure, "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update") \
  X(cudaErrorNotPermitted, "operation not permitted")                                              \
  X(cudaErrorNotSupported, "operation not supported")                                              \
  X(cudaErrorUnknown, "unknown error")
/* clang-format on */

static const struct {
  cudaError_t error;
  const char *name, *text;
} errors[] = {
#define ROW(name, text) {name, #name, text},
    ERRORS(ROW)
#undef ROW
};

cudaError_t emu_cudaGetLastError(void) {
  return cudart_last_error(true);
}

cudaError_t emu_cudaPeekAtLastError(void) {
  return cudart_last_error(false);
}

const char *emu_cudaGetErrorName(cudaError_t error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (errors[i].error == error) {
      return errors[i].name;
    }
  }
  return "unrecognized error code";
}

const char *emu_cudaGetErrorString(cudaError_t error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (errors[i].error == error) {
      return errors[i].text;
    }
  }
  return "unrecognized error code";
}
