#define _GNU_SOURCE
#include <stdio.h>

#include "cuda_device.h"
#include "device_link.h"

#define AT(name) CU_DEVICE_ATTRIBUTE_##name

typedef struct query {
  CUdevice_attribute attribute;
  int *value;
} query;

static int ask(cuda *d, const query *q, size_t n, err *e) {
  for (size_t i = 0; i < n; i++) {
    CUresult r = d->api.cuDeviceGetAttribute(q[i].value, q[i].attribute, d->handle);
    if (r) {
      return cuda_explain(&d->api, r, NULL, e, "reading attribute %d of the GPU",
                          (int)q[i].attribute);
    }
  }
  return 0;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int ask_compute(cuda *d, err *e) {
  rt_info *f = &d->device.info;
  int major, minor, clock, memory_clock;
  const query list[] = {
      {AT(COMPUTE_CAPABILITY_MAJOR), &major},
      {AT(COMPUTE_CAPABILITY_MINOR), &minor},
      {AT(MULTIPROCESSOR_COUNT), &f->sms},
      {AT(WARP_SIZE), &f->warp},
      {AT(MAX_THREADS_PER_BLOCK), &f->threads_block},
      {AT(MAX_THREADS_PER_MULTIPROCESSOR), &f->threads_sm},
      {AT(MAX_BLOCKS_PER_MULTIPROCESSOR), &f->blocks_sm},
      {AT(MAX_REGISTERS_PER_BLOCK), &f->regs_block},
      {AT(MAX_REGISTERS_PER_MULTIPROCESSOR), &f->regs_sm},
      {AT(GLOBAL_MEMORY_BUS_WIDTH), &f->memory_bus_bits},
      {AT(CLOCK_RATE), &clock},
      {AT(MEMORY_CLOCK_RATE), &memory_clock},
  };
  TRY(ask(d, list, sizeof list / sizeof *list, e));
  f->cc = 10 * major + minor;
  f->clock_hz = 1e3 * clock; /* the driver gives kHz */
  f->memory_clock_hz = 1e3 * memory_clock;
  snprintf(f->arch, sizeof f->arch, "sm_%d%s", f->cc, rt_arch_suffix(f->cc));
  return 0;
}

static int ask_memory(cuda *d, err *e) {
  rt_info *f = &d->device.info;
  int l2, smem, optin, smem_sm, reserved;
  size_t total;
  const query list[] = {
      {AT(L2_CACHE_SIZE), &l2},
      {AT(MAX_SHARED_MEMORY_PER_BLOCK), &smem},
      {AT(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), &optin},
      {AT(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), &smem_sm},
      {AT(RESERVED_SHARED_MEMORY_PER_BLOCK), &reserved},
  };
  TRY(ask(d, list, sizeof list / sizeof *list, e));
  f->l2_nbytes = l2;
  f->smem_static = smem;
  f->smem_block = larger(smem, optin);
  f->smem_sm = smem_sm;
  f->smem_reserved = reserved;
  CUresult r = d->api.cuDeviceTotalMem(&total, d->handle);
  f->memory_nbytes = r ? 0 : (int64_t)total;
  return r ? cuda_explain(&d->api, r, NULL, e, "reading the size of the GPU's memory") : 0;
}

static int ask_geometry(cuda *d, err *e) {
  int v[6];
  const query list[] = {
      {AT(MAX_GRID_DIM_X), &v[0]},  {AT(MAX_GRID_DIM_Y), &v[1]},  {AT(MAX_GRID_DIM_Z), &v[2]},
      {AT(MAX_BLOCK_DIM_X), &v[3]}, {AT(MAX_BLOCK_DIM_Y), &v[4]}, {AT(MAX_BLOCK_DIM_Z), &v[5]},
  };
  TRY(ask(d, list, sizeof list / sizeof *list, e));
  for (int i = 0; i < 3; i++) {
    d->device.info.grid_max[i] = v[i];
    d->device.info.block_max[i] = v[3 + i];
  }
  return 0;
}

/* In nvidia-smi's format; "" if the driver does not report it. */
static void ask_uuid(cuda *d) {
  CUuuid uuid;
  char *out = d->device.info.uuid;
  if (!d->api.cuDeviceGetUuid || d->api.cuDeviceGetUuid(&uuid, d->handle)) {
    return;
  }
  int n = sprintf(out, "GPU-");
  for (int i = 0; i < 16; i++) {
    bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    n += sprintf(out + n, "%s%02x", dash ? "-" : "", (unsigned char)uuid.bytes[i]);
  }
}

int cuda_info(cuda *d, int ordinal, err *e) {
  rt_info *f = &d->device.info;
  f->format = RT_CUBIN;
  f->ordinal = ordinal;
  f->links = rt_link_is_here();
  CUresult r = d->api.cuDeviceGetName(f->name, sizeof f->name, d->handle);
  r = r ? r : d->api.cuDriverGetVersion(&f->driver);
  if (r) {
    return cuda_explain(&d->api, r, NULL, e, "reading the GPU's name");
  }
  TRY(ask_compute(d, e));
  TRY(ask_memory(d, e));
  TRY(ask_geometry(d, e));
  ask_uuid(d);
  return 0;
}
