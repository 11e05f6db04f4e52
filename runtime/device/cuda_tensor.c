#include "cuda_tensor.h"

#include "cuda_visit.h"

#if CUDA_VERSION >= 12000
static CUtensorMapDataType tensor_type(dtype t) {
  switch (t) {
  case DTYPE_i8:
  case DTYPE_u8: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case DTYPE_i16:
  case DTYPE_u16: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case DTYPE_i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case DTYPE_i64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case DTYPE_u64: return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  case DTYPE_f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case DTYPE_bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case DTYPE_f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case DTYPE_f64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  default: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  }
}

static CUtensorMapSwizzle tensor_swizzle(int nbytes) {
  return nbytes == 32    ? CU_TENSOR_MAP_SWIZZLE_32B
         : nbytes == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
         : nbytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static CUtensorMapFloatOOBfill tensor_fill(const rt_tensor *t) {
  return t->nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
}

static CUresult encode_tiled(const cuda_api *api, const rt_tensor *t, rt_tensor_map *map) {
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  return api->cuTensorMapEncodeTiled((CUtensorMap *)map, tensor_type(t->type), (cuuint32_t)t->rank,
                                     (void *)(uintptr_t)t->at, (const cuuint64_t *)t->dims,
                                     (const cuuint64_t *)t->strides, t->box, steps,
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, tensor_swizzle(t->swizzle),
                                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, tensor_fill(t));
}

static CUresult encode_im2col(const cuda_api *api, const rt_tensor *t, rt_tensor_map *map) {
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  return api->cuTensorMapEncodeIm2col(
      (CUtensorMap *)map, tensor_type(t->type), (cuuint32_t)t->rank, (void *)(uintptr_t)t->at,
      (const cuuint64_t *)t->dims, (const cuuint64_t *)t->strides, t->lower, t->upper, t->box[0],
      t->pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, tensor_swizzle(t->swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, tensor_fill(t));
}

int cuda_tensor_map(rt_device *d, const rt_tensor *t, rt_tensor_map *map, err *e) {
  _Static_assert(sizeof *map == sizeof(CUtensorMap), "a tensor map has 128 bytes");
  const cuda_api *api = &cuda_of(d)->api;
  if (t->pixels ? !api->cuTensorMapEncodeIm2col : !api->cuTensorMapEncodeTiled) {
    return err_set(e, ERR_DEVICE, "this driver has no tensor maps: it is older than CUDA 12.0");
  }
  ENTER(d, e);
  const CUresult r = (t->pixels ? encode_im2col : encode_tiled)(api, t, map);
  if (r == CUDA_ERROR_INVALID_VALUE) {
    return err_set(
        e, ERR_USAGE,
        "the driver rejects the tensor: addresses and strides must be multiples of 16 bytes, a box at most 256 elements per side");
  }
  return r ? FAIL(d, e, r, "describing a tensor of %d dimensions", t->rank) : 0;
}
#else
int cuda_tensor_map(rt_device *d, const rt_tensor *t, rt_tensor_map *map, err *e) {
  (void)d, (void)t, (void)map;
  return err_set(e, ERR_DEVICE, "built with headers of a CUDA older than 12.0: no tensor maps");
}
#endif
