#define _GNU_SOURCE
#include "base_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base_images.h"
#include "base_path.h"

struct base_set {
  base_images *images;
  pthread_mutex_t lock; /* of images */
  arena memory;
  const char *path;
};

/* ---- opening -------------------------------------------------------------------------------- */

base_set *base_set_open(err *why) {
  base_set *b = calloc(1, sizeof *b);
  if (!b) {
    err_nomem(why);
    return NULL;
  }
  if (base_path_find(&b->memory, &b->path, why) || base_images_open(b->path, &b->images, why)) {
    arena_clear(&b->memory);
    free(b);
    return NULL;
  }
  pthread_mutex_init(&b->lock, NULL);
  return b;
}

void base_set_close(base_set *b) {
  if (b) {
    base_images_close(b->images);
    pthread_mutex_destroy(&b->lock);
    arena_clear(&b->memory);
    free(b);
  }
}

const char *base_set_path(const base_set *b) {
  return b->path;
}

/* ---- the image for a device ----------------------------------------------------------------- */

/* How well an image of this architecture suits the device; 0: it does not run there. */
static int suits(const char *arch, const rt_info *device) {
  enum { VERY_OWN = 3000, MACHINE_CODE = 2000, PTX = 1000 };
  const bool code = !strncmp(arch, "sm_", 3);
  const char *number = strchr(arch, '_');
  char *end = NULL;
  const int cc = number ? (int)strtol(number + 1, &end, 10) : 0;
  if (!strcmp(arch, device->arch)) {
    return VERY_OWN;
  }
  if (!cc || *end || cc > device->cc) {
    return 0;
  }
  if (!code) {
    return PTX + cc;
  }
  return device->format == RT_CUBIN && cc / 10 == device->cc / 10 ? MACHINE_CODE + cc : 0;
}

static const char *best_arch(const char *const *archs, size_t n, const rt_info *device) {
  const char *best = NULL;
  for (size_t i = 0; i < n; i++) {
    const int here = suits(archs[i], device);
    best = here > (best ? suits(best, device) : 0) ? archs[i] : best;
  }
  return best;
}

static bool find(base_set *b, const char *source, const rt_info *device, arena *a,
                 base_image *row) {
  const char **archs;
  size_t n;
  if (base_images_archs(b->images, source, a, &archs, &n, NULL)) {
    return false;
  }
  const char *arch = best_arch(archs, n, device);
  return arch && !base_images_get(b->images, source, arch, a, row, NULL);
}

bool base_set_get(base_set *b, const char *source, const rt_info *device, arena *a,
                  const void **image, size_t *nbytes, int64_t *spill) {
  base_image row;
  pthread_mutex_lock(&b->lock);
  const bool found = find(b, source, device, a, &row);
  pthread_mutex_unlock(&b->lock);
  if (found) {
    *image = row.bytes;
    *nbytes = row.nbytes;
    *spill = row.spill;
  }
  return found;
}
