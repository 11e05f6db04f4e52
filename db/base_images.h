/* base_images.h -- the file of a base set: images that are compiled when the library is built.
 *
 * A SQLite file that is never changed once it is in place: it is read without locks and without files
 * beside it, so it may lie in a read-only folder and be shared by all users. An image is found by the
 * hash of its source and its architecture. Images are compressed, and a row whose digest does not
 * match is treated as absent.
 *
 * A handle belongs to one thread at a time. */
#ifndef BASE_IMAGES_H
#define BASE_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"

typedef struct base_images base_images;

/* base_images_open -- for reading.
 *   err  ERR_NOTFOUND  there is no such file
 *        ERR_DB        others can write to it, it cannot be read, or it is of another version; the
 *                      message says which */
int base_images_open(const char *path, base_images **out, err *e);
void base_images_close(base_images *b);

typedef struct base_image {
  const char *source; /* the hash of its text, without leading comments */
  const char *arch;   /* "sm_90a": machine code; "compute_80": PTX */
  const char *key; /* of what made it: source, options, architecture, NVRTC's version (compile.h) */
  int64_t spill;   /* bytes a thread */
  const void *bytes;
  size_t nbytes; /* a NUL follows, which is not counted */
} base_image;

/* base_images_archs -- the architectures that there are of a source; in the arena */
int base_images_archs(base_images *b, const char *source, arena *a, const char ***archs, size_t *n,
                      err *e);
/* base_images_get -- in the arena. err ERR_NOTFOUND: none, or it is damaged */
int base_images_get(base_images *b, const char *source, const char *arch, arena *a, base_image *row,
                    err *e);

typedef struct base_totals { /* of an architecture */
  const char *arch;
  int64_t n, nbytes, n_packed; /* images, their bytes, and those compressed */
} base_totals;
/* base_images_stat -- of each architecture; in the arena */
int base_images_stat(base_images *b, arena *a, base_totals **list, size_t *n, err *e);

/* base_images_create -- a new file, for writing; one that is there is deleted.
 *   base_images_put     a source and architecture that it has already is left as it is
 *   base_images_finish  the file is complete; base_images_close without it leaves a part of one */
int base_images_create(const char *path, base_images **out, err *e);
int base_images_put(base_images *b, const base_image *row, err *e);
/* base_images_copy -- put what this key made for an architecture, from another file.
 *   err  ERR_NOTFOUND  it is not there, or it is damaged */
int base_images_copy(base_images *b, base_images *from, const char *key, const char *arch, err *e);
int base_images_finish(base_images *b, err *e);

#endif
