/* ptx_args.c -- see ptx_args.h. */
#define _GNU_SOURCE
#include "ptx_args.h"

#include <stdlib.h>
#include <string.h>

#include "data_file.h"
#include "file.h"

enum { MAX_STRUCT = 1 << 20 };

/* The words of a list, one after another; NULL: no further one. */
static const char *next_word(ptx_args *p, const char **rest) {
  const char *from = *rest ? *rest + strspn(*rest, " \t\n") : "";
  const size_t n = strcspn(from, " \t\n");
  *rest = from + n;
  return n ? arena_text_n(p->memory, from, n) : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A whole number must fit the type. */
static bool parse_value(dtype t, const char *text, size_t n, uint64_t *out) {
  char word[64], *end;
  const unsigned bits = 8 * (unsigned)dtype_nbytes(t);
  int64_t v;
  if (!n || n >= sizeof word) {
    return false;
  }
  memcpy(word, text, n);
  word[n] = 0;
  if (dtype_is_float(t)) {
    *out = dtype_encode(t, strtod(word, &end));
    return !*end;
  }
  if (!text_integer(word, &v) || (v < 0 && !dtype_is_signed(t))) {
    return false;
  }
  *out = (uint64_t)v & UINT64_MAX >> (64 - bits);
  const int64_t half = bits < 64 ? INT64_C(1) << (bits - 1) : INT64_MAX;
  return bits == 64 || (dtype_is_signed(t) ? v >= -half && v < half : v < 2 * half);
}

/* "1,2.5,3"; false: not numbers of the type */
static bool parse_values(dtype t, const char *text, str *out) {
  for (const char *p = text;; p++) {
    const size_t n = strcspn(p, ",");
    uint64_t bits;
    if (!parse_value(t, p, n, &bits)) {
      return false;
    }
    str_add_n(out, &bits, dtype_nbytes(t));
    p += n;
    if (!*p) {
      return true;
    }
  }
}

static bool parse_hex(const char *text, str *out) {
  const size_t n = strspn(text, "0123456789abcdefABCDEF");
  for (size_t i = 0; i + 1 < n; i += 2) {
    const char byte = (char)strtoul((char[]){text[i], text[i + 1], 0}, NULL, 16);
    str_add_n(out, &byte, 1);
  }
  return n && n % 2 == 0 && !text[n];
}

static bool names_file(const char *text) {
  return strchr(text, '/') || strchr(text, '.');
}

/* ---- parameters ------------------------------------------------------------------------------ */

static int bad(const char *word, err *e) {
  return err_set(e, ERR_USAGE,
                 "--args '%s' is none of buf:TYPE:COUNT[:random|zero|index|none|FILE], such as "
                 "buf:f32:1024, TYPE:VALUE, such as i32:5, bytes:HEX and struct:FILE%s",
                 word, strchr(word, ',') ? "; spaces separate parameters" : "");
}

/* Numbers in [-1, 1], or small integers, determined by the index. */
static double value_at(dtype t, uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 31;
  return dtype_is_float(t) ? (double)(z >> 11) * 0x1p-52 - 1 : (double)(z % 100);
}

static void fill(ptx_arg *a, const char *how) {
  const size_t nbytes = dtype_nbytes(a->type);
  for (int64_t i = 0; i < a->count; i++) {
    const double v = !strcmp(how, "zero")    ? 0
                     : !strcmp(how, "index") ? (double)i
                                             : value_at(a->type, (uint64_t)i);
    const uint64_t bits = dtype_encode(a->type, v);
    memcpy((char *)a->host + (size_t)i * nbytes, &bits, nbytes);
  }
}

static int fill_buffer(ptx_args *p, ptx_arg *a, const char *how, const char *word, err *e) {
  const bool named = !strcmp(how, "random") || !strcmp(how, "zero") || !strcmp(how, "index");
  if (!strcmp(how, "none")) {
    return 0;
  }
  if (named) {
    fill(a, how);
  } else if (names_file(how)) {
    const gen_datum datum = {.type = a->type, .count = (uint64_t)a->count, .file = how};
    TRY(data_file_read(&datum, word, a->host, e));
  } else {
    return bad(word, e);
  }
  return p->d->ops->copy_in(p->d, a->at, a->host, (size_t)a->count * dtype_nbytes(a->type), NULL,
                            e);
}

/* buf:f32:1024, buf:f32:1024:zero, buf:f32:1024:a.npy; `none` leaves it uninitialised, for the checks
 * to find */
static int parse_buffer(ptx_args *p, ptx_arg *a, const char *rest, const char *word, err *e) {
  const size_t type_n = strcspn(rest, ":");
  const char *count = rest + type_n + (rest[type_n] == ':');
  const size_t count_n = strcspn(count, ":");
  const char *how = count[count_n] ? count + count_n + 1 : "random";
  const char *type_text = arena_text_n(p->memory, rest, type_n);
  const char *count_text = arena_text_n(p->memory, count, count_n);
  TRY(type_text && count_text ? 0 : err_nomem(e));
  if (!dtype_parse(type_text, &a->type) || !text_integer(count_text, &a->count) || a->count < 0 ||
      a->count > INT32_MAX) {
    return bad(word, e);
  }
  const size_t nbytes = (size_t)a->count * dtype_nbytes(a->type);
  a->is_buffer = true;
  a->nbytes = sizeof a->at;
  TRY(p->d->ops->alloc(p->d, nbytes, &a->at, e));
  a->host = arena_new(p->memory, nbytes);
  TRY(a->host ? 0 : err_nomem(e));
  return fill_buffer(p, a, how, word, e);
}

static int keep_bytes(ptx_args *p, ptx_arg *a, const str *bytes, err *e) {
  a->nbytes = bytes->n;
  a->host = arena_new(p->memory, bytes->n + 1);
  if (bytes->failed || !a->host) {
    return err_nomem(e);
  }
  memcpy(a->host, str_text(bytes), bytes->n);
  return 0;
}

static int parse_arg(ptx_args *p, const char *word, err *e) {
  auto_str bytes = {0};
  const size_t n = strcspn(word, ":");
  const char *rest = word + n + 1, *kind = arena_text_n(p->memory, word, n);
  TRY(kind ? 0 : err_nomem(e));
  if (p->n == PTX_ARGS_MAX || !word[n]) {
    return bad(word, e);
  }
  ptx_arg *a = &p->a[p->n++];
  a->type = DTYPE_u8;
  if (!strcmp(kind, "buf")) {
    return parse_buffer(p, a, rest, word, e);
  }
  if (!strcmp(kind, "struct")) {
    TRY(file_read(rest, MAX_STRUCT, &bytes, e));
  } else if (!strcmp(kind, "bytes") ? !parse_hex(rest, &bytes)
                                    : !dtype_parse(kind, &a->type) || strchr(rest, ',') ||
                                          !parse_values(a->type, rest, &bytes)) {
    return bad(word, e);
  }
  return keep_bytes(p, a, &bytes, e);
}

int ptx_args_parse(ptx_args *p, const char *words, err *e) {
  for (const char *w; (w = next_word(p, &words));) {
    TRY(parse_arg(p, w, e));
  }
  return 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

static int bad_variable(const char *word, err *e) {
  return err_set(e, ERR_USAGE,
                 "--const '%s' is none of NAME=TYPE:VALUE,VALUE,..., such as scale=f32:2, "
                 "NAME=TYPE:FILE, NAME=bytes:HEX and NAME=struct:FILE",
                 word);
}

/* TYPE:FILE; the file holds as many elements as the variable. */
static int read_elements(dtype t, const char *path, const char *name, size_t nbytes, str *out,
                         err *e) {
  const gen_datum datum = {.type = t, .count = nbytes / dtype_nbytes(t), .file = path};
  void *bytes = malloc(nbytes + 1);
  TRY(bytes ? 0 : err_nomem(e));
  const int rc = data_file_read(&datum, name, bytes, e);
  if (!rc) {
    str_add_n(out, bytes, (size_t)datum.count * dtype_nbytes(t));
  }
  free(bytes);
  return rc;
}

static int parse_contents(ptx_args *p, const char *word, const char *name, size_t nbytes, str *out,
                          err *e) {
  const char *text = word + strlen(name) + 1;
  const size_t n = strcspn(text, ":");
  const char *kind = arena_text_n(p->memory, text, n), *rest = text + n + 1;
  dtype t;
  TRY(kind ? 0 : err_nomem(e));
  if (!text[n]) {
    return bad_variable(word, e);
  }
  if (!strcmp(kind, "struct")) {
    return file_read(rest, MAX_STRUCT, out, e);
  }
  if (!strcmp(kind, "bytes")) {
    return parse_hex(rest, out) ? 0 : bad_variable(word, e);
  }
  if (!dtype_parse(kind, &t)) {
    return bad_variable(word, e);
  }
  if (parse_values(t, rest, out)) {
    return 0;
  }
  str_reset(out);
  return names_file(rest) ? read_elements(t, rest, name, nbytes, out, e) : bad_variable(word, e);
}

static int set_variable(ptx_args *p, const char *word, err *e) {
  auto_str bytes = {0};
  const char *name = arena_text_n(p->memory, word, strcspn(word, "="));
  rt_ptr at;
  size_t nbytes;
  TRY(name ? 0 : err_nomem(e));
  if (!word[strlen(name)]) {
    return bad_variable(word, e);
  }
  TRY(p->d->ops->variable(p->d, p->m, name, &at, &nbytes, e));
  TRY(parse_contents(p, word, name, nbytes, &bytes, e));
  TRY(bytes.failed ? err_nomem(e) : 0);
  if (bytes.n != nbytes) {
    return err_set(e, ERR_USAGE, "variable %s has %zu bytes, but --const gives %zu", name, nbytes,
                   bytes.n);
  }
  return p->d->ops->copy_in(p->d, at, str_text(&bytes), nbytes, NULL, e);
}

int ptx_set_variables(ptx_args *p, const char *words, err *e) {
  for (const char *w; (w = next_word(p, &words));) {
    TRY(set_variable(p, w, e));
  }
  return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

int ptx_fetch(ptx_args *p, err *e) {
  for (size_t i = 0; i < p->n; i++) {
    ptx_arg *a = &p->a[i];
    if (a->is_buffer) {
      TRY(p->d->ops->copy_out(p->d, a->host, a->at, (size_t)a->count * dtype_nbytes(a->type), NULL,
                              e));
    }
  }
  return 0;
}

/* A buffer by its place, or a variable by its name; the file's name follows. */
static int find_dumped(ptx_args *p, const char *word, ptx_arg *what, const char **path, err *e) {
  const char *name = arena_text_n(p->memory, word, strcspn(word, "="));
  size_t nbytes;
  int64_t i;
  TRY(name ? 0 : err_nomem(e));
  *path = word + strlen(name) + 1;
  if (!word[strlen(name)] || !**path) {
    return err_set(e, ERR_USAGE,
                   "--dump '%s' is neither NUMBER=FILE, a parameter from 0, nor NAME=FILE, a "
                   "variable of the module",
                   word);
  }
  if (text_integer(name, &i)) {
    const bool is = i >= 0 && i < (int64_t)p->n && p->a[i].is_buffer;
    *what = is ? p->a[i] : *what;
    return is ? 0
              : err_set(e, ERR_USAGE, "--dump '%s': parameter %s is no buffer of --args", word,
                        name);
  }
  *what = (ptx_arg){.type = DTYPE_u8};
  TRY(p->d->ops->variable(p->d, p->m, name, &what->at, &nbytes, e));
  what->count = (int64_t)nbytes;
  what->host = arena_new(p->memory, nbytes + 1);
  TRY(what->host ? 0 : err_nomem(e));
  return p->d->ops->copy_out(p->d, what->host, what->at, nbytes, NULL, e);
}

int ptx_check_dumps(ptx_args *p, const char *words, err *e) {
  ptx_arg what = {0};
  for (const char *w, *path; (w = next_word(p, &words));) {
    TRY(find_dumped(p, w, &what, &path, e));
  }
  return 0;
}

int ptx_dump(ptx_args *p, const char *words, err *e) {
  ptx_arg what = {0};
  for (const char *w, *path; (w = next_word(p, &words));) {
    TRY(find_dumped(p, w, &what, &path, e));
    TRY(data_file_write(path, what.type, (uint64_t)what.count, what.host, e));
  }
  return 0;
}
