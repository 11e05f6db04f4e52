/* export_tensor.c -- tensor maps in exported C: the function that makes one. Only an element's size
 * matters to copies, which fill with zeros; so it stands for the type. */
#include "export_parts.h"

static const char function[] =
    "  static const CUtensorMapDataType types[] = {\n"
    "      CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16,\n"
    "      CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_DATA_TYPE_UINT64};\n"
    "  const cuuint32_t steps[] = {1, 1, 1, 1, 1};\n"
    "  const int size = nbytes == 1 ? 0 : nbytes == 2 ? 1 : nbytes == 4 ? 2 : 3;\n"
    "  cuuint64_t pitches[5] = {0, 0, 0, 0, 0};\n"
    "  cuuint32_t i;\n"
    "  for (i = 0; i + 1 < rank; i++) {\n"
    "    pitches[i] = strides[i] * nbytes;\n"
    "  }\n"
    "  return cuTensorMapEncodeTiled(\n"
    "      map, types[size], rank, (void *)(uintptr_t)at, dims, pitches, box, steps,\n"
    "      CU_TENSOR_MAP_INTERLEAVE_NONE,\n"
    "      swizzle == 32    ? CU_TENSOR_MAP_SWIZZLE_32B\n"
    "      : swizzle == 64  ? CU_TENSOR_MAP_SWIZZLE_64B\n"
    "      : swizzle == 128 ? CU_TENSOR_MAP_SWIZZLE_128B\n"
    "                       : CU_TENSOR_MAP_SWIZZLE_NONE,\n"
    "      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n"
    "}\n\n";

void export_tensor_function(const char *name, str *out) {
  str_addf(
      out,
      "/* How a kernel that copies tiles sees a buffer; strides in elements. Needs CUDA 12. */\n"
      "static inline CUresult %s_tensor(CUtensorMap *map, unsigned nbytes, cuuint32_t rank,\n"
      "    CUdeviceptr at, const cuuint64_t *dims, const cuuint64_t *strides,\n"
      "    const cuuint32_t *box, int swizzle) {\n%s",
      name, function);
}
