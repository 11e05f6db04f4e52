/* emu_textures.c -- see emu_textures.h. */
#include "emu_textures.h"

#include <stdlib.h>
#include <string.h>

#include "emu_device_state.h"

struct rt_array {
  rt_array *next;
  emu_texels texels;
};

static emu_device *self(rt_device *d) {
  return (emu_device *)d;
}

/* ---- shapes ---- */

static bool has_format(dtype t, int channels) {
  switch (t) {
  case DTYPE_i64:
  case DTYPE_u64:
  case DTYPE_f64:
  case DTYPE_bf16: return false;
  default: return channels == 1 || channels == 2 || channels == 4;
  }
}

static int bad_format(dtype t, int channels, err *e) {
  return err_set(e, ERR_USAGE,
                 "texels of %d x %s: a texture has 1, 2 or 4 channels of i8, u8, i16, u16, i32, "
                 "u32, f16 or f32",
                 channels, dtype_name(t));
}

/* Limits of compute capability 9.0 for dimensions and layers.
 * src: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" */
static const uint64_t most_array[4][3] = {
    {0, 0, 0}, {131072, 0, 0}, {131072, 65536, 0}, {16384, 16384, 16384}};
static const uint64_t most_layered[3][3] = {{0, 0, 0}, {32768, 0, 2048}, {32768, 32768, 2048}};
static const uint64_t most_linear[3] = {1u << 28, 0, 0}, most_pitch[3] = {131072, 65000, 0};

static int check_dims(const uint64_t dims[3], const uint64_t most[3], const char *what, err *e) {
  for (int k = 0; k < 3; k++) {
    if (dims[k] > most[k] || (most[k] && !dims[k])) {
      return err_set(
          e, ERR_USAGE, "%s of %llu x %llu x %llu texels: the most is %llu x %llu x %llu", what,
          (unsigned long long)dims[0], (unsigned long long)dims[1], (unsigned long long)dims[2],
          (unsigned long long)most[0], (unsigned long long)most[1], (unsigned long long)most[2]);
    }
  }
  return 0;
}

static int rank_of(const rt_array_shape *s) {
  return s->dims[2] && !s->layered ? 3 : s->dims[1] ? 2 : 1;
}

/* Rows of whole 64 bytes and, in two dimensions, slices of whole 8 rows: emu_texel_counted. */
static emu_texels texels_of(const rt_array_shape *s) {
  const int nbytes = (int)dtype_nbytes(s->type) * s->channels;
  emu_texels t = {.type = s->type,
                  .channels = s->channels,
                  .nbytes = nbytes,
                  .rank = rank_of(s),
                  .layers = s->layered ? s->dims[2] : 0,
                  .array = true,
                  .surface = s->surface,
                  .gather = s->gather};
  for (int k = 0; k < 3; k++) {
    t.dims[k] = k < t.rank ? s->dims[k] : 1;
  }
  t.pitch = (t.dims[0] * (uint64_t)nbytes + 63) / 64 * 64;
  t.slice = t.pitch * (t.rank > 1 ? (t.dims[1] + 7) / 8 * 8 : 1);
  return t;
}

int emu_array_new_op(rt_device *d, const rt_array_shape *shape, rt_array **out, err *e) {
  *out = NULL;
  if (!has_format(shape->type, shape->channels)) {
    return bad_format(shape->type, shape->channels, e);
  }
  const int rank = rank_of(shape);
  TRY(check_dims(shape->dims, shape->layered ? most_layered[rank] : most_array[rank], "an array",
                 e));
  if (shape->gather && (rank != 2 || shape->layered)) {
    return err_set(e, ERR_USAGE, "only a 2-D array without layers can be gathered from");
  }
  rt_array *a = calloc(1, sizeof *a);
  if (!a) {
    return err_nomem(e);
  }
  a->texels = texels_of(shape);
  const int rc = emu_heap_alloc(
      &self(d)->heap, a->texels.slice * (shape->layered ? shape->dims[2] : a->texels.dims[2]), NULL,
      &a->texels.at, e);
  if (rc) {
    free(a);
    return rc;
  }
  a->next = self(d)->arrays;
  self(d)->arrays = a;
  *out = a;
  return 0;
}

void emu_array_free_op(rt_device *d, rt_array *a) {
  for (rt_array **at = &self(d)->arrays; *at; at = &(*at)->next) {
    if (*at == a) {
      *at = a->next;
      emu_heap_release(&self(d)->heap, a->texels.at);
      free(a);
      return;
    }
  }
}

void emu_arrays_close(rt_device *d) {
  while (self(d)->arrays) {
    emu_array_free_op(d, self(d)->arrays);
  }
  free(self(d)->objects.list);
}

/* ---- copies ---- */

/* A row of a copy on the host, with the states of its bytes where it is the device's. */
typedef struct row {
  uint8_t *bytes, *state;
} row;

static int device_row(emu_device *d, uint64_t at, uint64_t n, row *r, err *e) {
  r->bytes = emu_heap_host(&d->heap, at, n);
  if (!r->bytes) {
    str text = {0};
    emu_heap_describe(&d->heap, at, &text);
    const int rc =
        err_set(e, ERR_DEVICE, "a row of %llu bytes of a copy is not inside one allocation: %s",
                (unsigned long long)n, str_text(&text));
    str_clear(&text);
    return rc;
  }
  r->state = d->heap.state + (at - EMU_GLOBAL_BASE);
  return 0;
}

static void move_row(const row *to, const row *from, uint64_t n) {
  memmove(to->bytes, from->bytes, n);
  if (to->state && from->state) {
    emu_heap_move_states(to->state, from->state, n);
  } else if (to->state) {
    memset(to->state, BYTE_ALLOCATED | BYTE_WRITTEN | (*to->state & BYTE_CONST), n);
  }
}

typedef struct transfer {
  emu_device *d;
  const emu_texels *t;
  const rt_array_copy *c;
  uint64_t size[3], nbytes; /* nbytes: of a row */
  emu_touched *touched;     /* beside other streams' commands; NULL: there are none */
} transfer;

static int copy_row(const transfer *x, uint64_t y, uint64_t z, err *e) {
  const rt_array_copy *c = x->c;
  const uint64_t offset = (z * c->rows + y) * c->pitch,
                 texel = emu_texel_address(x->t, c->at[0], c->at[1] + y, c->at[2] + z);
  row ours, other = {c->host ? (uint8_t *)c->host + offset : NULL, NULL};
  TRY(device_row(x->d, texel, x->nbytes, &ours, e));
  TRY(c->host ? 0 : device_row(x->d, c->device + offset, x->nbytes, &other, e));
  move_row(c->out ? &other : &ours, c->out ? &ours : &other, x->nbytes);
  if (x->touched) {
    emu_touch(x->touched, texel, x->nbytes, c->out ? ACCESS_READ : ACCESS_WRITE);
    emu_touch(x->touched, c->device + offset, c->host ? 0 : x->nbytes,
              c->out ? ACCESS_WRITE : ACCESS_READ);
  }
  return 0;
}

static int copy_rows(const transfer *x, err *e) {
  for (uint64_t z = 0; z < x->size[2]; z++) {
    for (uint64_t y = 0; y < x->size[1]; y++) {
      TRY(x->nbytes ? copy_row(x, y, z, e) : 0);
    }
  }
  return 0;
}

static int measure(transfer *x, err *e) {
  const emu_texels *t = x->t;
  const rt_array_copy *c = x->c;
  const uint64_t dims[] = {t->dims[0], t->dims[1], t->layers ? t->layers : t->dims[2]};
  for (int k = 0; k < 3; k++) {
    x->size[k] = c->size[k] ? c->size[k] : k > 0;
    if (c->at[k] > dims[k] || x->size[k] > dims[k] - c->at[k]) {
      return err_set(e, ERR_USAGE,
                     "a copy of %llu texels from %llu on in dimension %d, where the array has %llu",
                     (unsigned long long)x->size[k], (unsigned long long)c->at[k], k,
                     (unsigned long long)dims[k]);
    }
  }
  x->nbytes = x->size[0] * (uint64_t)t->nbytes;
  return c->pitch >= x->nbytes || (x->size[1] == 1 && x->size[2] == 1)
             ? 0
             : err_set(e, ERR_USAGE, "a copy of rows of %llu bytes, %llu bytes apart",
                       (unsigned long long)x->nbytes, (unsigned long long)c->pitch);
}

int emu_array_copy_op(rt_device *dev, rt_array *a, const rt_array_copy *c, rt_stream s, err *e) {
  emu_device *d = self(dev);
  transfer x = {.d = d, .t = &a->texels, .c = c};
  TRY(measure(&x, e));
  emu_command *command =
      d->checks ? emu_command_begin(&d->streams, &d->heap, s, "a copy of an array") : NULL;
  x.touched = command ? &command->touched : NULL;
  const int rc = copy_rows(&x, e);
  const int clash = emu_command_end(&d->streams, &d->heap, command, &d->finding, rc ? NULL : e);
  d->now += (double)(x.nbytes * x.size[1] * x.size[2]) * (c->host ? 1 : 2) / emu_bandwidth(d);
  return rc ? rc : clash;
}

/* ---- objects ---- */

static int memory_texels(emu_device *d, const rt_texture *t, emu_texels *out, err *e) {
  enum { ALIGN = 256, PITCH = 32 }; /* ALIGN: allocations have no more; cards ask for 512 */
  const uint64_t dims[] = {t->width, t->height, 0};
  const int nbytes = (int)dtype_nbytes(t->type) * t->channels;
  if (!has_format(t->type, t->channels)) {
    return bad_format(t->type, t->channels, e);
  }
  TRY(check_dims(dims, t->height ? most_pitch : most_linear,
                 t->height ? "a texture of memory" : "a texture of linear memory", e));
  *out = (emu_texels){.at = t->at,
                      .type = t->type,
                      .channels = t->channels,
                      .nbytes = nbytes,
                      .rank = t->height ? 2 : 1,
                      .dims = {t->width, t->height ? t->height : 1, 1},
                      .pitch = t->pitch,
                      .gather = true};
  if (t->at % ALIGN ||
      (t->height && (t->pitch % PITCH || t->pitch < t->width * (uint64_t)nbytes))) {
    return err_set(e, ERR_USAGE,
                   "a texture of memory at 0x%llx with rows %llu bytes apart: the address must be "
                   "a multiple of 512, the pitch one of %d and not less than a row",
                   (unsigned long long)t->at, (unsigned long long)t->pitch, PITCH);
  }
  row whole;
  return device_row(d, t->at, emu_texels_nbytes(out), &whole, e);
}

int emu_texture_new_op(rt_device *d, const rt_texture *t, rt_object *o, err *e) {
  emu_object x = {
      .kind = OBJECT_texture, .linear = t->linear, .normalized_coords = t->normalized_coords};
  *o = 0;
  if (t->array) {
    x.texels = t->array->texels;
  } else {
    TRY(memory_texels(self(d), t, &x.texels, e));
  }
  x.normalized = t->normalized && !dtype_is_float(x.texels.type) && dtype_nbytes(x.texels.type) < 4;
  if (t->linear && !x.normalized && !dtype_is_float(x.texels.type) && (t->array || t->height)) {
    return err_set(e, ERR_USAGE,
                   "a texture interpolates %s only where it reads them as normalized numbers",
                   dtype_name(x.texels.type));
  }
  for (int k = 0; k < 3; k++) {
    x.edge[k] = (emu_edge)t->edge[k];
  }
  return emu_objects_add(&self(d)->objects, &x, o, e);
}

int emu_surface_new_op(rt_device *d, rt_array *a, rt_object *o, err *e) {
  const emu_object x = {.kind = OBJECT_surface, .texels = a->texels};
  *o = 0;
  return a->texels.surface ? emu_objects_add(&self(d)->objects, &x, o, e)
                           : err_set(e, ERR_USAGE, "the array was not made for surfaces");
}

static int destroy(rt_device *d, emu_object_kind kind, rt_object o, const char *name, err *e) {
  return emu_objects_remove(&self(d)->objects, kind, o)
             ? 0
             : err_set(e, ERR_DEVICE, "destroying 0x%llx, which is no %s object",
                       (unsigned long long)o, name);
}

int emu_texture_free_op(rt_device *d, rt_object o, err *e) {
  return destroy(d, OBJECT_texture, o, "texture", e);
}

int emu_surface_free_op(rt_device *d, rt_object o, err *e) {
  return destroy(d, OBJECT_surface, o, "surface", e);
}
