/* exported_images.h -- part of exported C: which of several images a device runs.
 *
 * Machine code runs on devices of its own major version from its minor version on; PTX on any from
 * its version on, compiled by the driver when it is loaded (CUDA Programming Guide, "Binary and PTX
 * compatibility"). Code for an architecture with a letter, sm_90a, runs on that version alone, that
 * of a family, sm_100f, on its major version. */
#ifndef EXPORTED_IMAGES_H
#define EXPORTED_IMAGES_H

#include <cuda.h>
#include <stddef.h>

struct image {
  const void *bytes;
  int cc, last, ptx; /* the versions that it runs on, from cc to last */
};

/* Machine code that runs on this version; else PTX; of several the newest. NULL: none */
static inline const struct image *find_image(const struct image *list, int n, int cc) {
  const struct image *best = NULL;
  for (int i = 0; i < n; i++) {
    const struct image *x = &list[i];
    const int runs = x->cc <= cc && cc <= x->last;
    if (runs && (!best || x->ptx < best->ptx || (x->ptx == best->ptx && x->cc > best->cc))) {
      best = x;
    }
  }
  return best;
}

static inline CUresult compute_capability(CUdevice device, int *cc) {
  int major = 0, minor = 0;
  CUresult rc = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (rc == CUDA_SUCCESS) {
    rc = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  }
  *cc = 10 * major + minor;
  return rc;
}

#endif
