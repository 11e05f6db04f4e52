#include "ready_images.h"

#include <stdlib.h>

#include "base_set.h"
#include "image_cache.h"

struct ready_images { /* NULL: it can't be used */
  image_cache *cache;
  base_set *base;
};

ready_images *ready_images_open(void) {
  ready_images *r = calloc(1, sizeof *r);
  if (r) {
    image_cache_open_all(&r->cache, NULL);
    r->base = base_set_open(NULL);
  }
  return r;
}

void ready_images_close(ready_images *r) {
  if (r) {
    image_cache_close(r->cache);
    base_set_close(r->base);
    free(r);
  }
}

static bool find_cached(ready_images *r, const rt_source *source, const char *hash,
                        const rt_info *device, arena *a, ready_image *out) {
  char form[HASH_TEXT];
  cached_image row;
  rt_image_form(source, hash, form);
  if (image_cache_get_form(r->cache, form, a, &row, NULL)) {
    return false;
  }
  const bool cubin = device->format == RT_CUBIN && row.n_cubin;
  *out = (ready_image){.bytes = cubin ? row.cubin : row.ptx,
                       .nbytes = cubin ? row.n_cubin : row.n_ptx,
                       .spill = rt_log_spill(row.log)};
  return out->nbytes > 0;
}

bool ready_images_find(ready_images *r, const rt_source *source, const char *hash,
                       const rt_info *device, arena *a, ready_image *out) {
  if (r->cache && find_cached(r, source, hash, device, a, out)) {
    return true;
  }
  return r->base && base_set_get(r->base, hash, device, a, &out->bytes, &out->nbytes, &out->spill);
}

image_cache *ready_images_cache(ready_images *r) {
  return r->cache;
}
