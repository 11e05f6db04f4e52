#define _GNU_SOURCE
#include "serve_capture.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "file.h"

enum { FILE_MOST = 64 << 20 };
static const double EVERY_SEC = 1;
static const char HEAD[] =
    "# problems that a program asked for; autotune tune-captured FILE tunes them\n";

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef struct line {
  char *problem;
  char *data; /* path; NULL: none */
  uint64_t calls;
} line;

typedef struct lines {
  line *list;
  size_t n, room;
  arena memory;
  bool failed;
} lines;

static line *find_or_add(lines *l, const char *problem, size_t n) {
  for (size_t i = 0; i < l->n; i++) {
    if (!strncmp(l->list[i].problem, problem, n) && !l->list[i].problem[n]) {
      return &l->list[i];
    }
  }
  if (l->n == l->room) {
    line *more = realloc(l->list, (2 * l->room + 16) * sizeof *more);
    if (!more) {
      return NULL;
    }
    l->list = more;
    l->room = 2 * l->room + 16;
  }
  line *new = &l->list[l->n];
  *new = (line){.problem = arena_text_n(&l->memory, problem, n)};
  l->n += new->problem != NULL;
  return new->problem ? new : NULL;
}

/* Newer data take the place of those before. */
static void add_calls(lines *l, const char *problem, size_t n, uint64_t calls, const char *data,
                      size_t n_data) {
  line *x = find_or_add(l, problem, n);
  if (x) {
    x->calls += calls;
    x->data = n_data ? arena_text_n(&l->memory, data, n_data) : x->data;
  }
  l->failed = l->failed || !x || (n_data && !x->data);
}

/* "PROBLEM  # 17 calls, data PATH"; other comments are not kept. */
static void read_line(lines *l, const char *text, size_t n) {
  static const char word[] = ", data ";
  const char *comment = memchr(text, '#', n);
  const char *data =
      comment ? memmem(comment, n - (size_t)(comment - text), word, strlen(word)) : NULL;
  size_t length = comment ? (size_t)(comment - text) : n;
  while (length && text[length - 1] == ' ') {
    length--;
  }
  if (length) {
    data = data ? data + strlen(word) : text + n;
    add_calls(l, text, length, comment ? strtoull(comment + 1, NULL, 10) : 0, data,
              (size_t)(text + n - data));
  }
}

static void read_lines(lines *l, const str *text) {
  for (const char *at = str_text(text), *end = at + text->n; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    read_line(l, at, (size_t)(stop - at));
    at = stop + 1;
  }
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool read_all(int fd, str *out) {
  char buffer[8192];
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) > 0 && out->n < FILE_MOST) {
    str_add_n(out, buffer, (size_t)n);
  }
  return n == 0 && !out->failed;
}

static void write_all(int fd, const str *text) {
  if (lseek(fd, 0, SEEK_SET) || ftruncate(fd, 0)) {
    return;
  }
  for (size_t at = 0; at < text->n;) {
    const ssize_t n = write(fd, text->p + at, text->n - at);
    if (n <= 0) {
      return;
    }
    at += (size_t)n;
  }
}

void serve_capture_problem(const tuned_kernel *k, str *out) {
  const char *fields = strchr(k->info.problem, ' ');
  str_add(out, strstr(k->name, ".lua") ? k->name : k->t->name);
  str_add(out, fields ? fields : "");
}

static void add_kernels(const serve *s, lines *l) {
  str problem = {0}, data = {0};
  for (tuned_kernel *k = s->newest; k; k = k->next) {
    const uint64_t calls = atomic_load_explicit(&k->calls, memory_order_relaxed);
    if (!k->is_empty && k->info.origin != TUNED_ONLINE && (!k->told || calls > k->calls_told)) {
      str_reset(&problem);
      str_reset(&data);
      serve_capture_problem(k, &problem);
      serve_capture_data_path(k, &data);
      add_calls(l, str_text(&problem), problem.n, calls - k->calls_told, str_text(&data), data.n);
      k->calls_told = calls;
      k->told = true;
    }
  }
  l->failed = l->failed || problem.failed || data.failed;
  str_clear(&problem);
  str_clear(&data);
}

static void add_text(const lines *l, str *out) {
  str_add(out, HEAD);
  for (size_t i = 0; i < l->n; i++) {
    const line *x = &l->list[i];
    str_addf(out, "%s  # %llu calls%s%s\n", x->problem, (unsigned long long)x->calls,
             x->data ? ", data " : "", x->data ? x->data : "");
  }
}

/* What can't be read or written stays as it was: a program's work is more than its record. */
static void merge_into(const serve *s, int fd) {
  lines l = {0};
  str text = {0};
  if (read_all(fd, &text)) {
    read_lines(&l, &text);
    add_kernels(s, &l);
    str_reset(&text);
    add_text(&l, &text);
    if (!l.failed && !text.failed) {
      write_all(fd, &text);
    }
  }
  free(l.list);
  arena_clear(&l.memory);
  str_clear(&text);
}

void serve_capture_write(serve *s) {
  const int fd = open(s->capture->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  s->capture->written = now_sec();
  if (fd >= 0) {
    flock(fd, LOCK_EX);
    merge_into(s, fd);
    close(fd);
  }
}

/* ---- opening and closing -------------------------------------------------------------------- */

static char *path_of(const char *pattern) {
  str path = {0};
  for (const char *p = pattern; *p; p++) {
    if (p[0] == '%' && p[1] == 'p') {
      str_addf(&path, "%ld", (long)getpid());
      p++;
    } else {
      str_add_n(&path, p, 1);
    }
  }
  char *copy = path.failed ? NULL : strdup(str_text(&path));
  str_clear(&path);
  return copy;
}

static void capture_free(serve_capture *c) {
  if (c) {
    free(c->path);
    free(c->folder);
    free(c);
  }
}

static int open_list(serve_capture *c, const char *pattern, err *e) {
  if (!(c->path = path_of(pattern))) {
    return no_room(e);
  }
  const int fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return err_set(e, ERR_IO, "TUNED_CAPTURE: %s can't be written; name a file that can", c->path);
  }
  close(fd);
  return 0;
}

/* The list is read elsewhere, a line a problem: so the whole path, of printable characters. */
static int open_folder(serve_capture *c, const char *pattern, err *e) {
  char *path = path_of(pattern);
  if (!path) {
    return no_room(e);
  }
  mkdir(path, 0700);
  struct stat st;
  c->folder = realpath(path, NULL);
  bool ok = c->folder && !stat(c->folder, &st) && S_ISDIR(st.st_mode) && !access(c->folder, W_OK);
  for (const char *p = c->folder; ok && *p; p++) {
    ok = !iscntrl((unsigned char)*p);
  }
  const int rc =
      ok ? 0
         : err_set(e, ERR_IO,
                   "TUNED_CAPTURE_DATA: %s is no folder that can be written to; name one", path);
  free(path);
  return rc;
}

int serve_capture_open(const char *pattern, const char *data, serve_capture **out, err *e) {
  serve_capture *c = calloc(1, sizeof *c);
  if (!c) {
    return no_room(e);
  }
  int rc = open_list(c, pattern, e);
  rc = rc || !data || !*data ? rc : open_folder(c, data, e);
  if (rc) {
    capture_free(c);
    return rc;
  }
  *out = c;
  return 0;
}

void serve_capture_note(serve *s) {
  if (s->capture && now_sec() - s->capture->written >= EVERY_SEC) {
    serve_capture_write(s);
  }
}

void serve_capture_close(serve *s) {
  if (s->capture) {
    serve_capture_write(s);
    capture_free(s->capture);
    s->capture = NULL;
  }
}
