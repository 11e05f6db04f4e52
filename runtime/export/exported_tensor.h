/* exported_tensor.h -- part of exported C: how a kernel that copies tiles sees a buffer. Needs
 * CUDA 12. */
#ifndef EXPORTED_TENSOR_H
#define EXPORTED_TENSOR_H

#include <cuda.h>
#include <stdint.h>

/* Only the size of an element matters to copies, which fill with zeros; so it stands for the type.
 *   in  strides  in elements */
static inline CUresult tuned_tensor_map(CUtensorMap *map, unsigned nbytes, cuuint32_t rank,
                                        CUdeviceptr at, const cuuint64_t *dims,
                                        const cuuint64_t *strides, const cuuint32_t *box,
                                        int swizzle) {
  static const CUtensorMapDataType types[] = {
      CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16, CU_TENSOR_MAP_DATA_TYPE_UINT32,
      CU_TENSOR_MAP_DATA_TYPE_UINT64};
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  const int size = nbytes == 1 ? 0 : nbytes == 2 ? 1 : nbytes == 4 ? 2 : 3;
  cuuint64_t pitches[5] = {0, 0, 0, 0, 0};
  for (cuuint32_t i = 0; i + 1 < rank; i++) {
    pitches[i] = strides[i] * nbytes;
  }
  return cuTensorMapEncodeTiled(map, types[size], rank, (void *)(uintptr_t)at, dims, pitches, box,
                                steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                swizzle == 32    ? CU_TENSOR_MAP_SWIZZLE_32B
                                : swizzle == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
                                : swizzle == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                                                 : CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

#endif
