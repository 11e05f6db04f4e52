#define _GNU_SOURCE
#include "image_prefetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker_pool.h"

enum { BUCKETS = 1024 };

typedef struct image {
  struct image *next_in_bucket, *next_in_queue;
  char key[HASH_TEXT];
  str source, bytes;
  size_t body;
  bool done;
  err why; /* code 0: it built */
} image;

struct image_prefetch {
  worker_pool pool;
  bool ptx;
  image *bucket[BUCKETS];
  image *first, *last; /* the queue: not started yet */
};

/* ---- the table ------------------------------------------------------------------------------ */

/* A key is a digest in hexadecimal, so its first digits are a good hash. */
static image **bucket_of(image_prefetch *p, const char *key) {
  char digits[5] = {0};
  memcpy(digits, key, 4);
  return &p->bucket[strtoul(digits, NULL, 16) % BUCKETS];
}

static image *find(image_prefetch *p, const char *key) {
  image *i = *bucket_of(p, key);
  while (i && strcmp(i->key, key)) {
    i = i->next_in_bucket;
  }
  return i;
}

static void image_free(image *i) {
  str_clear(&i->source);
  str_clear(&i->bytes);
  free(i);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static int start_queued(image_prefetch *p, err *e) {
  for (size_t i = 0; i < p->pool.n && p->first; i++) {
    image *next = p->first;
    if (!p->pool.jobs[i]) {
      TRY(worker_pool_start(&p->pool, i, &next->source, next->body, next, e));
      p->first = next->next_in_queue;
    }
  }
  return 0;
}

static void take(image_prefetch *p, size_t w) {
  image *i = p->pool.jobs[w];
  auto_str frame = {0};
  compiled built;
  if (!worker_pool_take(&p->pool, w, &frame, &built, &i->why)) {
    i->why = built.why;
  }
  if (!i->why.code) {
    str_add_n(&i->bytes, p->ptx ? built.ptx : built.cubin, p->ptx ? built.n_ptx : built.n_cubin);
  }
  if (i->bytes.failed) {
    err_nomem(&i->why);
  }
  i->done = true;
  str_clear(&i->source);
}

/* msec as for poll() */
static int serve_pool(image_prefetch *p, int msec, err *e) {
  struct pollfd fds[WORKER_POOL_MOST];
  size_t which[WORKER_POOL_MOST];
  const size_t n = worker_pool_poll(&p->pool, fds, which, 0);
  if (poll(fds, n, msec) > 0) {
    for (size_t k = 0; k < n; k++) {
      if (fds[k].revents) {
        take(p, which[k]);
      }
    }
  }
  return start_queued(p, e);
}

/* ---- the interface -------------------------------------------------------------------------- */

static void enqueue(image_prefetch *p, image *i) {
  image **bucket = bucket_of(p, i->key);
  i->next_in_bucket = *bucket;
  *bucket = i;
  if (p->first) {
    p->last->next_in_queue = i;
  } else {
    p->first = i;
  }
  p->last = i;
}

int image_prefetch_request(image_prefetch *p, const rt_source *s, const char *key, err *e) {
  if (find(p, key)) {
    return serve_pool(p, 0, e);
  }
  image *i = calloc(1, sizeof *i);
  TRY(i ? 0 : err_nomem(e));
  snprintf(i->key, sizeof i->key, "%s", key);
  str_add(&i->source, s->text);
  i->body = s->body;
  enqueue(p, i);
  return i->source.failed ? err_nomem(e) : serve_pool(p, 0, e);
}

int image_prefetch_wait(image_prefetch *p, const char *key, const str **bytes, err *e) {
  image *i = find(p, key);
  if (!i) {
    return err_set(e, ERR_NOTFOUND, "the image %s was not requested", key);
  }
  while (!i->done) {
    TRY(serve_pool(p, -1, e));
  }
  *bytes = &i->bytes;
  return i->why.code ? err_set(e, ERR_COMPILE, "%s", i->why.message) : 0;
}

int image_prefetch_open(rt_compiler *c, const char *arch, int jobs, image_prefetch **out, err *e) {
  image_prefetch *p = *out = calloc(1, sizeof *p);
  compile_setting s = {.compiler = c};
  TRY(p ? 0 : err_nomem(e));
  snprintf(s.arch, sizeof s.arch, "%s", arch);
  p->ptx = !strncmp(arch, "compute", 7);
  return worker_pool_open(&p->pool, &s, jobs, e);
}

void image_prefetch_close(image_prefetch *p) {
  if (!p) {
    return;
  }
  worker_pool_close(&p->pool);
  for (size_t b = 0; b < BUCKETS; b++) {
    for (image *i = p->bucket[b], *next; i; i = next) {
      next = i->next_in_bucket;
      image_free(i);
    }
  }
  free(p);
}
