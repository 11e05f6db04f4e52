/* device.h -- a device as the rest of the program sees it: a table of functions and limits.
 *
 * cuda.c implements it with the driver API, runtime/emu with an emulator. Callers never ask which
 * of them they have: rt_info says how they differ.
 *
 * A device is used from one thread at a time; launches on a stream run in order. Device addresses
 * are plain numbers, on a GPU the driver's own, so that a caller's pointers can be passed through.
 */
#ifndef RT_DEVICE_H
#define RT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "err.h"

typedef uint64_t rt_ptr;                /* CUdeviceptr */
typedef void *rt_stream;                /* CUstream; NULL is the device's default stream */
typedef struct rt_event rt_event;       /* CUevent */
typedef struct rt_module rt_module;     /* CUmodule */
typedef struct rt_function rt_function; /* CUfunction; lives as long as its module */
typedef struct rt_graph rt_graph;       /* CUgraphExec */

typedef enum rt_format { RT_CUBIN, RT_PTX } rt_format;

typedef struct rt_info {
  char name[128]; /* "NVIDIA H200" */
  char uuid[48];  /* "" where there is none */
  char arch[16];  /* NVRTC's target: "sm_90a" (cubin) or "compute_90a" (ptx) */
  rt_format format;
  bool modelled;      /* times come from a cost model: repeating a launch gives the same time */
  bool serial;        /* launches from several threads must not overlap */
  bool links;         /* kernels that launch kernels can be built for it on this machine */
  bool checks_bounds; /* a launch fails when it leaves an allocation; no canaries are needed */
  int ordinal;
  int cc;     /* compute capability, 90 for 9.0 */
  int driver; /* 13000 for CUDA 13.0; 0 where there is no driver */
  int64_t memory_nbytes, l2_nbytes;
  int sms, warp;
  int threads_block, threads_sm, blocks_sm;
  int regs_block, regs_sm;
  int64_t smem_block;             /* most dynamic + static shared memory of a block, with opt-in */
  int64_t smem_static;            /* without opt-in: 48 KiB */
  int64_t smem_sm, smem_reserved; /* per multiprocessor; reserved by the system per block */
  int64_t grid_max[3], block_max[3];
  double clock_hz, memory_clock_hz; /* peak */
  int memory_bus_bits;
} rt_info;

typedef struct rt_function_info {
  int regs, threads_max;
  int64_t smem_static, local_nbytes; /* local: spills and stack, per thread */
  bool grid_barrier;                 /* known to need a cooperative launch: it calls grid.sync() */
} rt_function_info;

/* A tensor for bulk copies: up to 5 dimensions, the first contiguous. */
typedef struct rt_tensor {
  dtype type;
  int rank;
  rt_ptr at;           /* 16-byte aligned */
  uint64_t dims[5];    /* elements */
  uint64_t strides[4]; /* bytes between neighbours along dimension 1, 2, ... */
  uint32_t box[5];     /* elements of a tile, at most 256 each */
  int swizzle;         /* 0, or the bytes of a tile's row: 32, 64, 128 */
  bool nan;            /* elements outside read as NaN, not as 0 */
  /* im2col: a copy takes box[0] channels (dimension 0) of this many pixels; 0: it takes a tile. Pixels
   * follow each other in dimensions 1, 2, ... of a box, whose corners are at the offsets `lower` from the
   * tensor's first pixel and `upper` from its last in dimensions 1 to rank - 2 */
  uint32_t pixels;
  int lower[3], upper[3];
} rt_tensor;

/* CUtensorMap: what a kernel takes as a const __grid_constant__ parameter */
typedef struct rt_tensor_map {
  _Alignas(64) uint64_t words[16];
} rt_tensor_map;

/* ---- textures and surfaces ---- */

typedef struct rt_array rt_array; /* CUarray: texels in a layout of the device's own */
typedef uint64_t rt_object;       /* CUtexObject, CUsurfObject: what a kernel takes */

/* Texels have 1, 2 or 4 channels of i8, u8, i16, u16, i32, u32, f16 or f32. There are no mipmaps,
 * cubemaps and compressed formats. */
typedef struct rt_array_shape {
  dtype type;
  int channels;
  uint64_t dims[3]; /* texels; 0: the array has fewer dimensions. Layered: dims[2] counts layers */
  bool layered;
  bool surface; /* kernels may read and write it by surfaces */
  bool gather;  /* tex2Dgather may read it */
} rt_array_shape;

/* Part of an array, in texels, and plain memory on the other side of a copy: on the host, or on the
 * device where host is NULL. */
typedef struct rt_array_copy {
  uint64_t at[3], size[3]; /* size 0 in dimensions that the array lacks */
  uint32_t texel;          /* bytes of a texel */
  void *host;
  rt_ptr device;
  uint64_t pitch, rows; /* bytes between rows, and rows between slices or layers */
  bool out;             /* from the array */
} rt_array_copy;

typedef enum rt_edge { RT_EDGE_WRAP, RT_EDGE_CLAMP, RT_EDGE_MIRROR, RT_EDGE_BORDER } rt_edge;

typedef struct rt_texture {
  rt_array *array; /* NULL: memory at `at` */
  rt_ptr at;       /* of memory: 512-byte aligned, */
  dtype type;      /* type and channels of a texel, */
  int channels;
  uint64_t width, height, pitch; /* texels, and bytes between rows, a multiple of 32; height 0:
                                    linear memory, which tex1Dfetch reads by index */
  rt_edge edge[3]; /* what is outside. Wrap and mirror need normalized_coords. A card interpolates
                      one dimension as two: with a border in the second, all reads are halved */
  bool linear;     /* interpolate texels; else take the one that covers the point */
  bool normalized_coords; /* from 0 to 1; else from 0 to the number of texels */
  bool normalized;        /* integers of 8 and 16 bits read as f32 from 0 or -1 to 1 */
} rt_texture;

typedef enum rt_advice {                        /* on managed memory */
                         RT_ADVICE_READ_MOSTLY, /* a copy each for those that read it */
                         RT_ADVICE_DEVICE,      /* it stays there, if it can */
                         RT_ADVICE_HOST,
                         RT_ADVICE_ACCESSED /* the device has it mapped, wherever it is */
} rt_advice;

typedef struct rt_device rt_device;
typedef int rt_launch(rt_device *d, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                      uint32_t smem, rt_stream s, void **args, err *e);

/* Calls return 0 or an error code: ERR_DEVICE for a failed driver call, ERR_NOMEM for lack of
 * device memory, ERR_LAUNCH for a faulting kernel. On a GPU the latter sets device->dead: the
 * context is lost; close the device and reopen it, preferably in another process. */
typedef struct rt_device_ops {
  void (*close)(rt_device *d);
  /* alloc -- 256-byte aligned; nbytes 0 gives a valid address of no bytes */
  int (*alloc)(rt_device *d, size_t nbytes, rt_ptr *p, err *e);
  void (*release)(rt_device *d, rt_ptr p); /* 0 does nothing */
  int (*memory_free)(rt_device *d, int64_t *nbytes, err *e);
  /* copies to and from the host are synchronous, copies on the device asynchronous */
  int (*copy_in)(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s, err *e);
  int (*copy_out)(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s, err *e);
  int (*copy)(rt_device *d, rt_ptr to, rt_ptr from, size_t nbytes, rt_stream s, err *e);
  int (*set)(rt_device *d, rt_ptr to, uint8_t byte, size_t nbytes, rt_stream s, err *e);

  int (*module_load)(rt_device *d, const void *image, size_t nbytes, rt_module **m, err *e);
  void (*module_unload)(rt_device *d, rt_module *m);
  /* function -- err ERR_NOTFOUND: no kernel of that name in the module */
  int (*function)(rt_device *d, rt_module *m, const char *name, rt_function **f, err *e);
  int (*function_info)(rt_device *d, rt_function *f, rt_function_info *info, err *e);
  /* function_smem -- allow launches with this much dynamic shared memory; the limit never decreases
   */
  int (*function_smem)(rt_device *d, rt_function *f, int64_t nbytes, err *e);
  int (*occupancy)(rt_device *d, rt_function *f, int threads, int64_t smem, int *blocks, err *e);
  /* launch -- args[i] points at the i-th kernel parameter, as for cuLaunchKernel */
  rt_launch *launch;

  int (*stream_new)(rt_device *d, rt_stream *s, err *e);
  void (*stream_free)(rt_device *d, rt_stream s);
  int (*stream_sync)(rt_device *d, rt_stream s, err *e);
  int (*event_new)(rt_device *d, rt_event **ev, err *e);
  void (*event_free)(rt_device *d, rt_event *ev);
  int (*event_record)(rt_device *d, rt_event *ev, rt_stream s, err *e);
  /* elapsed -- waits for `to`; seconds from one event to the other. Those of a modelled device
   * (info.modelled) are never stored or shown as measured. */
  int (*elapsed)(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e);
  /* graph_new -- captures the launches that `record` makes on the given stream, to be launched
   * together with little host time. `record` may be called again by graph_launch, so *self must
   * live as long as the graph. err ERR_USAGE: this device has no graphs */
  int (*graph_new)(rt_device *d, int (*record)(void *self, rt_stream s, err *e), void *self,
                   rt_graph **g, err *e);
  void (*graph_free)(rt_device *d, rt_graph *g);
  int (*graph_launch)(rt_device *d, rt_graph *g, rt_stream s, err *e);
  /* tensor_map -- err ERR_USAGE: the hardware cannot copy tiles of this tensor; ERR_DEVICE: the
   * driver has no tensor maps */
  int (*tensor_map)(rt_device *d, const rt_tensor *t, rt_tensor_map *map, err *e);

  /* launch_overlapping -- like launch, but the kernel may start before the previous one in the
   * stream has ended; it waits itself (griddepcontrol.wait). NULL: not supported */
  rt_launch *launch_overlapping;
  /* give_back -- release of an address that may not come from alloc; err ERR_DEVICE: it is not
   * allocated, as far as the device knows */
  int (*give_back)(rt_device *d, rt_ptr p, err *e);
  /* variable -- address and size of a variable of the module. NULL: not supported
   *   err ERR_NOTFOUND: it has none of that name */
  int (*variable)(rt_device *d, rt_module *m, const char *name, rt_ptr *p, size_t *nbytes, err *e);
  /* capturing -- is the stream being captured into a caller's graph? NULL: never */
  bool (*capturing)(rt_device *d, rt_stream s);
  /* function_params -- bytes of each kernel parameter, at most `most` of them; returns how many there
   * are, -1: not known, as with drivers before CUDA 12.4. NULL: never known */
  int (*function_params)(rt_device *d, rt_function *f, uint32_t *nbytes, int most);
  /* stream_beside -- a stream that the default stream neither waits for nor holds up; free it with
   * stream_free. NULL: not supported */
  int (*stream_beside)(rt_device *d, rt_stream *s, err *e);
  /* stream_wait -- what the stream runs from now on waits for what the event has recorded. NULL: all
   * streams run one after the other */
  int (*stream_wait)(rt_device *d, rt_stream s, rt_event *ev, err *e);
  /* while_add -- a node that runs its body while a handle, a word of the device, is not 0: in the graph that
   * s is being captured into, behind what s holds. `record` is called with body false, for launches on s
   * that set the handle before, and with body true, for those of an iteration on the stream it gets; its
   * kernels set the handle with cudaGraphSetConditional. A device without graphs runs all at once. NULL:
   * not supported; err ERR_USAGE: the driver does not */
  int (*while_add)(rt_device *d, rt_stream s,
                   int (*record)(void *self, rt_stream s, uint64_t handle, bool body, err *e),
                   void *self, err *e);
  /* event_sync -- the host waits for what the event has recorded. NULL: it is always over */
  int (*event_sync)(rt_device *d, rt_event *ev, err *e);
  /* launch_cooperative -- like launch, with all blocks of the grid on the device at once, so that
   * they can wait for each other. NULL: not supported
   *   err ERR_LAUNCH: they do not fit */
  rt_launch *launch_cooperative;

  /* Arrays, textures and surfaces; array_new NULL: the device has none. An array or memory must
   * outlive the objects made of it.
   *   err ERR_USAGE: a shape, format or setting that no device has; ERR_DEVICE: the driver lacks them,
   *       or refuses */
  int (*array_new)(rt_device *d, const rt_array_shape *shape, rt_array **a, err *e);
  void (*array_free)(rt_device *d, rt_array *a); /* NULL does nothing */
  /* array_copy -- synchronous where the other side is on the host */
  int (*array_copy)(rt_device *d, rt_array *a, const rt_array_copy *c, rt_stream s, err *e);
  int (*texture_new)(rt_device *d, const rt_texture *t, rt_object *o, err *e);
  int (*texture_free)(rt_device *d, rt_object o, err *e);
  int (*surface_new)(rt_device *d, rt_array *a, rt_object *o, err *e);
  int (*surface_free)(rt_device *d, rt_object o, err *e);

  /* upload, download -- copies in the stream's order. From and to pinned memory they may return before
   * they have begun; other memory is read or written before they return, or, in a capture, when the
   * graph is launched. NULL: all copies are synchronous */
  int (*upload)(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s, err *e);
  int (*download)(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s, err *e);
  /* host_alloc -- pinned memory of the host, whose address kernels may use, too. NULL: there is none */
  int (*host_alloc)(rt_device *d, size_t nbytes, void **p, err *e);
  void (*host_free)(rt_device *d, void *p); /* NULL does nothing */
  /* managed_alloc -- memory that moves to where it is used, the host or the device; `release` frees it.
   * NULL: there is none */
  int (*managed_alloc)(rt_device *d, size_t nbytes, rt_ptr *p, err *e);
  /* prefetch -- managed memory moves to the device, or to the host, in the stream's order */
  int (*prefetch)(rt_device *d, rt_ptr p, size_t nbytes, bool to_host, rt_stream s, err *e);
  int (*advise)(rt_device *d, rt_ptr p, size_t nbytes, rt_advice advice, err *e);
  /* pending_launches -- kernels may have this many launches of their own pending; the limit never
   * decreases. NULL: there are no launches by kernels */
  int (*pending_launches)(rt_device *d, uint32_t n, err *e);
} rt_device_ops;

struct rt_device { /* implementations put this first in their own struct */
  const rt_device_ops *ops;
  bool dead;
  rt_info info;
};

/* rt_cuda_open -- by ordinal; -1 adopts the calling thread's current context.
 *   out  *d   close with d->ops->close(d) */
int rt_cuda_open(int ordinal, rt_device **d, err *e);
/* rt_cuda_count -- number of GPUs; err ERR_DEVICE: no driver, or it refused */
int rt_cuda_count(int *n, err *e);
/* rt_arch_suffix -- "a" for a compute capability with instructions of its own (9.0: wgmma,
 * setmaxnreg), else "". An image with the suffix runs on no other capability, like any cubin. */
static inline const char *rt_arch_suffix(int cc) {
  return cc == 90 ? "a" : "";
}

/* rt_device_key -- append the database's key of a device, equal for interchangeable cards:
 * "NVIDIA H200|sm_90|132|6144|1980|3201" is name, compute capability, multiprocessors, memory bus
 * in bits and clocks in MHz. A modelled device's key is its name, "emu:h200". */
struct str;
void rt_device_key(const rt_info *info, struct str *out);
/* rt_key_is_modelled -- does the key belong to a modelled device? */
bool rt_key_is_modelled(const char *key);
/* rt_peak_flops, rt_peak_bandwidth -- FP32 FMAs counted as two operations; DRAM bytes per second */
double rt_peak_flops(const rt_info *info);
double rt_peak_bandwidth(const rt_info *info);

#endif
