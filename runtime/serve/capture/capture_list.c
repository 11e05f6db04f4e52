#define _GNU_SOURCE
#include "capture_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "array.h"
#include "str.h"

enum { FILE_MOST = 64 << 20 };
static const char HEAD[] =
    "# problems that a program asked for; autotune tune-captured FILE tunes them\n";

/* ---- lines ---------------------------------------------------------------------------------- */

static capture_line *find_or_add(capture_lines *l, const char *problem, size_t n) {
  for (size_t i = 0; i < l->n; i++) {
    if (!strncmp(l->list[i].problem, problem, n) && !l->list[i].problem[n]) {
      return &l->list[i];
    }
  }
  if (!array_reserve(&l->list, l->n + 1, &l->room, sizeof *l->list)) {
    return NULL;
  }
  capture_line *new = &l->list[l->n];
  *new = (capture_line){.problem = arena_text_n(&l->memory, problem, n)};
  l->n += new->problem != NULL;
  return new->problem ? new : NULL;
}

void capture_lines_add(capture_lines *l, const char *problem, size_t n, uint64_t calls,
                       const char *data, size_t n_data) {
  capture_line *x = find_or_add(l, problem, n);
  if (x) {
    x->calls += calls;
    x->data = n_data ? arena_text_n(&l->memory, data, n_data) : x->data;
  }
  l->failed = l->failed || !x || (n_data && !x->data);
}

/* "PROBLEM  # 17 calls, data PATH"; other comments are not kept. */
static void read_line(capture_lines *l, const char *text, size_t n) {
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
    capture_lines_add(l, text, length, comment ? strtoull(comment + 1, NULL, 10) : 0, data,
                      (size_t)(text + n - data));
  }
}

static void read_lines(capture_lines *l, const str *text) {
  for (const char *at = str_text(text), *end = at + text->n; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    read_line(l, at, (size_t)(stop - at));
    at = stop + 1;
  }
}

void capture_lines_clear(capture_lines *l) {
  free(l->list);
  arena_clear(&l->memory);
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

static bool write_all(int fd, const str *text) {
  if (lseek(fd, 0, SEEK_SET) || ftruncate(fd, 0)) {
    return false;
  }
  for (size_t at = 0; at < text->n;) {
    const ssize_t n = write(fd, text->p + at, text->n - at);
    if (n <= 0) {
      return false;
    }
    at += (size_t)n;
  }
  return true;
}

static void add_text(const capture_lines *l, str *out) {
  str_add(out, HEAD);
  for (size_t i = 0; i < l->n; i++) {
    const capture_line *x = &l->list[i];
    str_addf(out, "%s  # %llu calls%s%s\n", x->problem, (unsigned long long)x->calls,
             x->data ? ", data " : "", x->data ? x->data : "");
  }
}

static void add_lines(capture_lines *l, const capture_lines *more) {
  for (size_t i = 0; i < more->n; i++) {
    const capture_line *x = &more->list[i];
    capture_lines_add(l, x->problem, strlen(x->problem), x->calls, x->data,
                      x->data ? strlen(x->data) : 0);
  }
}

static bool merge_into(int fd, const capture_lines *more) {
  capture_lines l = {0};
  auto_str text = {0};
  bool ok = read_all(fd, &text);
  if (ok) {
    read_lines(&l, &text);
    add_lines(&l, more);
    str_reset(&text);
    add_text(&l, &text);
    ok = !l.failed && !text.failed && write_all(fd, &text);
  }
  capture_lines_clear(&l);
  return ok;
}

bool capture_list_add(const char *path, const capture_lines *more) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return false;
  }
  flock(fd, LOCK_EX);
  const bool ok = !more->failed && merge_into(fd, more);
  close(fd);
  return ok;
}
