#define _GNU_SOURCE
#include "images.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile_worker.h"
#include "threads.h"

enum { JOBS_MOST = 256, BUCKETS = 1024 };

typedef struct image {
  struct image *next, *later; /* of its bucket; in the queue */
  char key[HASH_TEXT];
  str text, bytes;
  size_t body;
  bool done;
  err why; /* code 0: it built */
} image;

struct images {
  compile_setting setting;
  rt_format format;
  worker jobs[JOBS_MOST];
  image *at[JOBS_MOST]; /* what a worker compiles; NULL: nothing */
  size_t n_jobs;
  image *bucket[BUCKETS], *first, *last; /* first to last: not begun */
};

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

/* ---- the table ------------------------------------------------------------------------------ */

/* A key is a digest in hexadecimal: its first digits are as good a hash as any. */
static image **bucket_of(images *p, const char *key) {
  char digits[5] = {0};
  memcpy(digits, key, 4);
  return &p->bucket[strtoul(digits, NULL, 16) % BUCKETS];
}

static image *find(images *p, const char *key) {
  image *i = *bucket_of(p, key);
  while (i && strcmp(i->key, key)) {
    i = i->next;
  }
  return i;
}

static void image_free(image *i) {
  str_clear(&i->text);
  str_clear(&i->bytes);
  free(i);
}

/* ---- the workers ---------------------------------------------------------------------------- */

static int begin(images *p, size_t job, err *e) {
  worker *w = &p->jobs[job];
  image *i = p->first;
  str frame = {0};
  TRY(w->pid ? 0 : worker_start(w, e));
  compile_worker_request(&frame, str_text(&i->text), i->body);
  const int rc = worker_ask(w, &frame, e);
  str_clear(&frame);
  if (!rc) {
    p->at[job] = i;
    p->first = i->later;
  }
  return rc;
}

static int hand_out(images *p, err *e) {
  for (size_t job = 0; job < p->n_jobs && p->first; job++) {
    if (!p->at[job]) {
      TRY(begin(p, job, e));
    }
  }
  return 0;
}

static void take(images *p, image *i, const str *frame) {
  compiled built = {0};
  if (compile_worker_result(frame, &built, &i->why)) {
    return;
  }
  i->why = built.why;
  const bool ptx = p->format == RT_PTX;
  str_add_n(&i->bytes, ptx ? built.ptx : built.cubin, ptx ? built.n_ptx : built.n_cubin);
  if (i->bytes.failed) {
    no_room(&i->why);
  }
}

static void collect(images *p, size_t job) {
  str frame = {0}, how = {0};
  image *i = p->at[job];
  p->at[job] = NULL;
  if (worker_answer(&p->jobs[job], &frame, &how, NULL)) {
    err_set(&i->why, ERR_COMPILE, "the compiler died: %s", str_text(&how));
  } else {
    take(p, i, &frame);
  }
  i->done = true;
  str_clear(&i->text);
  str_clear(&frame);
  str_clear(&how);
}

/* msec as for poll() */
static int attend(images *p, int msec, err *e) {
  struct pollfd fds[JOBS_MOST];
  size_t who[JOBS_MOST];
  nfds_t n = 0;
  for (size_t job = 0; job < p->n_jobs; job++) {
    if (p->at[job]) {
      who[n] = job;
      fds[n++] = (struct pollfd){.fd = p->jobs[job].fd, .events = POLLIN};
    }
  }
  if (poll(fds, n, msec) > 0) {
    for (nfds_t i = 0; i < n; i++) {
      if (fds[i].revents) {
        collect(p, who[i]);
      }
    }
  }
  return hand_out(p, e);
}

/* ---- what others call ----------------------------------------------------------------------- */

int images_want(images *p, const rt_source *s, const char *key, err *e) {
  if (find(p, key)) {
    return attend(p, 0, e);
  }
  image *i = calloc(1, sizeof *i), **bucket = bucket_of(p, key);
  if (!i) {
    return no_room(e);
  }
  snprintf(i->key, sizeof i->key, "%s", key);
  str_add(&i->text, s->text);
  i->body = s->body;
  i->next = *bucket;
  *bucket = i;
  if (p->first) {
    p->last->later = i;
  } else {
    p->first = i;
  }
  p->last = i;
  return i->text.failed ? no_room(e) : attend(p, 0, e);
}

int images_get(images *p, const char *key, const str **bytes, err *e) {
  image *i = find(p, key);
  if (!i) {
    return err_set(e, ERR_NOTFOUND, "nobody wanted the image %s", key);
  }
  while (!i->done) {
    TRY(attend(p, -1, e));
  }
  *bytes = &i->bytes;
  return i->why.code ? err_set(e, ERR_COMPILE, "%s", i->why.message) : 0;
}

static int start(const compile_setting *setting, rt_format format, int jobs, images **out, err *e) {
  const size_t n = jobs > 0 ? (size_t)jobs : threads_cores();
  images *p = *out = calloc(1, sizeof *p);
  if (!p) {
    return no_room(e);
  }
  p->format = format;
  p->n_jobs = n < JOBS_MOST ? n : JOBS_MOST;
  p->setting = *setting;
  for (size_t i = 0; i < p->n_jobs; i++) {
    p->jobs[i] = (worker){.run = compile_worker_main, .setting = &p->setting};
    TRY(worker_start(&p->jobs[i], e));
  }
  return 0;
}

int images_open(rt_compiler *c, const rt_info *info, int jobs, images **out, err *e) {
  compile_setting s = {.compiler = c, .lineinfo = info->format == RT_PTX};
  snprintf(s.arch, sizeof s.arch, "%s", info->arch);
  return start(&s, info->format, jobs, out, e);
}

int images_open_for(rt_compiler *c, const char *arch, int jobs, images **out, err *e) {
  compile_setting s = {.compiler = c};
  snprintf(s.arch, sizeof s.arch, "%s", arch);
  return start(&s, strncmp(arch, "compute", 7) ? RT_CUBIN : RT_PTX, jobs, out, e);
}

void images_close(images *p) {
  for (size_t i = 0; p && i < p->n_jobs; i++) {
    worker_stop(&p->jobs[i]);
  }
  for (size_t i = 0; p && i < BUCKETS; i++) {
    for (image *one = p->bucket[i], *next; one; one = next) {
      next = one->next;
      image_free(one);
    }
  }
  free(p);
}
