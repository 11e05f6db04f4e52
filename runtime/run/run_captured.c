#define _GNU_SOURCE
#include "run_captured.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"

enum { HEADER_MOST = 64 << 10 };
static const char MAGIC[] = "tuned data 1\n";

static bool is_buffer(const gen_template *t, size_t arg) {
  return t->args[arg].dir != GEN_SCALAR;
}

bool rt_captured_keeps(const gen_template *t, const gen_data *data, size_t arg) {
  return is_buffer(t, arg) ? data->args[arg].count && !data->args[arg].overwritten
                           : !t->args[arg].value;
}

static uint64_t nbytes_of(const gen_data *data, size_t arg) {
  return data->args[arg].count * dtype_nbytes(data->args[arg].type);
}

int rt_captured_nbytes(const gen_template *t, const gen_data *data, uint64_t *nbytes, err *e) {
  *nbytes = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    if (is_buffer(t, i) && rt_captured_keeps(t, data, i)) {
      if (data->args[i].count > RT_CAPTURED_MOST ||
          (*nbytes += nbytes_of(data, i)) > RT_CAPTURED_MOST) {
        return err_set(e, ERR_LIMIT,
                       "its arguments are larger than the %llu bytes that are recorded",
                       (unsigned long long)RT_CAPTURED_MOST);
      }
    }
  }
  return 0;
}

/* ---- the header ----------------------------------------------------------------------------- */

/* The part of a line that does not depend on the contents. */
static void add_name(const gen_template *t, const gen_data *data, size_t i, str *out) {
  const char *type = dtype_name(data->args[i].type);
  str_addf(out, is_buffer(t, i) ? "arg %s %s %llu " : "scalar %s %s ", t->args[i].name, type,
           (unsigned long long)data->args[i].count);
}

static void add_line(const gen_template *t, const gen_data *data, size_t i,
                     const unsigned char *bytes, str *out) {
  char digest[HASH_TEXT];
  add_name(t, data, i, out);
  if (is_buffer(t, i)) {
    hash_bytes(bytes, nbytes_of(data, i), digest);
    str_addf(out, "%s\n", digest);
  } else {
    str_addf(out, "%016llx\n", (unsigned long long)data->args[i].bits);
  }
}

static void add_header(const gen_template *t, const char *problem, const gen_data *data,
                       const unsigned char *const *bytes, str *out) {
  char digest[HASH_TEXT];
  str_addf(out, "%sproblem %s\n", MAGIC, problem);
  for (size_t i = 0; i < t->n_args; i++) {
    if (rt_captured_keeps(t, data, i)) {
      add_line(t, data, i, bytes[i], out);
    }
  }
  hash_bytes(str_text(out), out->n, digest);
  str_addf(out, "header %s\n\n", digest);
}

/* ---- writing -------------------------------------------------------------------------------- */

int rt_captured_write(const char *path, const gen_template *t, const char *problem,
                      const gen_data *data, unsigned char *const *bytes, err *e) {
  auto_str header = {0};
  size_t n = 1;
  file_part *parts = calloc(t->n_args + 1, sizeof *parts);
  add_header(t, problem, data, (const unsigned char *const *)bytes, &header);
  for (size_t i = 0; i < t->n_args && parts; i++) {
    if (is_buffer(t, i) && rt_captured_keeps(t, data, i)) {
      parts[n++] = (file_part){bytes[i], nbytes_of(data, i)};
    }
  }
  int rc = !parts || header.failed ? err_nomem(e) : 0;
  if (!rc) {
    parts[0] = (file_part){header.p, header.n};
    rc = file_write_private(path, parts, n, e);
  }
  free(parts);
  return rc;
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reader {
  const char *path, *problem;
  const char *own; /* the problem in the file */
  const gen_template *t;
  gen_instance *g;
  rt_captured *x;
  const char *header; /* as text; borrowed from x->memory */
  size_t n_header;    /* the bytes begin there */
} reader;

static int check_file(const char *path, const struct stat *st, bool trust, err *e) {
  if (!S_ISREG(st->st_mode)) {
    return err_set(e, ERR_USAGE, "%s is not a regular file; TUNED_CAPTURE_DATA writes data files",
                   path);
  }
  const file_safety safety = trust ? FILE_SAFE : file_is_safe(st);
  if (safety != FILE_SAFE) {
    return err_set(e, ERR_USAGE,
                   "%s %s, and kernels may use its contents as indices; %s it, or set "
                   "TUNED_TRUST=1 to use it anyway",
                   path,
                   safety == FILE_SHARED ? "can be written by others" : "belongs to another user",
                   safety == FILE_SHARED ? "`chmod go-w`" : "copy");
  }
  return 0;
}

static int map_open(const char *path, int fd, bool trust, rt_captured *x, err *e) {
  struct stat st;
  if (fstat(fd, &st)) {
    return err_set(e, ERR_USAGE, "cannot read %s: %s", path, strerror(errno));
  }
  TRY(check_file(path, &st, trust, e));
  if ((uint64_t)st.st_size > RT_CAPTURED_MOST + HEADER_MOST || !st.st_size) {
    return err_set(e, ERR_USAGE, "%s has %lld bytes: not a file of recorded data", path,
                   (long long)st.st_size);
  }
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) {
    return err_set(e, ERR_USAGE, "cannot read %s: %s", path, strerror(errno));
  }
  x->map = map;
  x->nbytes = (size_t)st.st_size;
  return 0;
}

/* Opening a pipe does not block. */
static int map_file(const char *path, bool trust, rt_captured *x, err *e) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_USAGE, "cannot open %s: %s", path,
                   strerror(errno));
  }
  const int rc = map_open(path, fd, trust, x, e);
  close(fd);
  return rc;
}

static int damaged(const reader *r, err *e) {
  return err_set(e, ERR_USAGE, "%s is damaged: run the program again", r->path);
}

/* Up to the empty line, with its own digest right. */
static int read_header(reader *r, err *e) {
  static const char last[] = "header ";
  const size_t most = r->x->nbytes < HEADER_MOST ? r->x->nbytes : HEADER_MOST;
  const char *end = memmem(r->x->map, most, "\n\n", 2);
  char digest[HASH_TEXT];
  if (most < strlen(MAGIC) || memcmp(r->x->map, MAGIC, strlen(MAGIC)) != 0) {
    return err_set(e, ERR_USAGE, "%s is not a file of recorded data, or has another version",
                   r->path);
  }
  r->n_header = end ? (size_t)(end - (const char *)r->x->map) + 2 : 0;
  const size_t n_last = strlen(last) + HASH_TEXT - 1 + 2;
  if (r->n_header < strlen(MAGIC) + n_last) {
    return damaged(r, e);
  }
  r->header = arena_text_n(&r->x->memory, r->x->map, r->n_header);
  if (!r->header) {
    return err_nomem(e);
  }
  const char *line = r->header + r->n_header - n_last;
  hash_bytes(r->header, r->n_header - n_last, digest);
  const bool same =
      !strncmp(line, last, strlen(last)) && !strncmp(line + strlen(last), digest, HASH_TEXT - 1);
  return same && line[-1] == '\n' ? 0 : damaged(r, e);
}

/* The text in the file may be a former one of the problem. */
static int check_problem(reader *r, err *e) {
  static const char word[] = "problem ";
  const char *line = r->header + strlen(MAGIC);
  const size_t n = strcspn(line, "\n"), n_word = strlen(word);
  auto_str now = {0};
  if (n > n_word && !strncmp(line, word, n_word)) {
    r->own = arena_text_n(&r->x->memory, line + n_word, n - n_word);
    TRY(r->own ? 0 : err_nomem(e));
    gen_problem_update(r->t->name, r->own, &now);
  }
  if (!r->own || (strcmp(r->own, r->problem) != 0 && strcmp(str_text(&now), r->problem) != 0)) {
    return err_set(e, ERR_USAGE, "%s holds data of another problem than %s", r->path, r->problem);
  }
  return 0;
}

/* The rest of the line that begins with `name`; NULL: there is none. */
static const char *find_line(const reader *r, const str *name) {
  const char *at = strstr(r->header, str_text(name));
  while (at && at[-1] != '\n') { /* the first line is MAGIC */
    at = strstr(at + 1, str_text(name));
  }
  return at ? at + name->n : NULL;
}

static int unlike(const reader *r, size_t i, err *e) {
  return err_set(e, ERR_USAGE, "%s does not fit %s: it has no %s of its type and size", r->path,
                 r->problem, r->t->args[i].name);
}

/* Scalars come first, since counts may depend on them. */
static int read_scalars(const reader *r, uint64_t *bits, err *e) {
  const gen_data *sample;
  auto_str name = {0};
  int rc = gen_data_make(r->g, 0, &r->x->memory, &sample, e);
  for (size_t i = 0; i < r->t->n_args && !rc; i++) {
    if (!is_buffer(r->t, i) && !r->t->args[i].value) {
      str_reset(&name);
      add_name(r->t, sample, i, &name);
      const char *value = find_line(r, &name);
      rc = value && isxdigit((unsigned char)*value) ? 0 : unlike(r, i, e);
      bits[i] = rc ? 0 : strtoull(value, NULL, 16);
    }
  }
  return rc;
}

static int check_names(const reader *r, err *e) {
  auto_str name = {0};
  int rc = 0;
  for (size_t i = 0; i < r->t->n_args && !rc; i++) {
    if (rt_captured_keeps(r->t, r->x->data, i)) {
      str_reset(&name);
      add_name(r->t, r->x->data, i, &name);
      rc = find_line(r, &name) ? 0 : unlike(r, i, e);
    }
  }
  return rc;
}

static int find_bytes(const reader *r, err *e) {
  uint64_t nbytes;
  const unsigned char *at = (const unsigned char *)r->x->map + r->n_header;
  TRY(rt_captured_nbytes(r->t, r->x->data, &nbytes, e));
  if (nbytes != r->x->nbytes - r->n_header) {
    return err_set(e, ERR_USAGE,
                   "%s holds %zu bytes of data, %llu belong to %s: run the program "
                   "again",
                   r->path, r->x->nbytes - r->n_header, (unsigned long long)nbytes, r->problem);
  }
  for (size_t i = 0; i < r->t->n_args; i++) {
    if (is_buffer(r->t, i) && rt_captured_keeps(r->t, r->x->data, i)) {
      r->x->bytes[i] = at;
      at += nbytes_of(r->x->data, i);
    }
  }
  return 0;
}

/* The header must equal the one that would be written for the same data. */
static int check_digests(const reader *r, err *e) {
  auto_str again = {0};
  add_header(r->t, r->own, r->x->data, r->x->bytes, &again);
  const bool same = again.n == r->n_header && !memcmp(str_text(&again), r->header, again.n);
  return again.failed ? err_nomem(e) : same ? 0 : damaged(r, e);
}

int rt_captured_open(const char *path, const gen_template *t, gen_instance *g, const char *problem,
                     bool trust, rt_captured *x, err *e) {
  reader r = {.path = path, .problem = problem, .t = t, .g = g, .x = x};
  *x = (rt_captured){0};
  TRY(map_file(path, trust, x, e));
  TRY(read_header(&r, e));
  TRY(check_problem(&r, e));
  uint64_t *bits = ARENA_ARRAY(&x->memory, uint64_t, t->n_args + 1);
  x->bytes = ARENA_ARRAY(&x->memory, const unsigned char *, t->n_args + 1);
  if (!bits || !x->bytes) {
    return err_nomem(e);
  }
  TRY(read_scalars(&r, bits, e));
  TRY(gen_data_given(g, bits, &x->memory, &x->data, e));
  TRY(check_names(&r, e));
  TRY(find_bytes(&r, e));
  return check_digests(&r, e);
}

void rt_captured_close(rt_captured *x) {
  if (x->map) {
    munmap(x->map, x->nbytes);
  }
  arena_clear(&x->memory);
  *x = (rt_captured){0};
}
