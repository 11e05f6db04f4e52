#define _GNU_SOURCE
#include "capture_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "array.h"
#include "key_hash.h"
#include "str.h"

enum { FILE_MOST = 64 << 20 };
static const char HEAD[] =
    "# problems that a program asked for; autotune tune-captured FILE tunes them\n";

/* ---- lines ---------------------------------------------------------------------------------- */

static uint32_t *place_of(const capture_lines *l, const char *problem, size_t n) {
  size_t i = key_hash(problem, n) & (l->n_places - 1);
  for (; l->places[i]; i = (i + 1) & (l->n_places - 1)) {
    const char *there = l->list[l->places[i] - 1].problem;
    if (!strncmp(there, problem, n) && !there[n]) {
      break;
    }
  }
  return &l->places[i];
}

/* Half of the places stay free. */
static bool reserve(capture_lines *l) {
  if (!array_reserve(&l->list, l->n + 1, &l->room, sizeof *l->list)) {
    return false;
  }
  if (2 * (l->n + 1) <= l->n_places) {
    return true;
  }
  const size_t n = l->n_places ? 2 * l->n_places : 64;
  uint32_t *places = calloc(n, sizeof *places);
  if (!places) {
    return false;
  }
  free(l->places);
  l->places = places;
  l->n_places = n;
  for (size_t i = 0; i < l->n; i++) {
    *place_of(l, l->list[i].problem, strlen(l->list[i].problem)) = (uint32_t)i + 1;
  }
  return true;
}

static capture_line *find_or_add(capture_lines *l, const char *problem, size_t n) {
  if (!reserve(l)) {
    return NULL;
  }
  uint32_t *place = place_of(l, problem, n);
  if (*place) {
    return &l->list[*place - 1];
  }
  capture_line *new = &l->list[l->n];
  *new = (capture_line){.problem = arena_text_n(&l->memory, problem, n)};
  l->n += new->problem != NULL;
  *place = new->problem ? (uint32_t)l->n : 0;
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
  n = strnlen(text, n);
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
  free(l->places);
  arena_clear(&l->memory);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* The program's own signals may interrupt any of these calls. */
static bool read_all(int fd, str *out) {
  char buffer[8192];
  ssize_t n;
  while (((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) &&
         out->n < FILE_MOST) {
    str_add_n(out, buffer, n > 0 ? (size_t)n : 0);
  }
  return n == 0 && !out->failed;
}

/* Lines stay in their order, so a program that is killed here leaves most of them. */
static bool write_all(int fd, const str *text) {
  for (size_t at = 0; at < text->n;) {
    const ssize_t n = pwrite(fd, text->p + at, text->n - at, (off_t)at);
    if (n == 0 || (n < 0 && errno != EINTR)) {
      return false;
    }
    at += n > 0 ? (size_t)n : 0;
  }
  return !ftruncate(fd, (off_t)text->n);
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
  while (flock(fd, LOCK_EX) && errno == EINTR) {
  }
  const bool ok = !more->failed && merge_into(fd, more);
  close(fd);
  return ok;
}
