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
#include "matrix_market.h"

enum { HEADER_MAX = 4096, MATRIX_MAX_NBYTES = 1 << 30 };

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

/* ---- Matrix Market --------------------------------------------------------------------------- */

static double element_of(const matrix *m, gen_part part, int64_t i) {
  switch (part) {
  case GEN_PART_offsets: return (double)m->offsets[i];
  case GEN_PART_rows: return m->entries[i].row;
  case GEN_PART_columns: return m->entries[i].column;
  case GEN_PART_imaginary: return m->entries[i].imaginary;
  default: return m->entries[i].real;
  }
}

static int check_matrix(const reader *r, const matrix *m, err *e) {
  const int64_t n = r->d->part == GEN_PART_offsets ? m->rows + 1 : m->n;
  if (r->d->part == GEN_PART_values && m->is_complex) {
    return err_at(e, ERR_USAGE, r->d->file,
                  "its values are complex: '%s' takes part = \"real\" or \"imaginary\"", r->arg);
  }
  return (uint64_t)n == r->d->count
             ? 0
             : err_at(
                   e, ERR_USAGE, r->d->file,
                   "it has %lld rows, %lld columns and %lld entries: '%s' needs %lld elements, and "
                   "has %llu in this problem",
                   (long long)m->rows, (long long)m->columns, (long long)m->n, r->arg, (long long)n,
                   (unsigned long long)r->d->count);
}

static int put_matrix(const reader *r, const matrix *m, unsigned char *bytes, err *e) {
  const dtype t = r->d->type;
  TRY(check_matrix(r, m, e));
  for (uint64_t i = 0; i < r->d->count; i++) {
    const double v = element_of(m, r->d->part, (int64_t)i);
    const uint64_t bits = dtype_encode(t, v);
    if (!dtype_is_float(t) && dtype_decode(t, bits) != v) {
      return err_at(e, ERR_USAGE, r->d->file, "element %llu of its %s is %g, and '%s' is %s",
                    (unsigned long long)i, gen_part_names[r->d->part - 1], v, r->arg,
                    dtype_name(t));
    }
    memcpy(bytes + i * dtype_nbytes(t), &bits, dtype_nbytes(t));
  }
  return 0;
}

static int read_matrix(const reader *r, void *bytes, err *e) {
  auto_str text = {0};
  matrix m = {0};
  TRY(file_read(r->d->file, MATRIX_MAX_NBYTES, &text, e));
  TRY(matrix_market_parse(r->d->file, str_text(&text), text.n, &m, e));
  const int rc = put_matrix(r, &m, bytes, e);
  matrix_clear(&m);
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
