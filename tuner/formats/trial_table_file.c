/* trial_table_file.c -- read a file, compressed or not; zlib's gz functions read both. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "trial_table.h"

enum { CHUNK = 1 << 16 };
static const size_t MAX_TEXT = (size_t)1 << 30;

static int read_all(gzFile f, const char *path, str *out, err *e) {
  char chunk[CHUNK];
  int n;
  while ((n = gzread(f, chunk, sizeof chunk)) > 0) {
    if (out->n + (size_t)n > MAX_TEXT) {
      return err_set(e, ERR_LIMIT, "%s has more than 1 GiB of text", path);
    }
    str_add_n(out, chunk, (size_t)n);
  }
  int code;
  const char *why = gzerror(f, &code);
  if (n < 0 || code == Z_BUF_ERROR) { /* the latter: the file ends inside the stream */
    return err_set(e, ERR_IO, "cannot read %s: %s", path,
                   code == Z_ERRNO       ? strerror(errno)
                   : code == Z_BUF_ERROR ? "the file is truncated"
                                         : why);
  }
  return out->failed ? err_nomem(e) : 0;
}

int trial_table_read_file(const char *path, str *out, err *e) {
  errno = 0;
  gzFile f = gzopen(path, "rb");
  if (!f) {
    return err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "cannot open %s: %s", path,
                   errno ? strerror(errno) : "out of memory");
  }
  int rc = read_all(f, path, out, e);
  gzclose_r(f);
  return rc;
}
