#include "peer_sell.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MOST = 1 << 26 }; /* a second of the host's time */

typedef struct work { /* on the host */
  int64_t *ptr;
  int32_t *idx, *offsets, *columns;
  char *val, *values;
} work;

static void work_free(work *w) {
  free(w->ptr);
  free(w->idx);
  free(w->offsets);
  free(w->columns);
  free(w->val);
  free(w->values);
}

static int take(rt_device *d, rt_ptr from, size_t nbytes, void **to, err *e) {
  *to = malloc(nbytes + 1);
  return *to ? d->ops->copy_out(d, *to, from, nbytes, NULL, e) : err_nomem(e);
}

static int put(rt_device *d, const void *from, size_t nbytes, rt_ptr *to, err *e) {
  TRY(d->ops->alloc(d, nbytes, to, e));
  return d->ops->copy_in(d, *to, from, nbytes, NULL, e);
}

static int take_csr(rt_device *d, const peer_csr *m, work *w, err *e) {
  const size_t n = (size_t)m->rows + 1, nnz = (size_t)m->nnz;
  TRY(take(d, m->idx, nnz * 4, (void **)&w->idx, e));
  TRY(take(d, m->val, nnz * m->val_nbytes, (void **)&w->val, e));
  TRY(take(d, m->ptr, n * m->ptr_nbytes, (void **)&w->ptr, e));
  if (m->ptr_nbytes == 8) {
    return 0;
  }
  int32_t *narrow = (int32_t *)(void *)w->ptr;
  w->ptr = malloc(n * sizeof *w->ptr);
  for (size_t i = 0; w->ptr && i < n; i++) {
    w->ptr[i] = narrow[i];
  }
  free(narrow);
  return w->ptr ? 0 : err_nomem(e);
}

/* Where each slice begins. */
static int lay_out(const peer_csr *m, int64_t height, work *w, peer_sell *out, err *e) {
  const int64_t slices = (m->rows + height - 1) / height;
  int64_t total = 0;
  out->n_offsets = (size_t)slices + 1;
  w->offsets = calloc(out->n_offsets, sizeof *w->offsets);
  if (!w->offsets) {
    return err_nomem(e);
  }
  for (int64_t s = 0; s < slices; s++) {
    int64_t longest = 0;
    for (int64_t r = s * height; r < (s + 1) * height && r < m->rows; r++) {
      const int64_t length = w->ptr[r + 1] - w->ptr[r];
      longest = length > longest ? length : longest;
    }
    total += longest * height;
    if (total > 3 * m->nnz + 64 * height) {
      return err_set(e, ERR_USAGE,
                     "sliced ELL would have more than twice as much padding as entries");
    }
    w->offsets[s + 1] = (int32_t)total;
  }
  out->padded = (size_t)total;
  return 0;
}

static void fill_row(const peer_csr *m, int64_t height, int64_t r, work *w) {
  const size_t size = m->val_nbytes;
  size_t to = (size_t)w->offsets[r / height] + (size_t)(r % height);
  for (int64_t i = w->ptr[r]; i < w->ptr[r + 1]; i++, to += (size_t)height) {
    w->columns[to] = w->idx[i];
    memcpy(w->values + to * size, w->val + (size_t)i * size, size);
  }
}

static int convert(rt_device *d, const peer_csr *m, int64_t height, work *w, peer_sell *out,
                   err *e) {
  TRY(take_csr(d, m, w, e));
  TRY(lay_out(m, height, w, out, e));
  w->columns = malloc(out->padded * sizeof *w->columns + 1);
  w->values = calloc(out->padded + 1, m->val_nbytes);
  if (!w->columns || !w->values) {
    return err_nomem(e);
  }
  memset(w->columns, 0xff, out->padded * sizeof *w->columns);
  for (int64_t r = 0; r < m->rows; r++) {
    fill_row(m, height, r, w);
  }
  TRY(put(d, w->offsets, out->n_offsets * sizeof *w->offsets, &out->offsets, e));
  TRY(put(d, w->columns, out->padded * sizeof *w->columns, &out->columns, e));
  return put(d, w->values, out->padded * m->val_nbytes, &out->values, e);
}

int peer_sell_new(rt_device *d, const peer_csr *m, int64_t height, peer_sell *out, err *e) {
  work w = {0};
  if (m->nnz > ENTRIES_MOST) {
    return err_set(e, ERR_USAGE, "too many entries to convert them to sliced ELL on the host");
  }
  *out = (peer_sell){.val_nbytes = m->val_nbytes};
  const int rc = convert(d, m, height, &w, out, e);
  work_free(&w);
  return rc;
}

static int copy(rt_device *d, rt_ptr from, size_t nbytes, rt_ptr *to, err *e) {
  TRY(d->ops->alloc(d, nbytes, to, e));
  return d->ops->copy(d, *to, from, nbytes, NULL, e);
}

int peer_sell_copy(rt_device *d, const peer_sell *from, peer_sell *out, err *e) {
  *out = (peer_sell){
      .n_offsets = from->n_offsets, .padded = from->padded, .val_nbytes = from->val_nbytes};
  TRY(copy(d, from->offsets, from->n_offsets * 4, &out->offsets, e));
  TRY(copy(d, from->columns, from->padded * 4, &out->columns, e));
  return copy(d, from->values, from->padded * from->val_nbytes, &out->values, e);
}

void peer_sell_free(rt_device *d, peer_sell *s) {
  d->ops->release(d, s->offsets);
  d->ops->release(d, s->columns);
  d->ops->release(d, s->values);
  *s = (peer_sell){0};
}
