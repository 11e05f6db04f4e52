/* image_cache.h -- compiled images, kept for every program of this user: a SQLite file in the cache folder.
 *
 * A row is what NVRTC returned for a key (compile.h: the hash of source, options, architecture and
 * NVRTC's version). Rows are dropped when the cache is full, the least recently used first; anything
 * in it can be made again. Notes (below) are kept beside them. Any number of processes read and write it at once; one that is killed
 * loses its last row at most. A row whose digest does not match is dropped when it is read, and a
 * file that SQLite finds damaged is deleted and begun anew.
 *
 * A handle belongs to one thread at a time and does not cross a fork. */
#ifndef IMAGE_CACHE_H
#define IMAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"

typedef struct image_cache image_cache;

enum { IMAGE_CACHE_NBYTES = 1 << 30 }; /* what it holds at most, unless opened with another bound */

/* image_cache_path -- the user's own file: images.db in the first of $TUNED_CACHE's folders, which are
 * separated by colons, else in $XDG_CACHE_HOME/autotune, else in ~/.cache/autotune; in the arena */
int image_cache_path(arena *a, const char **path, err *e);
/* image_cache_shared_path -- the i-th file that is only read: images.db in the other folders of
 * $TUNED_CACHE, or without that variable in /var/cache/autotune; in the arena. False: there is none */
bool image_cache_shared_path(size_t i, arena *a, const char **path);

/* image_cache_open -- creates the file and its folders. One that cannot be written is read: root's, in a
 * folder of the system, say.
 *   in   max_nbytes  of all images together; 0: IMAGE_CACHE_NBYTES
 *   err  ERR_DB  others can write to it, it cannot be read, or a newer version wrote it; the message
 *        says which */
int image_cache_open(const char *path, uint64_t max_nbytes, image_cache **out, err *e);
/* image_cache_open_all -- the user's own, and the shared ones, where image_cache_get looks for what it
 * lacks. Of these, one that is absent, cannot be trusted or is of another version is left out.
 *   err  as image_cache_open, and there is no shared one */
int image_cache_open_all(image_cache **out, err *e);
void image_cache_close(image_cache *c);

typedef struct cached_image {
  const char *form; /* the hash of all but NVRTC's version; NULL: found by its key only */
  const char *log;  /* NVRTC's, with ptxas's report of the kernels */
  const void *cubin, *ptx;
  size_t n_cubin, n_ptx; /* 0: none */
} cached_image;

/* image_cache_get -- in the arena. err ERR_NOTFOUND */
int image_cache_get(image_cache *c, const char *key, arena *a, cached_image *row, err *e);
/* image_cache_get_form -- by the form: what any version of NVRTC made. err ERR_NOTFOUND */
int image_cache_get_form(image_cache *c, const char *form, arena *a, cached_image *row, err *e);
/* image_cache_put -- of a key that is there already only the form changes */
int image_cache_put(image_cache *c, const char *key, const cached_image *row, err *e);

/* What was found out on the way to an image and is quick to read: a value for a name. The maker is the
 * digest of all that it depends on besides the name. */
typedef struct cached_note {
  const char *name;
  const void *value;
  size_t nbytes; /* of the value, which is not empty */
} cached_note;
enum { IMAGE_CACHE_NOTES = 4096 };
/* image_cache_get_notes -- a maker's, IMAGE_CACHE_NOTES of each file at most, damaged ones left out; in the arena.
 * image_cache_get_note -- one. err ERR_NOTFOUND */
int image_cache_get_notes(image_cache *c, const char *maker, arena *a, const cached_note **notes,
                          size_t *n, err *e);
int image_cache_get_note(image_cache *c, const char *maker, const char *name, arena *a,
                         cached_note *out, err *e);
/* image_cache_put_notes -- takes the place of a former value */
int image_cache_put_notes(image_cache *c, const char *maker, const cached_note *notes, size_t n,
                          err *e);

typedef struct image_cache_totals {
  int64_t n, nbytes;      /* images, and their bytes */
  int64_t oldest, newest; /* when used last: seconds since 1970; 0 without images */
} image_cache_totals;
int image_cache_stat(image_cache *c, image_cache_totals *out, err *e);
/* image_cache_verify -- reads every row and drops the damaged ones, or all where the file itself is
 * damaged; out their number */
int image_cache_verify(image_cache *c, int64_t *n_damaged, err *e);
typedef struct image_cache_health {
  bool begun_anew;   /* the file itself was damaged when it was opened */
  int64_t n_damaged; /* as image_cache_verify */
} image_cache_health;
/* image_cache_check -- image_cache_verify, and a row is written and deleted.
 *   err  ERR_DB, ERR_IO  nothing can be written: a full disk, say */
int image_cache_check(image_cache *c, image_cache_health *out, err *e);
/* image_cache_clear -- drops every row and gives the space back */
int image_cache_clear(image_cache *c, err *e);

#endif
