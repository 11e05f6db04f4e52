/* cuda_textures.c -- see cuda_textures.h. */
#include "cuda_textures.h"

#include "cuda_visit.h"

#define NEED(d, f, e)                                                                              \
  if (!cuda_of(d)->api.f) {                                                                        \
    return err_set(e, ERR_DEVICE, "this driver has no textures: it lacks %s", #f);                 \
  }

static int format_of(dtype t, int channels, CUarray_format *f, err *e) {
  static const CUarray_format formats[DTYPE_COUNT] = {
      [DTYPE_i8] = CU_AD_FORMAT_SIGNED_INT8,   [DTYPE_u8] = CU_AD_FORMAT_UNSIGNED_INT8,
      [DTYPE_i16] = CU_AD_FORMAT_SIGNED_INT16, [DTYPE_u16] = CU_AD_FORMAT_UNSIGNED_INT16,
      [DTYPE_i32] = CU_AD_FORMAT_SIGNED_INT32, [DTYPE_u32] = CU_AD_FORMAT_UNSIGNED_INT32,
      [DTYPE_f16] = CU_AD_FORMAT_HALF,         [DTYPE_f32] = CU_AD_FORMAT_FLOAT};
  *f = formats[t];
  return *f && (channels == 1 || channels == 2 || channels == 4)
             ? 0
             : err_set(e, ERR_USAGE,
                       "texels of %d x %s: a texture has 1, 2 or 4 channels of i8, u8, i16, u16, "
                       "i32, u32, f16 or f32",
                       channels, dtype_name(t));
}

/* ---- arrays ---- */

int cuda_array_new(rt_device *d, const rt_array_shape *shape, rt_array **a, err *e) {
  CUDA_ARRAY3D_DESCRIPTOR how = {.Width = shape->dims[0],
                                 .Height = shape->dims[1],
                                 .Depth = shape->dims[2],
                                 .NumChannels = (unsigned)shape->channels,
                                 .Flags = (shape->layered ? CUDA_ARRAY3D_LAYERED : 0u) |
                                          (shape->surface ? CUDA_ARRAY3D_SURFACE_LDST : 0u) |
                                          (shape->gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0u)};
  CUarray made = NULL;
  *a = NULL;
  NEED(d, cuArray3DCreate, e);
  TRY(format_of(shape->type, shape->channels, &how.Format, e));
  ENTER(d, e);
  const CUresult r = cuda_of(d)->api.cuArray3DCreate(&made, &how);
  *a = (rt_array *)made;
  if (r == CUDA_ERROR_INVALID_VALUE) {
    return err_set(
        e, ERR_USAGE,
        "the driver rejects an array of %zu x %zu x %zu texels (CUDA_ERROR_INVALID_VALUE)",
        how.Width, how.Height, how.Depth);
  }
  return r ? FAIL(d, e, r, "allocating an array of %zu x %zu x %zu texels", how.Width, how.Height,
                  how.Depth)
           : 0;
}

void cuda_array_free(rt_device *d, rt_array *a) {
  ENTER_OR_RETURN(d);
  if (a && cuda_of(d)->api.cuArrayDestroy) {
    cuda_of(d)->api.cuArrayDestroy((CUarray)a);
  }
}

/* the plain memory of a copy */
static void fill_plain(const rt_array_copy *c, CUDA_MEMCPY3D *how) {
  const CUmemorytype type = c->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (c->out) {
    how->dstMemoryType = type;
    how->dstHost = c->host;
    how->dstDevice = c->device;
    how->dstPitch = c->pitch;
    how->dstHeight = c->rows;
  } else {
    how->srcMemoryType = type;
    how->srcHost = c->host;
    how->srcDevice = c->device;
    how->srcPitch = c->pitch;
    how->srcHeight = c->rows;
  }
}

static void fill_array(rt_array *a, const rt_array_copy *c, size_t texel, CUDA_MEMCPY3D *how) {
  if (c->out) {
    how->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    how->srcArray = (CUarray)a;
    how->srcXInBytes = c->at[0] * texel;
    how->srcY = c->at[1];
    how->srcZ = c->at[2];
  } else {
    how->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    how->dstArray = (CUarray)a;
    how->dstXInBytes = c->at[0] * texel;
    how->dstY = c->at[1];
    how->dstZ = c->at[2];
  }
}

int cuda_array_copy(rt_device *d, rt_array *a, const rt_array_copy *c, rt_stream s, err *e) {
  CUDA_MEMCPY3D how = {.Height = c->size[1] ? c->size[1] : 1, .Depth = c->size[2] ? c->size[2] : 1};
  const size_t texel = c->texel;
  NEED(d, cuMemcpy3DAsync, e);
  fill_plain(c, &how);
  fill_array(a, c, texel, &how);
  how.WidthInBytes = c->size[0] * texel;
  if (!how.WidthInBytes) {
    return 0;
  }
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuMemcpy3DAsync(&how, s);
  r = r || !c->host ? r : cuda_of(d)->api.cuStreamSynchronize(s);
  return r ? FAIL(d, e, r, "copying %zu x %zu x %zu bytes %s an array", how.WidthInBytes,
                  how.Height, how.Depth, c->out ? "from" : "to")
           : 0;
}

/* ---- objects ---- */

static int resource_of(const rt_texture *t, CUDA_RESOURCE_DESC *how, err *e) {
  CUarray_format format;
  if (t->array) {
    how->resType = CU_RESOURCE_TYPE_ARRAY;
    how->res.array.hArray = (CUarray)t->array;
    return 0;
  }
  TRY(format_of(t->type, t->channels, &format, e));
  if (!t->height) {
    how->resType = CU_RESOURCE_TYPE_LINEAR;
    how->res.linear.devPtr = t->at;
    how->res.linear.format = format;
    how->res.linear.numChannels = (unsigned)t->channels;
    how->res.linear.sizeInBytes = t->width * dtype_nbytes(t->type) * (size_t)t->channels;
    return 0;
  }
  how->resType = CU_RESOURCE_TYPE_PITCH2D;
  how->res.pitch2D.devPtr = t->at;
  how->res.pitch2D.format = format;
  how->res.pitch2D.numChannels = (unsigned)t->channels;
  how->res.pitch2D.width = t->width;
  how->res.pitch2D.height = t->height;
  how->res.pitch2D.pitchInBytes = t->pitch;
  return 0;
}

/* Integers are read as they are unless `normalized`; the driver ignores the flag for 32 bits. */
static CUDA_TEXTURE_DESC settings_of(const rt_texture *t) {
  static const CUaddress_mode edges[] = {[RT_EDGE_WRAP] = CU_TR_ADDRESS_MODE_WRAP,
                                         [RT_EDGE_CLAMP] = CU_TR_ADDRESS_MODE_CLAMP,
                                         [RT_EDGE_MIRROR] = CU_TR_ADDRESS_MODE_MIRROR,
                                         [RT_EDGE_BORDER] = CU_TR_ADDRESS_MODE_BORDER};
  return (CUDA_TEXTURE_DESC){
      .addressMode = {edges[t->edge[0]], edges[t->edge[1]], edges[t->edge[2]]},
      .filterMode = t->linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
      .flags = (t->normalized ? 0u : CU_TRSF_READ_AS_INTEGER) |
               (t->normalized_coords ? CU_TRSF_NORMALIZED_COORDINATES : 0u)};
}

int cuda_texture_new(rt_device *d, const rt_texture *t, rt_object *o, err *e) {
  CUDA_RESOURCE_DESC resource = {.flags = 0};
  const CUDA_TEXTURE_DESC settings = settings_of(t);
  CUtexObject made = 0;
  *o = 0;
  NEED(d, cuTexObjectCreate, e);
  TRY(resource_of(t, &resource, e));
  ENTER(d, e);
  const CUresult r = cuda_of(d)->api.cuTexObjectCreate(&made, &resource, &settings, NULL);
  *o = made;
  if (r == CUDA_ERROR_INVALID_VALUE) {
    return err_set(
        e, ERR_USAGE,
        "the driver rejects the texture: memory must be aligned to 512 bytes, its pitch "
        "a multiple of 32, and only numbers can be interpolated (CUDA_ERROR_INVALID_VALUE)");
  }
  return r ? FAIL(d, e, r, "making a texture object") : 0;
}

int cuda_texture_free(rt_device *d, rt_object o, err *e) {
  NEED(d, cuTexObjectDestroy, e);
  ENTER(d, e);
  const CUresult r = cuda_of(d)->api.cuTexObjectDestroy(o);
  return r ? FAIL(d, e, r, "destroying a texture object") : 0;
}

int cuda_surface_new(rt_device *d, rt_array *a, rt_object *o, err *e) {
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = (CUarray)a};
  CUsurfObject made = 0;
  *o = 0;
  NEED(d, cuSurfObjectCreate, e);
  ENTER(d, e);
  const CUresult r = cuda_of(d)->api.cuSurfObjectCreate(&made, &resource);
  *o = made;
  if (r == CUDA_ERROR_INVALID_VALUE) {
    return err_set(e, ERR_USAGE, "the array was not made for surfaces (CUDA_ERROR_INVALID_VALUE)");
  }
  return r ? FAIL(d, e, r, "making a surface object") : 0;
}

int cuda_surface_free(rt_device *d, rt_object o, err *e) {
  NEED(d, cuSurfObjectDestroy, e);
  ENTER(d, e);
  const CUresult r = cuda_of(d)->api.cuSurfObjectDestroy(o);
  return r ? FAIL(d, e, r, "destroying a surface object") : 0;
}
