#define _GNU_SOURCE
#include "cached_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "image_cache.h"

/* The lock file beside the cache. An image being made locks one byte of it, whose place is the key's
 * hash: so nothing is left of a process that is killed, and the file stays empty. */
typedef struct store {
  image_cache *cache;
  int locks;            /* -1: none */
  pid_t opener;         /* the process that opened it; 0: not open yet */
  char made[HASH_TEXT]; /* the key whose byte is locked; empty: none */
} store;

static struct flock byte_of(const char *key, short type) {
  const off_t place = (off_t)(strtoull(key + HASH_TEXT / 2, NULL, 16) >> 1);
  return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
}

static bool is_held(store *s, struct flock *byte) {
  return fcntl(s->locks, F_OFD_SETLK, byte) && (errno == EAGAIN || errno == EACCES);
}

/* Waits for the process that makes this image, if there is one; not for ever, since it may be
 * stopped. Where locks fail, two may make it. */
static void lock_key(store *s, const char *key) {
  static const double most_sec = 5;
  enum { POLL_US = 2000 };
  struct flock byte = byte_of(key, F_WRLCK);
  const double until = now_sec() + most_sec;
  bool held = s->locks >= 0 && is_held(s, &byte);
  while (held && now_sec() < until) {
    usleep(POLL_US);
    held = is_held(s, &byte);
  }
  if (s->locks >= 0 && !held) {
    memcpy(s->made, key, sizeof s->made);
  }
}

static void unlock_key(store *s) {
  if (*s->made) {
    struct flock byte = byte_of(s->made, F_UNLCK);
    fcntl(s->locks, F_OFD_SETLK, &byte);
    *s->made = 0;
  }
}

static int open_locks(arena *a, const char *path) {
  const char *name = arena_format(a, "%s-locks", path);
  return name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
}

/* Neither SQLite's handles nor locks of open files cross a fork: a child leaves its parent's alone. */
static void open_store(store *s) {
  auto_arena a = {0};
  const char *path;
  s->opener = getpid();
  s->cache = NULL;
  s->locks = -1;
  if (!image_cache_open_all(&s->cache, NULL) && !image_cache_path(&a, &path, NULL)) {
    s->locks = open_locks(&a, path);
  }
}

static bool read_image(store *s, rt_image *image) {
  auto_arena a = {0};
  cached_image row;
  const bool found = !image_cache_get(s->cache, image->key, &a, &row, NULL);
  if (found) {
    str_add_n(&image->cubin, row.cubin, row.n_cubin);
    str_add_n(&image->ptx, row.ptx, row.n_ptx);
    str_add(&image->log, row.log);
  }
  if (found &&
      (!row.form || strcmp(row.form, image->form) != 0)) { /* as a former version says it */
    row.form = image->form;
    image_cache_put(s->cache, image->key, &row, NULL);
  }
  const bool complete = found && !image->cubin.failed && !image->ptx.failed && !image->log.failed;
  if (!complete) {
    str_reset(&image->cubin);
    str_reset(&image->ptx);
    str_reset(&image->log);
  }
  return complete;
}

static bool find_image(void *self, rt_image *image) {
  store *s = self;
  if (s->opener != getpid()) {
    open_store(s);
  }
  if (!s->cache) {
    return false;
  }
  if (read_image(s, image)) {
    return true;
  }
  lock_key(s, image->key);
  const bool found =
      *s->made && read_image(s, image); /* another process may have made it meanwhile */
  if (found) {
    unlock_key(s);
  }
  return found;
}

static void keep_image(void *self, const rt_image *image) {
  store *s = self;
  if (image && s->cache && s->opener == getpid()) {
    const cached_image row = {.form = image->form,
                              .log = str_text(&image->log),
                              .cubin = image->cubin.p,
                              .n_cubin = image->cubin.n,
                              .ptx = image->ptx.p,
                              .n_ptx = image->ptx.n};
    image_cache_put(s->cache, image->key, &row, NULL);
  }
  unlock_key(s);
}

static void close_store(void *self) {
  store *s = self;
  if (s->opener == getpid()) {
    image_cache_close(s->cache);
    close(s->locks);
  }
  free(s);
}

int cached_compiler_open(rt_compiler **c, err *e) {
  store *s = calloc(1, sizeof *s);
  if (!s) {
    return err_nomem(e);
  }
  s->locks = -1;
  const int rc = rt_compiler_open(c, e);
  if (rc) {
    free(s);
    return rc;
  }
  rt_compiler_keep(
      *c,
      (rt_image_store){.find = find_image, .made = keep_image, .close = close_store, .self = s});
  return 0;
}
