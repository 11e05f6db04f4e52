/* serve_context.h -- what an open context holds.
 *
 * Three tables are read without a lock: front.kernels, from a problem's key to its kernel,
 * `workspaces`, from a kernel and a stream to the scratch memory used there, and `own_memory`.
 * Everything else,
 * finding a kernel included, happens under `lock`. */
#ifndef SERVE_CONTEXT_H
#define SERVE_CONTEXT_H

#include <pthread.h>

#include "compile.h"
#include "ready_images.h"
#include "serve_handle.h"
#include "serve_hook.h"
#include "serve_known.h"

struct serve {
  serve_front front;
  bool one_at_a_time;        /* the device takes one thread at a time */
  serve_hook *sees_launches; /* the hook that has `launch`; NULL: none */
  rt_device *device;
  pthread_mutex_t turn; /* held around device calls on such a device */
  pthread_mutex_t lock;
  serve_hook *hooks; /* newest first */
  str device_key;
  serve_sources sources;
  char *db_path;
  char reproducible[8];          /* of problems that do not give the field; empty: its preset */
  rt_compiler *compiler;         /* NULL until something must be compiled */
  ready_images *ready;           /* NULL until something is not loaded */
  struct background *background; /* compiles what calls do not wait for; NULL: they wait */
  bool keeps_first;              /* a problem keeps the kernel that served it first */
  gen_options options;
  char *folders; /* what options.folders points into */
  struct serve_family *families;
  tuned_kernel *newest; /* every kernel, newest first */
  tuned_plan *plans;    /* likewise */
  serve_table workspaces;
  serve_table own_memory; /* from a kernel and scratch memory of the caller's to the kernel there */
  serve_table images; /* from an image's key, and from the hash of its source, to the kernel that
                         loaded it: other sizes share it */
};

/* serve_turn_take, _end -- around a device call; they do nothing on a GPU */
static inline void serve_turn_take(serve *s) {
  if (s->one_at_a_time) {
    pthread_mutex_lock(&s->turn);
  }
}
static inline void serve_turn_end(serve *s) {
  if (s->one_at_a_time) {
    pthread_mutex_unlock(&s->turn);
  }
}

/* serve_hook_add -- under the lock, or before the context is in use; a hook with `launch` only
 * before */
static inline void serve_hook_add(serve *s, serve_hook *h) {
  h->next = s->hooks;
  s->hooks = h;
  if (h->launch) { /* launches read the field without a lock: others do not write it */
    s->sees_launches = h;
  }
}

#endif
