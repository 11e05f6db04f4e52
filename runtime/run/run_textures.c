/* run_textures.c -- texture objects of launches. An object holds an address, so one is made for each
 * buffer that a launch gets, and kept: programs keep their buffers. What is read from an array has
 * one object; every launch copies the buffer into the array. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "loaded.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

int loaded_textures_array(rt_device *d, texture *x, err *e) {
  const rt_array_shape shape = {.type = x->fixed.type,
                                .channels = x->fixed.channels,
                                .dims = {x->dims[0], x->dims[1], x->dims[2]}};
  TRY(d->ops->array_new(d, &shape, &x->fixed.array, e));
  return d->ops->texture_new(d, &x->fixed, &x->of_array, e);
}

static uint64_t stride_of(const texture *x, int i, const void *const *args,
                          const rt_ptr *workspaces) {
  uint64_t bits = 0;
  memcpy(&bits, loaded_pointer(&x->strides[i], args, workspaces), dtype_nbytes(x->stride_types[i]));
  return bits;
}

static int fill_array(rt_loaded *l, const texture *x, rt_stream stream, rt_ptr at,
                      const void *const *args, const rt_ptr *workspaces, err *e) {
  const uint64_t one = dtype_nbytes(x->fixed.type), texel = one * (uint64_t)x->fixed.channels;
  rt_array_copy c = {.size = {x->dims[0], x->dims[1], x->dims[2]},
                     .texel = (uint32_t)texel,
                     .device = at,
                     .pitch = x->dims[0] * texel,
                     .rows = 1};
  if (x->rank > 1) {
    c.pitch = one * stride_of(x, 0, args, workspaces);
    c.rows = x->dims[1];
  }
  if (x->rank > 2) {
    const uint64_t slice = one * stride_of(x, 1, args, workspaces);
    c.rows = slice / (c.pitch ? c.pitch : 1);
    if (!c.pitch || slice % c.pitch) {
      return err_set(e, ERR_USAGE, "the slices of a texture are not a whole number of rows apart");
    }
  }
  return l->d->ops->array_copy(l->d, x->fixed.array, &c, stream, e);
}

/* ---- objects of buffers ---------------------------------------------------------------------- */

/* The latest are found first. */
static loaded_object *find(loaded_objects *all, const texture *x, rt_ptr at, uint64_t pitch) {
  for (size_t i = all->n; i-- > 0;) {
    loaded_object *o = &all->list[i];
    if (o->x == x && o->at == at && o->pitch == pitch) {
      return o;
    }
  }
  return NULL;
}

/* Of those that no graph has captured; NULL: there is none. */
static loaded_object *least_recent(const loaded_objects *all) {
  loaded_object *least = NULL;
  for (size_t i = 0; i < all->n; i++) {
    loaded_object *o = &all->list[i];
    least = o->captured || (least && least->used <= o->used) ? least : o;
  }
  return least;
}

/* A free place, or that of the object whose last use is longest ago: none of this launch, and hardly
 * one of a launch that still runs. In a capture nothing can be waited for: it gets a new place. */
static int place(rt_loaded *l, bool captured, loaded_object **out, err *e) {
  loaded_objects *all = &l->objects;
  *out = captured || all->n < LOADED_OBJECTS ? NULL : least_recent(all);
  if (!*out) {
    if (!array_reserve(&all->list, all->n + 1, &all->capacity, sizeof *all->list)) {
      return err_nomem(e);
    }
    *out = &all->list[all->n++];
    return 0;
  }
  TRY(l->d->ops->stream_sync(l->d, NULL, e));
  return l->d->ops->texture_free(l->d, (*out)->made, e);
}

static int make(rt_loaded *l, const texture *x, rt_ptr at, uint64_t pitch, bool captured,
                loaded_object **out, err *e) {
  rt_object made;
  rt_texture t = x->fixed;
  t.at = at;
  t.pitch = pitch;
  TRY(l->d->ops->texture_new(l->d, &t, &made, e));
  const int rc = place(l, captured, out, e);
  if (rc) {
    l->d->ops->texture_free(l->d, made, NULL);
    return rc;
  }
  **out = (loaded_object){.x = x, .at = at, .pitch = pitch, .made = made};
  return 0;
}

static int bind(rt_loaded *l, const texture *x, rt_ptr at, uint64_t pitch, rt_stream stream,
                rt_object *out, err *e) {
  const bool captured = l->d->ops->capturing && l->d->ops->capturing(l->d, stream);
  pthread_mutex_lock(&l->objects.turn);
  loaded_object *o = find(&l->objects, x, at, pitch);
  const int rc = o ? 0 : make(l, x, at, pitch, captured, &o, e);
  if (!rc) {
    o->used = ++l->objects.clock;
    o->captured |= captured;
    *out = o->made;
  }
  pthread_mutex_unlock(&l->objects.turn);
  return rc;
}

int loaded_textures_bind(rt_loaded *l, const stage *s, rt_stream stream, const void *const *args,
                         const rt_ptr *workspaces, rt_object *out, err *e) {
  for (size_t i = 0; i < s->n_textures; i++) {
    const texture *x = &s->textures[i];
    rt_ptr at;
    memcpy(&at, loaded_pointer(&x->at, args, workspaces), sizeof at);
    if (x->of_array) {
      TRY(fill_array(l, x, stream, at, args, workspaces, e));
      out[i] = x->of_array;
    } else {
      const uint64_t row = x->rank > 1 ? stride_of(x, 0, args, workspaces) : 0;
      TRY(bind(l, x, at, row * dtype_nbytes(x->fixed.type), stream, &out[i], e));
    }
  }
  return 0;
}

static void free_array(rt_device *d, const texture *x) {
  if (x->of_array) {
    d->ops->texture_free(d, x->of_array, NULL);
  }
  if (x->fixed.array) {
    d->ops->array_free(d, x->fixed.array);
  }
}

void loaded_textures_free(rt_loaded *l) {
  for (size_t i = 0; i < l->objects.n; i++) {
    l->d->ops->texture_free(l->d, l->objects.list[i].made, NULL);
  }
  /* the stage after the last is the one that failed */
  for (size_t i = 0; l->stages && i <= l->n_stages; i++) {
    for (size_t k = 0; k < l->stages[i].n_textures; k++) {
      free_array(l->d, &l->stages[i].textures[k]);
    }
  }
  free(l->objects.list);
  pthread_mutex_destroy(&l->objects.turn);
}
