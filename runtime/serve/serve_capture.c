#define _GNU_SOURCE
#include "serve_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "context.h"
#include "file.h"

enum { FILE_MOST = 64 << 20 };
static const double EVERY_SEC = 1;
static const char HEAD[] =
    "# problems that a program asked for; autotune tune-captured FILE tunes them\n";

struct serve_capture {
  char *path;
  double written; /* now_sec(); 0: never */
};

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef struct line {
  char *problem;
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

static void add_calls(lines *l, const char *problem, size_t n, uint64_t calls) {
  line *x = find_or_add(l, problem, n);
  if (x) {
    x->calls += calls;
  }
  l->failed = l->failed || !x;
}

/* "PROBLEM  # 17 calls"; other comments are not kept. */
static void read_line(lines *l, const char *text, size_t n) {
  const char *comment = memchr(text, '#', n);
  size_t length = comment ? (size_t)(comment - text) : n;
  while (length && text[length - 1] == ' ') {
    length--;
  }
  if (length) {
    add_calls(l, text, length, comment ? strtoull(comment + 1, NULL, 10) : 0);
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

/* As the command line would be given it: a template of the program's own by its path. */
static void add_problem(const tuned_kernel *k, str *out) {
  const char *fields = strchr(k->info.problem, ' ');
  str_reset(out);
  str_add(out, strstr(k->name, ".lua") ? k->name : k->t->name);
  str_add(out, fields ? fields : "");
}

static void add_kernels(const serve *s, lines *l) {
  str problem = {0};
  for (tuned_kernel *k = s->newest; k; k = k->next) {
    const uint64_t calls = atomic_load_explicit(&k->calls, memory_order_relaxed);
    if (!k->is_empty && k->info.origin != TUNED_ONLINE && (!k->told || calls > k->calls_told)) {
      add_problem(k, &problem);
      add_calls(l, str_text(&problem), problem.n, calls - k->calls_told);
      k->calls_told = calls;
      k->told = true;
    }
  }
  l->failed = l->failed || problem.failed;
  str_clear(&problem);
}

static void add_text(const lines *l, str *out) {
  str_add(out, HEAD);
  for (size_t i = 0; i < l->n; i++) {
    str_addf(out, "%s  # %llu calls\n", l->list[i].problem, (unsigned long long)l->list[i].calls);
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

static void write_file(serve *s) {
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

int serve_capture_open(const char *pattern, serve_capture **out, err *e) {
  serve_capture *c = calloc(1, sizeof *c);
  if (!c || !(c->path = path_of(pattern))) {
    free(c);
    return no_room(e);
  }
  const int fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    err_set(e, ERR_IO, "TUNED_CAPTURE: %s can't be written; name a file that can", c->path);
    free(c->path);
    free(c);
    return ERR_IO;
  }
  close(fd);
  *out = c;
  return 0;
}

void serve_capture_note(serve *s) {
  if (s->capture && now_sec() - s->capture->written >= EVERY_SEC) {
    write_file(s);
  }
}

void serve_capture_close(serve *s) {
  if (s->capture) {
    write_file(s);
    free(s->capture->path);
    free(s->capture);
    s->capture = NULL;
  }
}
