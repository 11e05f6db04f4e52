/* context.h -- what a tuned_context holds; for the files of this folder.
 *
 * Two tables are read without a lock: `kernels`, from a problem's key to its kernel, and
 * `workspaces`, from a kernel and a stream to the scratch memory used there. Everything else,
 * finding a kernel included, happens under `lock`.
 */
#ifndef SERVE_CONTEXT_H
#define SERVE_CONTEXT_H

#include <pthread.h>

#include "compile.h"
#include "db.h"
#include "device.h"
#include "run.h"
#include "serve_call.h"
#include "serve_capture.h"
#include "serve_known.h"
#include "serve_online.h"
#include "serve_table.h"

typedef struct serve_family { /* a template in use */
  struct serve_family *next;
  char *name; /* as asked for: "sgemm" or a path */
  gen_template *t;
  serve_known known;
} serve_family;

struct serve {
  serve_front front;
  bool one_at_a_time;     /* the device takes one thread at a time */
  serve_capture *capture; /* NULL: nobody asked */
  rt_device *device;
  pthread_mutex_t turn; /* held around device calls then */
  pthread_mutex_t lock;
  str device_key;
  serve_sources sources;
  rt_compiler *compiler; /* NULL until something must be compiled */
  gen_options options;
  char *folders;        /* what options.folders points into */
  serve_online *online; /* NULL: nobody asked */
  double online_fraction;
  char *db_path;
  serve_family *families;
  tuned_kernel *newest; /* every kernel, newest first */
  serve_table workspaces;
  serve_table images; /* from an image's key, and from the hash of its source, to the first kernel
                         of it: other sizes share it */
};

typedef enum serve_need {
  SERVE_FIXED,  /* the problem says its value: args[i] may be NULL */
  SERVE_GIVEN,  /* args[i] must point at a value */
  SERVE_ADDRESS /* and that value is an address that must not be NULL */
} serve_need;

typedef struct serve_address { /* args[index] is to be one, without the low bits of `stray` */
  uint8_t index, stray;
} serve_address;

struct tuned_kernel { /* a launch reads the first line of the cache */
  serve *owner;
  rt_loaded *loaded;
  _Atomic(serve_trial *) online;  /* it is being tuned; NULL: it isn't */
  _Atomic(tuned_kernel *) better; /* takes its place; NULL: none does */
  bool is_empty;                  /* an empty problem, nothing to do */
  bool has_workspace;
  uint8_t n_addresses;
  serve_address addresses[64]; /* arguments that need one */

  tuned_kernel *next;
  const gen_template *t;
  const serve_need *needs; /* per argument of the template */
  const char *name;        /* of its family, as asked for; the context's */
  _Atomic uint64_t calls;  /* launches, counted while there is a capture */
  uint64_t calls_told;     /* of them in the capture's file */
  bool told;
  _Atomic int recorded; /* its data: serve_capture_data.c */
  tuned_kernel_info info;
  arena memory; /* all of the above and the texts */
};

/* serve_of -- the open context behind a handle.
 *   err  ERR_USAGE  NULL, closed, or opened before a fork */
int serve_refuse_context(tuned_context *ctx, err *e) __attribute__((cold));
static inline int serve_of(tuned_context *ctx, serve **s, err *e) {
  return serve_is_open(ctx, s) ? 0 : serve_refuse_context(ctx, e);
}
/* serve_check_fork -- neither CUDA nor SQLite works in the child of a fork; a counter that the fork
 * raises in the child tells, at the cost of a load. err ERR_USAGE */
int serve_check_fork(const serve *s, err *e);
/* serve_turn_take, _end -- around a device call; nothing where the device is a GPU */
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

/* serve_family_get -- under the lock; borrowed until the context is closed */
int serve_family_get(serve *s, const char *name, gen_template **t, err *e);
/* serve_family_name -- what it was got by, as long as the context; under the lock */
const char *serve_family_name(const serve *s, const gen_template *t);
/* serve_kernel_get -- the kernel of a complete problem, found or made; under the lock */
int serve_kernel_get(serve *s, gen_template *t, const gen_problem *p, tuned_kernel **k, err *e);
void serve_kernel_free(tuned_kernel *k);
/* serve_kernel_variant -- the same problem with another configuration, whose image is given; it
 * belongs to the context. Under the lock, and in the device's turn */
int serve_kernel_variant(const tuned_kernel *k, gen_instance *g, const gen_config *c,
                         const void *image, size_t nbytes, int64_t spill, tuned_kernel **out,
                         err *e);
/* serve_kernel_unload -- of a variant that nobody launches any more: what remains is a struct */
void serve_kernel_unload(tuned_kernel *k);
serve_known *serve_known_of(serve *s, const gen_template *t);
/* serve_remember -- the key leads to the kernel from now on; under the lock */
int serve_remember(serve *s, const void *key, size_t nbytes, tuned_kernel *k, err *e);

/* serve_check_launch -- may this kernel be launched from here, and is no argument missing? Typed
 * calls know both. */
int serve_check_launch(const tuned_kernel *k, const void *const *args, err *e);
/* serve_launch -- check the addresses and launch; takes no lock, except that kernels with a
 * workspace take that workspace's */
int serve_launch(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e);
/* serve_launch_plain -- this kernel and no other, of checked arguments */
int serve_launch_plain(tuned_kernel *k, tuned_stream stream, const void *const *args, err *e);
/* serve_call_data -- what these arguments are: values, types, and elements, which a leading
 * dimension may tell. Under the context's lock; out in the arena */
int serve_call_data(const tuned_kernel *k, gen_instance *g, const void *const *args, arena *a,
                    const gen_data **data, err *e);
/* serve_launch_with -- in the caller's scratch memory */
int serve_launch_with(tuned_kernel *k, tuned_stream stream, const void *const *args,
                      void *workspace, size_t nbytes, err *e);
void serve_workspaces_free(serve *s);

/* serve_report -- an error object of ours as the caller's; returns its code. `to` may be NULL. */
void serve_report_failure(tuned_error *to, const err *e) __attribute__((cold));
static inline int serve_report(tuned_error *to, const err *e) {
  if (to) {
    to->code = e->code;
    to->message[0] = to->place[0] = 0;
    if (e->code) {
      serve_report_failure(to, e);
    }
  }
  return e->code;
}

#endif
