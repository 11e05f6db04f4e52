#define _GNU_SOURCE
#include "serve_capture.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture_data.h"
#include "capture_list.h"
#include "file.h"
#include "hash.h"
#include "serve_kernel.h"

static const double EVERY_SEC = 1;

enum { IN_A_GRAPH, FAILED }; /* index capture.reported: why data were not kept */

typedef struct capture {
  serve_hook hook;
  serve *s;
  char *path;
  char *folder;            /* of the data; NULL: they are not wanted */
  double written;          /* now_sec(); 0: never */
  atomic_bool reported[2]; /* on standard error */
} capture;

enum { DATA_NONE, DATA_BUSY, DATA_WRITTEN, DATA_FAILED }; /* record.data */

typedef struct record { /* of a kernel */
  _Atomic uint64_t calls;
  /* under the context's lock: */
  uint64_t calls_listed, calls_written; /* in the last list made; in the file */
  bool listed, written;
  _Atomic int data;
} record;

/* ---- the list ------------------------------------------------------------------------------- */

/* As on the command line: a template of the program's own by its path. */
static void add_problem(const tuned_kernel *k, str *out) {
  const char *fields = strchr(k->info.problem, ' ');
  str_add(out, strstr(k->name, ".lua") ? k->name : k->t->name);
  str_add(out, fields ? fields : "");
}

static void add_data_path(const capture *c, const tuned_kernel *k, str *out) {
  char digest[HASH_TEXT];
  auto_str problem = {0};
  add_problem(k, &problem);
  hash_bytes(str_text(&problem), problem.n, digest);
  str_addf(out, "%s/%s-%s.data", c->folder, k->t->name, digest);
  out->failed = out->failed || problem.failed;
}

static void add_kernel(const capture *c, tuned_kernel *k, capture_lines *l) {
  record *r = k->record;
  auto_str problem = {0}, data = {0};
  const uint64_t calls = atomic_load_explicit(&r->calls, memory_order_relaxed);
  add_problem(k, &problem);
  if (atomic_load(&r->data) == DATA_WRITTEN) {
    add_data_path(c, k, &data);
  }
  capture_lines_add(l, str_text(&problem), problem.n, calls - r->calls_written, str_text(&data),
                    data.n);
  r->calls_listed = calls;
  r->listed = true;
  l->failed = l->failed || problem.failed || data.failed;
}

static bool has_news(const tuned_kernel *k) {
  const record *r = k->record;
  return r && !k->is_empty &&
         (!r->written || atomic_load_explicit(&r->calls, memory_order_relaxed) > r->calls_written);
}

static void mark_written(const capture *c) {
  for (tuned_kernel *k = c->s->newest; k; k = k->next) {
    record *r = k->record;
    if (r && r->listed) {
      r->calls_written = r->calls_listed;
      r->written = true;
    }
  }
}

/* Under the context's lock. */
static void write_list(capture *c) {
  capture_lines l = {0};
  for (tuned_kernel *k = c->s->newest; k; k = k->next) {
    if (has_news(k)) {
      add_kernel(c, k, &l);
    }
  }
  if (capture_list_add(c->path, &l)) {
    mark_written(c);
  }
  capture_lines_clear(&l);
  c->written = now_sec();
}

/* ---- the first launch's data ---------------------------------------------------------------- */

static void report_once(capture *c, const tuned_kernel *k, int what, const char *why) {
  if (!atomic_exchange(&c->reported[what], true)) {
    fprintf(stderr, "libtuned: TUNED_CAPTURE_DATA: %s: %s\n", k->t->name, why);
  }
}

static int write_data(const capture *c, tuned_kernel *k, tuned_stream stream,
                      const void *const *args, err *e) {
  auto_str path = {0};
  add_data_path(c, k, &path);
  return path.failed ? err_nomem(e) : capture_data_write(k, stream, args, str_text(&path), e);
}

/* Write the problem's line again, with the path of its data. */
static void note_data(capture *c, record *r) {
  pthread_mutex_lock(&c->s->lock);
  r->written = false;
  write_list(c);
  pthread_mutex_unlock(&c->s->lock);
}

static void take_data(capture *c, tuned_kernel *k, tuned_stream stream, const void *const *args) {
  rt_device *d = c->s->device;
  record *r = k->record;
  int none = DATA_NONE;
  err why = {0};
  if (d->ops->capturing && d->ops->capturing(d, stream)) {
    report_once(c, k, IN_A_GRAPH,
                "the stream is being captured into a graph; a launch outside of one is waited for");
    return;
  }
  if (!atomic_compare_exchange_strong(&r->data, &none, DATA_BUSY)) {
    return;
  }
  const int rc = write_data(c, k, stream, args, &why);
  atomic_store(&r->data, rc ? DATA_FAILED : DATA_WRITTEN);
  if (rc) {
    report_once(c, k, FAILED, why.message);
  } else {
    note_data(c, r);
  }
}

/* ---- the hook ------------------------------------------------------------------------------- */

/* If memory is out the kernel has no record and is not listed. */
static void found(serve_hook *h, tuned_kernel *k) {
  capture *c = (capture *)h;
  k->record = ARENA_ARRAY(&k->memory, record, 1);
  if (now_sec() - c->written >= EVERY_SEC) {
    write_list(c);
  }
}

static void launch(serve_hook *h, tuned_kernel *k, tuned_stream stream, const void *const *args) {
  capture *c = (capture *)h;
  record *r = k->record;
  if (r) {
    atomic_fetch_add_explicit(&r->calls, 1, memory_order_relaxed);
    if (c->folder && !atomic_load_explicit(&r->data, memory_order_relaxed)) {
      take_data(c, k, stream, args);
    }
  }
}

static void capture_free(capture *c) {
  free(c->path);
  free(c->folder);
  free(c);
}

static void close_capture(serve_hook *h) {
  capture *c = (capture *)h;
  write_list(c);
  capture_free(c);
}

/* ---- switching it on ------------------------------------------------------------------------ */

static char *path_of(const char *pattern) {
  auto_str path = {0};
  for (const char *p = pattern; *p; p++) {
    if (p[0] == '%' && p[1] == 'p') {
      str_addf(&path, "%ld", (long)getpid());
      p++;
    } else {
      str_add_n(&path, p, 1);
    }
  }
  char *copy = path.failed ? NULL : strdup(str_text(&path));
  return copy;
}

static int open_list(capture *c, const char *pattern, err *e) {
  if (!(c->path = path_of(pattern))) {
    return err_nomem(e);
  }
  struct stat st;
  const int fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const bool is_file = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
  if (fd >= 0) {
    close(fd);
  }
  return is_file ? 0
                 : err_set(e, ERR_IO, "TUNED_CAPTURE: %s can't be written; name a file that can",
                           c->path);
}

/* The list may be read from another folder, line by line: so the path is absolute and printable. */
static int open_folder(capture *c, const char *pattern, err *e) {
  char *path = path_of(pattern);
  if (!path) {
    return err_nomem(e);
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

static int capture_new(serve *s, const char *list, const char *folder, err *e) {
  capture *c = calloc(1, sizeof *c);
  if (!c) {
    return err_nomem(e);
  }
  c->hook = (serve_hook){.found = found, .launch = launch, .close = close_capture};
  c->s = s;
  int rc = open_list(c, list, e);
  rc = rc || !folder ? rc : open_folder(c, folder, e);
  if (rc) {
    capture_free(c);
    return rc;
  }
  serve_hook_add(s, &c->hook);
  return 0;
}

/* They name files to be written, so a program with more rights than its user ignores them. */
static const char *environment(const char *name) {
  const char *value = secure_getenv(name);
  return value && *value ? value : NULL;
}

int serve_capture_begin(serve *s, err *e) {
  const char *list = environment("TUNED_CAPTURE"), *folder = environment("TUNED_CAPTURE_DATA");
  if (folder && !list) {
    return err_set(e, ERR_USAGE,
                   "TUNED_CAPTURE_DATA is set and TUNED_CAPTURE is not; set TUNED_CAPTURE=FILE "
                   "too: that list says which problem has which data");
  }
  return list ? capture_new(s, list, folder, e) : 0;
}
