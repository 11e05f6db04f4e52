#define _GNU_SOURCE
#include "data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "matrix_input.h"

enum { HEADER_MAX = 4096 };

typedef struct reader {
  const gen_datum *d;
  const char *arg;
  FILE *f;
} reader;

static int fail_read(const reader *r, err *e) {
  return err_at(e, ERR_IO, r->d->file, "the file ends early, or cannot be read");
}

static int read_bytes(const reader *r, void *bytes, size_t n, err *e) {
  return fread(bytes, 1, n, r->f) == n ? 0 : fail_read(r, e);
}

/* ---- .npy: numpy.lib.format, versions 1 to 3 -------------------------------------------------- */

/* The text behind 'key': in a dictionary of Python, NULL: there is none. */
static const char *value_of(const char *header, const char *key) {
  const char *p = strstr(header, key);
  p = p ? strchr(p + strlen(key), ':') : NULL;
  return p ? p + 1 + strspn(p + 1, " ") : NULL;
}

/* The product of "(3, 4)"; of "()" one. */
static uint64_t elements(const char *shape) {
  uint64_t n = 1;
  char *end;
  for (const char *p = shape + 1; *p && *p != ')'; p = *end == ',' ? end + 1 : end) {
    const unsigned long long side = strtoull(p, &end, 10);
    if (end == p) {
      break;
    }
    n *= side;
    end += strspn(end, " ");
  }
  return n;
}

/* "<f4": byte order, kind, bytes. NumPy lacks bfloat16 and stores it as two bytes of any kind. */
static bool is_type(const char *descr, dtype t) {
  const char kind = descr[1];
  const bool fits = t == DTYPE_bf16      ? kind == 'V' || kind == 'u' || kind == 'i'
                    : dtype_is_float(t)  ? kind == 'f'
                    : dtype_is_signed(t) ? kind == 'i'
                                         : kind == 'u' || kind == 'b';
  return fits && strchr("<=|", descr[0]) && atoi(descr + 2) == (int)dtype_nbytes(t);
}

static int check_header(const reader *r, const char *header, err *e) {
  const char *descr = value_of(header, "'descr'"), *shape = value_of(header, "'shape'");
  if (!descr || *descr != '\'' || !descr[1] || !shape || *shape != '(') {
    return err_at(e, ERR_USAGE, r->d->file, "its header is not one of a .npy file of numbers");
  }
  if (!is_type(descr + 1, r->d->type)) {
    return err_at(e, ERR_USAGE, r->d->file, "it holds elements of %.*s, and '%s' is %s",
                  (int)strcspn(descr + 1, "'"), descr + 1, r->arg, dtype_name(r->d->type));
  }
  const uint64_t n = elements(shape);
  return n == r->d->count ? 0
                          : err_at(e, ERR_USAGE, r->d->file,
                                   "it holds %llu elements, and '%s' has %llu in this problem",
                                   (unsigned long long)n, r->arg, (unsigned long long)r->d->count);
}

static int read_npy(const reader *r, void *bytes, err *e) {
  unsigned char start[4];
  char header[HEADER_MAX + 1];
  TRY(read_bytes(r, start, sizeof start, e)); /* version, and the first half of the length */
  size_t n = start[2] | (size_t)start[3] << 8;
  if (start[0] > 1) {
    TRY(read_bytes(r, start, 2, e));
    n |= (size_t)start[0] << 16 | (size_t)start[1] << 24;
  }
  if (n > HEADER_MAX) {
    return err_at(e, ERR_USAGE, r->d->file, "its header has %zu bytes; %d are the most", n,
                  HEADER_MAX);
  }
  TRY(read_bytes(r, header, n, e));
  header[n] = 0;
  TRY(check_header(r, header, e));
  return read_bytes(r, bytes, r->d->count * dtype_nbytes(r->d->type), e);
}

/* ---- a matrix -------------------------------------------------------------------------------- */

static int read_matrix(const reader *r, void *bytes, err *e) {
  auto_str text = {0};
  matrix_input *m;
  str_addf(&text, "file:%s", r->d->file);
  TRY(text.failed ? err_nomem(e) : 0);
  TRY(matrix_input_open(str_text(&text), 1, &m, e));
  const int rc = matrix_input_put(m, r->d->part, r->arg, r->d->type, r->d->count, bytes, e);
  matrix_input_close(m);
  return rc;
}

/* ---- either ---------------------------------------------------------------------------------- */

static int check_size(const reader *r, err *e) {
  struct stat st;
  const uint64_t wanted = r->d->count * dtype_nbytes(r->d->type);
  if (fstat(fileno(r->f), &st) || !S_ISREG(st.st_mode)) {
    return err_at(e, ERR_IO, r->d->file, "not a file");
  }
  return (uint64_t)st.st_size == wanted
             ? 0
             : err_at(
                   e, ERR_USAGE, r->d->file,
                   "it has %lld bytes, and '%s' has %llu elements of %s in this problem: %llu bytes",
                   (long long)st.st_size, r->arg, (unsigned long long)r->d->count,
                   dtype_name(r->d->type), (unsigned long long)wanted);
}

static int read_file(const reader *r, void *bytes, err *e) {
  static const char magic[] = "\x93NUMPY";
  char start[sizeof magic - 1];
  struct stat st;
  if (fstat(fileno(r->f), &st) || !S_ISREG(st.st_mode)) {
    return err_at(e, ERR_IO, r->d->file, "not a file");
  }
  if (r->d->part) {
    return read_matrix(r, bytes, e);
  }
  if (fread(start, 1, sizeof start, r->f) == sizeof start && !memcmp(start, magic, sizeof start)) {
    return read_npy(r, bytes, e);
  }
  TRY(check_size(r, e));
  rewind(r->f);
  return read_bytes(r, bytes, r->d->count * dtype_nbytes(r->d->type), e);
}

/* Opening a pipe does not block. */
static FILE *open_file(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
  if (fd >= 0 && !f) {
    close(fd);
  }
  return f;
}

int data_file_read(const gen_datum *datum, const char *arg, void *bytes, err *e) {
  reader r = {datum, arg, open_file(datum->file)};
  if (!r.f) {
    return err_at(e, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, datum->file,
                  "cannot open the data of '%s': %s", arg, strerror(errno));
  }
  const int rc = read_file(&r, bytes, e);
  fclose(r.f);
  return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The header fills whole lines of 64 bytes: 10 of magic, version and length, the dictionary, blanks. */
static void add_header(str *s, dtype t, uint64_t count) {
  auto_str dict = {0};
  const char kind = t == DTYPE_bf16      ? 'u'
                    : dtype_is_float(t)  ? 'f'
                    : dtype_is_signed(t) ? 'i'
                                         : 'u';
  str_addf(&dict, "{'descr': '<%c%zu', 'fortran_order': False, 'shape': (%llu,), }", kind,
           dtype_nbytes(t), (unsigned long long)count);
  while ((dict.n + 11) % 64 && !dict.failed) {
    str_add(&dict, " ");
  }
  str_add(&dict, "\n");
  str_add_n(s, "\x93NUMPY\x01\x00", 8);
  str_add_n(s, (char[]){(char)(dict.n & 255), (char)(dict.n >> 8)}, 2);
  str_add_n(s, str_text(&dict), dict.n);
  s->failed |= dict.failed;
}

int data_file_write(const char *path, dtype t, uint64_t count, const void *bytes, err *e) {
  auto_str s = {0};
  const size_t n = strlen(path);
  if (n < 4 || strcmp(path + n - 4, ".npy") != 0) {
    return file_write(path, bytes, (size_t)count * dtype_nbytes(t), e);
  }
  add_header(&s, t, count);
  str_add_n(&s, bytes, (size_t)count * dtype_nbytes(t));
  return s.failed ? err_nomem(e) : file_write(path, str_text(&s), s.n, e);
}
